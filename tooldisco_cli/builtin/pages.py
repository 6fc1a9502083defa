"""Web pages as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from tooldisco_cli.builtin import web
from tooldisco_cli.builtin.context import Context

MAX_LINKS = 200
_HIDDEN = {"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "canvas", "select", "button"}
_VOID = {"br", "hr", "img", "input", "meta", "link", "source", "area", "base", "col", "embed", "track", "wbr"}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
    "section", "table", "tr", "ul",
}  # fmt: skip
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?\s*([A-Za-z0-9_-]+)", re.IGNORECASE)
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/javascript")


def fetch_page(*, url: str, max_chars: int = 20_000, links: bool = False, context: Context) -> dict[str, Any]:
    """Return a page's text and title. Raises ConnectionError for an error status, ValueError for what is no text."""
    answer = web.request(
        "GET",
        url,
        headers={"Accept": "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5"},
        allow_private=context.allow_private_addresses,
        follow=True,
    )
    if answer.status >= 400:
        raise ConnectionError(f"{answer.url} answered {answer.status}")
    kind = answer.content_type
    if kind and not kind.startswith(_TEXT_TYPES) and not kind.endswith(("+xml", "+json")):
        raise ValueError(f"{answer.url} is {kind}, no text")
    text = _decoded(answer)
    title, found = "", list[dict[str, str]]()
    if kind in {"", "text/html", "application/xhtml+xml"} or text.lstrip()[:15].lower().startswith("<!doctype html"):
        reader = _Reader(answer.url)
        reader.feed(text)
        reader.close()
        title, text, found = reader.title, reader.text(), reader.links
    result: dict[str, Any] = {
        "url": answer.url,
        "status": answer.status,
        "title": title,
        "text": text[:max_chars],
        "more": len(text) > max_chars or answer.truncated,
        "content_type": kind,
    }
    return {**result, "links": found} if links else result


def text_of_html(html: str) -> str:
    """Return the text that a browser would show of a page."""
    reader = _Reader("")
    reader.feed(html)
    reader.close()
    return reader.text()


def _decoded(answer: web.Answer) -> str:
    match = re.search(r"charset=[\"']?([A-Za-z0-9_-]+)", answer.headers.get("content-type", ""), re.IGNORECASE)
    declared = _CHARSET.search(answer.body[:4096])
    for name in (match[1] if match else "", declared[1].decode() if declared else "", "utf-8"):
        try:
            return answer.body.decode(name, "replace" if name == "utf-8" else "strict")
        except (LookupError, UnicodeDecodeError):
            continue
    return answer.body.decode("utf-8", "replace")


class _Reader(HTMLParser):
    """Collects what a browser would show, with a line for each block."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.links: list[dict[str, str]] = []
        self._base = url
        self._parts: list[str] = []
        self._hidden: list[str] = []
        self._in_title = False
        self._preformatted = 0
        self._link: tuple[str, int] | None = None

    def text(self) -> str:
        lines = (re.sub(r"[ \t]+$", "", line) for line in "".join(self._parts).split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        if tag == "title" and not self.title:
            self._in_title = True
        if tag == "body":
            self._hidden.clear()
        if self._hidden or tag in _HIDDEN or (tag not in _VOID and ("hidden" in facts)):
            if tag not in _VOID and (not self._hidden or tag == self._hidden[0]):
                self._hidden.append(tag)
            return
        self._preformatted += tag == "pre"
        if tag == "br":
            self._parts.append("\n")
        elif tag in _BLOCKS:
            self._break()
            if tag == "li":
                self._parts.append("- ")
            elif tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
                self._parts.append("#" * int(tag[1]) + " ")
        elif tag in {"td", "th"} and self._parts and not self._parts[-1].endswith("\n"):
            self._parts.append("\t")
        elif tag == "a" and facts.get("href"):
            self._link = (str(facts["href"]), len(self._parts))
        elif tag == "img" and facts.get("alt"):
            self._parts.append(f"[{facts['alt']}]")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._hidden:
            if tag == self._hidden[-1]:
                self._hidden.pop()
            return
        self._preformatted -= tag == "pre" and self._preformatted > 0
        if tag in _BLOCKS:
            self._break()
        elif tag == "a" and self._link is not None:
            self._keep_link()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = re.sub(r"\s+", " ", self.title + data).strip()[:500]
        if self._hidden:
            return
        if self._preformatted:
            self._parts.append(data)
            return
        text = re.sub(r"[ \t\r\n\f]+", " ", data)
        if self._parts and self._parts[-1].endswith(("\n", " ")):
            text = text.lstrip(" ")
        if text:
            self._parts.append(text)

    def _break(self) -> None:
        if self._parts and not self._parts[-1].endswith("\n\n"):
            self._parts.append("\n" if self._parts[-1].endswith("\n") else "\n\n")

    def _keep_link(self) -> None:
        href, start = self._link or ("", 0)
        self._link = None
        try:
            target = urljoin(self._base, href)
        except ValueError:
            return
        if target.startswith(("http://", "https://")) and len(self.links) < MAX_LINKS:
            self.links.append({"url": target[:2000], "text": "".join(self._parts[start:]).strip()[:200]})

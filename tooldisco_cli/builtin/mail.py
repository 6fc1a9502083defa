"""E-mail over SMTP.

``SMTP_HOST`` says where and ``SMTP_FROM`` who sends. Optional are ``SMTP_PORT`` (465 with ``ssl``, else 587),
``SMTP_USER`` and ``SMTP_PASSWORD``, and ``SMTP_TLS``: ``starttls``, ``ssl``, ``none``, or ``auto`` (the default: TLS
from the first byte on port 465, elsewhere STARTTLS where the server offers it). ``SMTP_CA_FILE`` names an authority
to trust beside the system's own. A password is never sent without TLS, except to this machine.
"""

from __future__ import annotations

import mimetypes
import smtplib
import ssl
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid, parseaddr
from typing import Any

from tooldisco_cli.builtin import places
from tooldisco_cli.builtin.context import Context, number_variable, variable

MAX_ATTACHED_BYTES = 20_000_000
_SECONDS = 30.0
_MODES = ("auto", "starttls", "ssl", "none")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def send_email(
    *,
    to: list[str],
    subject: str,
    body: str,
    html: bool = False,
    cc: list[str] | None = None,
    bcc: list[str] | None = None,
    reply_to: str | None = None,
    attachments: list[str] | None = None,
    context: Context,
) -> dict[str, Any]:
    """Send one message and return who was accepted and its Message-ID.

    Raises ValueError for an address or header that cannot be, ConnectionError for a server that refuses, and when
    some recipients are refused, with their names; the others have then got the message.
    """
    sender = variable(context, "SMTP_FROM")
    message = EmailMessage()
    message["From"] = _addresses([sender])[0]
    message["To"] = _addresses(to)
    if cc:
        message["Cc"] = _addresses(cc)
    if reply_to:
        message["Reply-To"] = _addresses([reply_to])[0]
    message["Subject"] = subject
    message["Date"] = formatdate(localtime=True)
    message["Message-ID"] = make_msgid(domain=parseaddr(sender)[1].rpartition("@")[2] or None)
    if html:
        message.set_content(_plain(body))
        message.add_alternative(body, subtype="html")
    else:
        message.set_content(body)
    _attach(message, attachments or [], context)
    recipients = list(dict.fromkeys([*to, *(cc or []), *(bcc or [])]))
    envelope = [str(address.addr_spec) for address in _addresses(recipients)]
    refused = _deliver(message, parseaddr(sender)[1], envelope, context)
    accepted = [address for address in envelope if address not in refused]
    if refused:
        reasons = "; ".join(f"{name} ({code} {_text(reason)})" for name, (code, reason) in refused.items())
        sent = f"; sent to {', '.join(accepted)}" if accepted else ""
        raise ConnectionError(f"the mail server refused {reasons}{sent}")
    return {"accepted": accepted, "message_id": str(message["Message-ID"])}


def _addresses(texts: list[str]) -> list[Address]:
    found = []
    for text in texts:
        name, spec = parseaddr(text)
        if not spec or "@" not in spec or any(ord(letter) < 32 for letter in text):
            raise ValueError(f"{text!r} is no e-mail address")
        local, _, domain = spec.rpartition("@")
        try:
            found.append(Address(name, local, domain.encode("idna").decode() if not domain.isascii() else domain))
        except (ValueError, UnicodeError) as error:
            raise ValueError(f"{text!r} is no e-mail address: {error}") from None
    return found


def _plain(html: str) -> str:
    from tooldisco_cli.builtin.pages import text_of_html

    return text_of_html(html) or "(HTML)"


def _attach(message: EmailMessage, paths: list[str], context: Context) -> None:
    left = MAX_ATTACHED_BYTES
    for path in paths:
        try:
            data = places.read_bytes(path, context, max_bytes=left)
        except ValueError as error:
            raise ValueError(f"{error} (attachments may have {MAX_ATTACHED_BYTES // 1_000_000} MB in all)") from None
        left -= len(data)
        name = places.existing_file(path, context).name
        main, _, sub = (mimetypes.guess_type(name)[0] or "application/octet-stream").partition("/")
        if (main, sub) == ("text", "plain"):  # of an encoding that nobody knows
            main, sub = "application", "octet-stream"
        message.add_attachment(data, maintype=main, subtype=sub, filename=name)


def _deliver(
    message: EmailMessage, sender: str, recipients: list[str], context: Context
) -> dict[str, tuple[int, bytes]]:
    host = variable(context, "SMTP_HOST")
    mode = context.environment.get("SMTP_TLS", "").strip().lower() or "auto"
    if mode not in _MODES:
        raise RuntimeError(f"SMTP_TLS is {mode!r}; it must be one of {', '.join(_MODES)}")
    port = number_variable(context, "SMTP_PORT", 465 if mode == "ssl" else 587)
    direct = mode == "ssl" or (mode == "auto" and port == 465)
    trust = ssl.create_default_context()
    authority = context.environment.get("SMTP_CA_FILE", "").strip()
    if authority:
        trust.load_verify_locations(authority)
    server: smtplib.SMTP | None = None
    try:
        server = (
            smtplib.SMTP_SSL(host, port, timeout=_SECONDS, context=trust)
            if direct
            else smtplib.SMTP(host, port, timeout=_SECONDS)
        )
        server.ehlo()
        if not direct and (mode == "starttls" or (mode == "auto" and server.has_extn("starttls"))):
            server.starttls(context=trust)
            server.ehlo()
            direct = True
        _log_in(server, host, direct, context)
        return server.send_message(message, sender, recipients)
    except smtplib.SMTPRecipientsRefused as error:
        return error.recipients
    except smtplib.SMTPResponseException as error:
        raise ConnectionError(
            f"the mail server {host} refused: {error.smtp_code} {_text(error.smtp_error)}"
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        raise ConnectionError(f"no delivery through {host}:{port}: {error}") from None
    finally:
        if server is not None:
            server.close()


def _log_in(server: smtplib.SMTP, host: str, encrypted: bool, context: Context) -> None:
    password = context.environment.get("SMTP_PASSWORD", "")
    if not password:
        return
    if not encrypted and host.lower() not in _LOOPBACK:
        raise RuntimeError(f"{host} offers no TLS, so the password is not sent; set SMTP_TLS or SMTP_PORT")
    server.login(variable(context, "SMTP_USER"), password)


def _text(reason: bytes | str) -> str:
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason

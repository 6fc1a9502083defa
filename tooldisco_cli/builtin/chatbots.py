"""Group robots whose requests are signed: DingTalk and Feishu (Lark).

DingTalk: ``DINGTALK_ACCESS_TOKEN``; ``DINGTALK_SECRET`` (begins with SEC) where the robot demands signing;
``DINGTALK_BASE_URL`` (``https://oapi.dingtalk.com``). Feishu: ``FEISHU_WEBHOOK_URL``; ``FEISHU_WEBHOOK_SECRET`` where
the bot verifies signatures.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any
from urllib.parse import quote

from tooldisco_cli.builtin import web
from tooldisco_cli.builtin.context import Context, variable


def send_dingtalk_message(
    *,
    text: str,
    title: str | None = None,
    at_phones: list[str] | None = None,
    at_all: bool = False,
    context: Context,
) -> dict[str, Any]:
    """Post to the group of a DingTalk robot. Raises ConnectionError with DingTalk's own words when it refuses."""
    own = context.environment.get("DINGTALK_BASE_URL", "").strip()
    base = (own or "https://oapi.dingtalk.com").rstrip("/")
    url = f"{base}/robot/send?access_token={quote(variable(context, 'DINGTALK_ACCESS_TOKEN'), safe='')}"
    secret = context.environment.get("DINGTALK_SECRET", "").strip()
    if secret:
        stamp = str(round(time.time() * 1000))
        url += f"&timestamp={stamp}&sign={quote(dingtalk_sign(stamp, secret), safe='')}"
    if title:
        # Markdown shows a mention only where the text itself holds it.
        mentions = "".join(f" @{phone}" for phone in at_phones or [])
        message: dict[str, Any] = {"msgtype": "markdown", "markdown": {"title": title, "text": text + mentions}}
    else:
        message = {"msgtype": "text", "text": {"content": text}}
    message["at"] = {"atMobiles": at_phones or [], "isAtAll": at_all}
    said = _posted(url, message, context, private=bool(own), service="DingTalk")
    if said.get("errcode") != 0:
        raise ConnectionError(f"DingTalk refused: {said.get('errcode')}: {said.get('errmsg')}")
    return {"sent": True}


def send_feishu_message(*, text: str, title: str | None = None, context: Context) -> dict[str, Any]:
    """Post to the group of a Feishu or Lark bot. Raises ConnectionError with its own words when it refuses."""
    message: dict[str, Any]
    if title:
        paragraphs = [[{"tag": "text", "text": line}] for line in text.split("\n")]
        message = {"msg_type": "post", "content": {"post": {"zh_cn": {"title": title, "content": paragraphs}}}}
    else:
        message = {"msg_type": "text", "content": {"text": text}}
    secret = context.environment.get("FEISHU_WEBHOOK_SECRET", "").strip()
    if secret:
        stamp = str(int(time.time()))
        message |= {"timestamp": stamp, "sign": feishu_sign(stamp, secret)}
    said = _posted(variable(context, "FEISHU_WEBHOOK_URL"), message, context, private=True, service="Feishu")
    code = said.get("code", said.get("StatusCode"))
    if code != 0:
        raise ConnectionError(f"Feishu refused: {code}: {said.get('msg') or said.get('StatusMessage')}")
    return {"sent": True}


def dingtalk_sign(stamp: str, secret: str) -> str:
    """Return DingTalk's signature: HMAC-SHA256 of ``stamp`` (milliseconds), newline, secret, keyed by the secret."""
    digest = hmac.new(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def feishu_sign(stamp: str, secret: str) -> str:
    """Return Feishu's signature: HMAC-SHA256 of nothing, keyed by ``stamp`` (seconds), newline and secret."""
    digest = hmac.new(f"{stamp}\n{secret}".encode(), b"", hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _posted(url: str, message: dict[str, Any], context: Context, *, private: bool, service: str) -> dict[str, Any]:
    """Post JSON; ``private`` when the user set the address, which may be a gateway in the user's own network."""
    answer = web.request(
        "POST",
        url,
        headers={"Content-Type": "application/json; charset=utf-8"},
        body=json.dumps(message, ensure_ascii=False).encode(),
        allow_private=private or context.allow_private_addresses,
        seconds=15,
    )
    try:
        said = json.loads(answer.body)
    except ValueError:
        said = None
    if answer.status >= 500 or not isinstance(said, dict):
        raise ConnectionError(f"{service} answered {answer.status} and nothing that can be read")
    return said

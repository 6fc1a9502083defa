"""Aliyun (Alibaba Cloud): text messages by approved template.

``ALIBABA_CLOUD_ACCESS_KEY_ID``, ``ALIBABA_CLOUD_ACCESS_KEY_SECRET`` and ``ALIYUN_SMS_SIGN_NAME`` (the approved
signature) must be set; ``ALIYUN_SMS_ENDPOINT`` (``https://dysmsapi.aliyuncs.com``) is optional.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from tooldisco_cli.builtin import web
from tooldisco_cli.builtin.context import Context, variable

ENDPOINT = "https://dysmsapi.aliyuncs.com"


def send_sms(
    *,
    phones: list[str],
    template_code: str,
    template_values: Mapping[str, Any] | None = None,
    context: Context,
) -> dict[str, Any]:
    """Send an approved template to the phones (the API's SendSms). Raises ConnectionError when it is refused."""
    own_endpoint = context.environment.get("ALIYUN_SMS_ENDPOINT", "").strip()
    endpoint = (own_endpoint or ENDPOINT).rstrip("/")
    query = {
        "PhoneNumbers": ",".join(phones),
        "SignName": variable(context, "ALIYUN_SMS_SIGN_NAME"),
        "TemplateCode": template_code,
    }
    if template_values:
        texts = {name: str(value) for name, value in template_values.items()}
        query["TemplateParam"] = json.dumps(texts, ensure_ascii=False)
    headers = signed_headers(
        host=urlsplit(endpoint).netloc,
        action="SendSms",
        version="2017-05-25",
        query=query,
        key=variable(context, "ALIBABA_CLOUD_ACCESS_KEY_ID"),
        secret=variable(context, "ALIBABA_CLOUD_ACCESS_KEY_SECRET"),
        date=dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        nonce=secrets.token_hex(16),
    )
    answer = web.request(
        "POST",
        f"{endpoint}/?{canonical_query(query)}",
        headers=headers,
        body=b"",
        # An endpoint that the user set may well be a gateway in the user's own network.
        allow_private=bool(own_endpoint) or context.allow_private_addresses,
        seconds=20,
    )
    try:
        said = json.loads(answer.body)
    except ValueError:
        raise ConnectionError(f"Aliyun answered {answer.status} and no JSON") from None
    if answer.status != 200 or said.get("Code") != "OK":
        raise ConnectionError(f"Aliyun refused: {said.get('Code')}: {said.get('Message')}")
    return {"message_id": said.get("BizId", ""), "request_id": said.get("RequestId", ""), "sent_to": len(phones)}


def canonical_query(query: Mapping[str, str]) -> str:
    """Return query parameters sorted and encoded by RFC 3986, as they are signed and sent."""
    return "&".join(f"{quote(name, safe='~')}={quote(query[name], safe='~')}" for name in sorted(query))


def signed_headers(
    *, host: str, action: str, version: str, query: Mapping[str, str], key: str, secret: str, date: str, nonce: str
) -> dict[str, str]:
    """Return the headers of a POST with an empty body, signed by Alibaba Cloud's method V3 (ACS3-HMAC-SHA256).

    Source: alibabacloud.com/help/en/sdk/product-overview/v3-request-structure-and-signature.
    """
    empty = hashlib.sha256(b"").hexdigest()
    headers = {
        "host": host,
        "x-acs-action": action,
        "x-acs-content-sha256": empty,
        "x-acs-date": date,
        "x-acs-signature-nonce": nonce,
        "x-acs-version": version,
    }
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    canonical = "\n".join(["POST", "/", canonical_query(query), lines, names, empty])
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    signature = hmac.new(secret.encode(), f"ACS3-HMAC-SHA256\n{digest}".encode(), hashlib.sha256).hexdigest()
    return {
        **headers,
        "Authorization": f"ACS3-HMAC-SHA256 Credential={key},SignedHeaders={names},Signature={signature}",
    }

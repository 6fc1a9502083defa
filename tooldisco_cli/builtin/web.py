"""HTTP requests that cannot be led to where they must not go.

The rule is the http executor's: only http and https; every address that a name resolves to must be public unless
private ones are allowed; the connection goes to the very address that was checked, so that a name which resolves
differently a moment later changes nothing; each redirect is checked again; answers are bounded, also when unpacked.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

USER_AGENT = "tooldisco (+https://pypi.org/project/tooldisco-cli/)"
MAX_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered; ``body`` is unpacked and at most as long as was asked for."""

    url: str
    status: int
    headers: dict[str, str]
    body: bytes
    truncated: bool

    @property
    def content_type(self) -> str:
        """The media type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    allow_private: bool = False,
    max_bytes: int = 5_000_000,
    seconds: float = 30.0,
    follow: bool = False,
) -> Answer:
    """Send one request and return the answer, whatever its status; redirects only when ``follow``.

    Raises PermissionError for an address that may not be reached, ConnectionError when none answers, ValueError for
    what is no address, TimeoutError.
    """
    deadline = time.monotonic() + seconds
    for _ in range(MAX_REDIRECTS + 1):
        answer = _once(method, url, headers or {}, body, allow_private, max_bytes, deadline)
        target = answer.headers.get("location", "")
        if not follow or answer.status not in _REDIRECTS or not target:
            return answer
        following = urljoin(url, target)
        if urlsplit(url).scheme == "https" and urlsplit(following).scheme != "https":
            raise PermissionError("the page redirects from https to an address that is not encrypted; not followed")
        url = following
    raise ConnectionError(f"more than {MAX_REDIRECTS} redirects")


def _once(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    allow_private: bool,
    max_bytes: int,
    deadline: float,
) -> Answer:
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode() if parts.hostname else ""
    except (ValueError, UnicodeError) as error:
        raise ValueError(f"{url[:200]!r} is no address: {error}") from None
    if parts.scheme not in {"http", "https"} or not host or any(ord(letter) <= 32 for letter in url):
        raise ValueError(f"{url[:200]!r} is no http or https address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address may not hold a user or password")
    secure = parts.scheme == "https"
    port = port or (443 if secure else 80)
    target = _target(parts.path, parts.query)
    connection = _Connection(host, port, _checked(host, port, allow_private), secure, _left(deadline))
    try:
        connection.request(
            method,
            target,
            body=body,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip", "Connection": "close", **headers},
        )
        response = connection.getresponse()
        packed = response.headers.get("Content-Encoding", "").lower()
        data, truncated = _body(response, packed, max_bytes, deadline, connection)
        names = {name.lower(): value for name, value in response.headers.items()}
        return Answer(url=url, status=response.status, headers=names, body=data, truncated=truncated)
    except TimeoutError:
        raise TimeoutError(f"{host} did not answer in time") from None
    except (OSError, http.client.HTTPException, zlib.error) as error:
        raise ConnectionError(f"no answer from {host}: {error or type(error).__name__}") from None
    finally:
        connection.close()


def _target(path: str, query: str) -> str:
    from urllib.parse import quote

    safe = "/%:@!$&'()*+,;=~-._"
    return quote(path or "/", safe=safe) + ("?" + quote(query, safe=safe + "?") if query else "")


def _checked(host: str, port: int, allow_private: bool) -> list[str]:
    """Return the addresses of a host, all of which must be public. Raises PermissionError, ConnectionError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ConnectionError(f"{host} is not known: {error}") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_private:
        for address in addresses:
            if not is_public(address):
                place = address if address == host else f"{host} ({address})"
                raise PermissionError(f"{place} is not public; allow_private_addresses in settings permits that")
    return addresses


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet, also seen through IPv6's ways to hold an IPv4 address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and found in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if found.is_site_local or any(found in ipaddress.ip_network(net) for net in ("64:ff9b:1::/48", "::/96")):
            return False
    return found.is_global and not found.is_multicast and not found.is_reserved


class _Connection(http.client.HTTPConnection):
    """A connection to one of the addresses that were checked, with the host's name for TLS and the Host header."""

    def __init__(self, host: str, port: int, addresses: list[str], secure: bool, seconds: float) -> None:
        super().__init__(host, port, timeout=seconds)
        self.default_port = 443 if secure else 80  # decides whether the Host header names the port
        self._addresses = addresses
        self._secure = secure

    def connect(self) -> None:
        trouble: OSError = OSError("no address")
        for address in self._addresses:
            try:
                self.sock = socket.create_connection((address, self.port), timeout=self.timeout)
                break
            except OSError as error:
                trouble = error
        else:
            raise trouble
        if self._secure:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


def _body(
    response: http.client.HTTPResponse, packed: str, max_bytes: int, deadline: float, connection: _Connection
) -> tuple[bytes, bool]:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed in {"gzip", "x-gzip", "deflate"} else None
    data = bytearray()
    while len(data) <= max_bytes:
        if connection.sock is not None:
            connection.sock.settimeout(_left(deadline))
        chunk = response.read1(65536)
        if not chunk:
            return bytes(data), False
        if unpacker is None:
            data += chunk
            continue
        data += unpacker.decompress(chunk, max_bytes + 1 - len(data))
        if unpacker.eof:
            return bytes(data[:max_bytes]), len(data) > max_bytes
    return bytes(data[:max_bytes]), True


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no time is left")
    return left

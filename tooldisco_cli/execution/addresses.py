"""Which addresses a request may reach: checked on what a name resolves to, and on what is then connected to.

A tool that fetches what a model asks for must not reach the machine's own services, the network behind it, or a
cloud's metadata. A check before the request could be fooled by a name that resolves otherwise a moment later, so the
check is in the connection itself: the name is resolved once, and the connection goes to an address that passed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from tooldisco_cli.errors import Refused, ToolFailed

if TYPE_CHECKING:
    from httpx2 import AsyncHTTPTransport

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[list[str]]]

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})
_MORE_PRIVATE = tuple(
    map(
        ipaddress.ip_network,
        # Carrier-grade NAT (RFC 6598), where some clouds keep metadata; benchmarking; IETF protocols; 6to4 relays;
        # Azure's metadata, which has a public address; local NAT64 (RFC 8215), whose form nobody can know; segment
        # routing (RFC 9602) and documentation (RFC 9637), which older Pythons take for public.
        [
            "100.64.0.0/10",
            "198.18.0.0/15",
            "192.0.0.0/24",
            "192.88.99.0/24",
            "168.63.129.16/32",
            "fec0::/10",
            "64:ff9b:1::/48",
            "5f00::/16",
            "3fff::/20",
        ],
    )
)


def is_public(text: str) -> bool:
    """Return whether an address is one of the open internet, also when it hides inside an IPv6 address."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(_is_public(each) for each in (address, *_embedded(address)))


def _is_public(address: Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_unspecified or address.is_reserved:
        # 64:ff9b::/96 counts as global or not by Python's version; what it embeds decides.
        return isinstance(address, ipaddress.IPv6Address) and address in _NAT64
    return not any(address.version == network.version and address in network for network in _MORE_PRIVATE)


def _embedded(address: Address) -> Iterable[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses that a gateway might take out of an IPv6 one (RFC 4291, 3056, 4380, 5214, 6052)."""
    if not isinstance(address, ipaddress.IPv6Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if address in _NAT64 or int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if int(address) >> 32 == 0 and int(address) > 1:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the order in which the system would try them."""
    import asyncio

    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolFailed(f"the host {host} is not known: {reason}", hint="check its name and your network") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def refusal(host: str, addresses: Iterable[str]) -> Refused:
    """Return the error for a host that has no public address."""
    return Refused(
        f"{host} is a private or local address ({', '.join(addresses)}), which tools may not reach",
        hint="if it is meant: allow_private = true in the tool's [tool.http], or allow_private_addresses = true "
        "in config.toml",
        details={"host": host},
    )


def guarded_transport(*, allow_private: bool, resolver: Resolver | None = None) -> AsyncHTTPTransport:
    """Return an HTTP transport that connects to public addresses only, unless ``allow_private``.

    TLS is verified against the name, as always, with the system's authorities or those of ``SSL_CERT_FILE``. Proxies
    of the environment are not used, since behind a proxy nobody could tell which address is reached. That a manifest
    may say ``allow_private`` is no hole: what comes from a project runs only once it is trusted as it stands.
    """
    import httpx2
    from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream, ConnectError
    from httpcore2._backends.auto import AutoBackend

    find = resolver or resolve

    class Guard(AsyncNetworkBackend):
        def __init__(self) -> None:
            self._inner = AutoBackend()

        async def connect_tcp(self, host: str, port: int, *arguments: Any, **options: Any) -> AsyncNetworkStream:
            addresses = await find(host, port)
            allowed = [address for address in addresses if allow_private or is_public(address)]
            if not allowed:
                raise refusal(host, addresses)
            failure: Exception | None = None
            for address in allowed:
                try:
                    return await self._inner.connect_tcp(address, port, *arguments, **options)
                except ConnectError as error:
                    failure = error
            raise failure or ConnectError(f"{host} has no address")

        async def connect_unix_socket(self, *_arguments: Any, **_options: Any) -> AsyncNetworkStream:
            raise Refused("requests to local sockets are not allowed")

        async def sleep(self, seconds: float) -> None:
            await self._inner.sleep(seconds)

    # A transport takes no proxy from the environment, only SSL_CERT_FILE and SSL_CERT_DIR.
    transport = httpx2.AsyncHTTPTransport(trust_env=True, retries=0)
    # httpx2 has no argument for it; its pool takes one, and reads this attribute for each new connection.
    if not isinstance(getattr(transport._pool, "_network_backend", None), AsyncNetworkBackend):
        raise TypeError("this version of httpx2 cannot be guarded; requests are not sent")
    transport._pool._network_backend = Guard()
    return transport

"""Which addresses are of the public network: only these does a company's hook reach.

Sources: the registries of special-purpose addresses (IANA, RFC 6890) as the standard library has
them, and what they leave to callers: addresses of IPv6 that stand for one of IPv4, which a gateway
of the operator's may translate (RFC 6052 and 8215, NAT64; RFC 4291, mapped and compatible; RFC
3056, 6to4; RFC 4380, Teredo; RFC 5214, ISATAP), site-local ones (RFC 3879) and multicast.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

__all__ = ["is_public"]

_GLOBAL_6 = IPv6Network("2000::/3")
"""All that is assigned to the public network lies here."""
_TRANSLATED_6 = tuple(
    IPv6Network(one) for one in ("2001::/32", "2002::/16", "64:ff9b:1::/48", "::/96")
)
"""Tunnels and gateways: who is behind them their operator decides."""
_NAT64 = IPv6Network("64:ff9b::/96")
_SPECIAL_6 = tuple(
    IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "3fff::/20", "fec0::/10")
)
_SPECIAL_4 = (IPv4Network("192.88.99.0/24"), IPv4Network("0.0.0.0/8"), IPv4Network("100.64.0.0/10"))
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(text: str) -> bool:
    """Whether an address, as digits, is one of the public network; False for what is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return _is_public_4(address) if isinstance(address, IPv4Address) else _is_public_6(address)


def _is_public_4(address: IPv4Address) -> bool:
    special = address.is_multicast or address.is_reserved or not address.is_global
    return not special and not any(address in network for network in _SPECIAL_4)


def _is_public_6(address: IPv6Address) -> bool:
    last = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64 or address.ipv4_mapped is not None:
        # Where all of IPv4 is reached so, names of the public network stand for these, too.
        return _is_public_4(last)
    if any(address in network for network in (*_TRANSLATED_6, *_SPECIAL_6)):
        return False
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP and not _is_public_4(last):
        return False
    return address in _GLOBAL_6 and address.is_global and address.scope_id is None

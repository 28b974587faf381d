"""Hooks reach the public network alone: no address that stands for, or leads to, another."""

from __future__ import annotations

import pytest

from voile_base.errors import InputError
from voile_share.service.hooks import _check_target, _is_public
from voile_share.service.options import HookOptions

PUBLIC = (
    *("93.184.215.14", "8.8.8.8", "1.1.1.1", "223.5.5.5"),
    *("2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2a00:1450:4001::200e", "2400:cb00::1"),
    *("::ffff:8.8.8.8", "64:ff9b::8.8.8.8"),
)
OTHERS = (
    *("127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0"),
    *("0.1.2.3", "100.64.0.1", "100.127.255.254", "192.0.0.1", "192.0.2.1", "198.18.0.1"),
    *("198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1"),
    *("255.255.255.255", "192.88.99.1"),
    *("::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
    *("::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b::224.0.0.1", "64:ff9b:1::127.0.0.1", "64:ff9b:1::8.8.8.8", "2002:7f00:1::"),
    *("2002:808:808::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fec0::1"),
    *("fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1"),
    *("ff0e::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "4000::1", "2001:2::1"),
    *("2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1"),
    *("localhost", "example.org", "", "1", "0x7f.1", "8.8.8", "[::1]"),
)


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_public_network_are_public(address):
    """Of IPv4 and IPv6, and those of IPv4 by a well-known prefix."""
    assert _is_public(address)


@pytest.mark.parametrize("address", OTHERS)
def test_all_others_are_not(address):
    """Private, special, multicast and translated ones, with a zone, and what is no address."""
    assert not _is_public(address)


@pytest.mark.parametrize("address", [one for one in OTHERS if ":" in one and "[" not in one])
def test_no_hook_is_taken_with_one_of_them(address):
    """Already when it is named, before anything is looked up; unless the operator allows it."""
    with pytest.raises(InputError):
        _check_target("web", f"https://[{address}]/told", HookOptions())
    if "%" not in address:
        _check_target("web", f"https://[{address}]/told", HookOptions(private_networks=True))

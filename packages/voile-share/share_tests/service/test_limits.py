"""How often somebody may ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile_base.errors import PlanError
from voile_share.service.connections import Meter, network_of
from voile_share.service.folder import Configuration
from voile_share.service.options import Options, Rate

steps = st.lists(st.floats(0, 3).map(lambda gap: round(gap, 2)), max_size=60)


class Turned:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@given(steps, st.integers(1, 5), st.sampled_from([0.5, 1.0, 4.0]))
def test_a_meter_lets_through_what_a_bucket_of_tokens_would(gaps, burst, per_second):
    """As many pass, at the same times, as with a bucket that is filled drop by drop."""
    clock = Turned()
    meter = Meter(Rate(per_second, burst), clock)
    level = float(burst)
    for gap in gaps:
        clock.now += gap
        level = min(float(burst), level + gap * per_second)
        passes = meter.wait(b"key") == 0
        if abs(level - 1) > 1e-6:
            assert passes == (level >= 1)
        if passes:
            level -= 1


@given(steps, st.integers(1, 5))
def test_who_waits_as_long_as_is_said_may_go_on(gaps, burst):
    """The wait that is told is long enough, and no longer than needed."""
    clock = Turned()
    meter = Meter(Rate(2.0, burst), clock)
    for gap in gaps:
        clock.now += gap
        wait = meter.wait(b"key")
        if wait:
            clock.now += wait - 1e-3
            assert meter.wait(b"key") > 0
            clock.now += 1e-3
            assert meter.wait(b"key") == 0


def test_keys_are_counted_by_themselves():
    """One key that asks too often does not keep another from passing."""
    meter = Meter(Rate(1, 1), Turned())
    assert [meter.wait(key) > 0 for key in (b"a", b"a", b"b")] == [False, True, False]


def test_so_many_keys_are_remembered():
    """Memory is bounded, and the keys used last are the ones that are known."""
    meter = Meter(Rate(0.001, 1), Turned(), most=10)
    for number in range(1000):
        assert meter.wait(b"%d" % number) == 0
    assert len(meter._full_at) == 10
    assert meter.wait(b"999") > 0
    assert meter.wait(b"0") == 0


def test_addresses_of_one_customer_are_one():
    """IPv6 counts by its /64; an address of IPv4 counts alike in both notations."""
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1")
    assert network_of("2001:db8::1") != network_of("2001:db8:0:1::1")
    assert network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1")[:8]
    assert network_of("no address") == b"no address"
    assert network_of(None) == b""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[service]\nprot = 80", "[service]: unknown key 'prot'; did you mean 'port'"),
        ("[service]\nport = '80'", "[service] port must be a whole number from 0 to 65535"),
        ("[service]\nport = 70_000", "[service] port must be a whole number from 0 to 65535"),
        ("[service]\nport = true", "[service] port must be a whole number"),
        ("[service]\nheartbeat = 0", "[service] heartbeat must be a number above 0"),
        ("[service]\ntrusted_proxies = '10.0.0.1'", "[service] trusted_proxies must be a list"),
        ("[service]\nrates = 5", "[service]: unknown key 'rates'"),
        ("[service]\naddress = 'share.example.org'", "[service] address must be like"),
        ("[service]\naddress = 'https://share.example.org/sub'", "without a user, a path"),
        ("[service]\naddress = 'https://u@share.example.org'", "without a user"),
        ("[service]\naddress = 'https://share.example.org?x'", "a query or a fragment"),
        ("[service]\naddress = 'https://share.example.org\"'", "address must be like"),
        ("[service]\naddress = 'https://[::1'", "address must be like"),
        ("[service]\naddress = 'http://127.0.0.1:0'", "port of the address must be from 1"),
        ("[service]\naddress = 'http://127.0.0.1:65536'", "port of the address must be from 1"),
        ("[rates]\ndevise = [1, 2]", "[rates]: unknown key 'devise'; did you mean 'device'"),
        ("[rates]\ndevice = 5", "[rates] device must be [requests a second, most at once]"),
        ("[rates]\ndevice = [0, 5]", "[rates] device must be [requests a second"),
        ("[rates]\ndevice = [5, 0]", "[rates] device must be [requests a second"),
        ("[rates]\ndevice = [nan, 5]", "[rates] device must be [requests a second"),
        ("[rates]\ndevice = [5, 2.5]", "[rates] device must be [requests a second"),
        ("[store]\nurl = 3", "[store] url must be a text"),
        ("[store]\nname = 'x'", "[store]: unknown key 'name'"),
        ("service = 3", "[service] must be a table"),
    ],
)
def test_options_that_cannot_be_are_named(tmp_path, lines, said):
    """What is wrong in share.toml is said with its file, table and key."""
    path = tmp_path / "share.toml"
    path.write_text(lines)
    with pytest.raises(PlanError) as caught:
        Configuration.read(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


def test_options_are_read(tmp_path):
    """Tables of share.toml become options; what is left out keeps its default."""
    (tmp_path / "share.toml").write_text(
        '[service]\naddress = "https://share.example.org"\nheartbeat = 5\n'
        'trusted_proxies = ["10.0.0.0/8"]\n[rates]\nlink = [2, 9]\n'
    )
    options = Configuration.read(tmp_path).options
    assert options.heartbeat == 5.0
    assert options.trusted_proxies == ("10.0.0.0/8",)
    assert options.rates.link == Rate(2.0, 9)
    assert options.rates.device == Options().rates.device
    assert options.is_encrypted

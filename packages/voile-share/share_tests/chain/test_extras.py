"""Without the extra, importing works, and using says what to install; bad values are refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from voile_base.errors import InputError
from voile_share.chain import (
    ChainError,
    Deployment,
    EmbeddedChain,
    Mode,
    TransactionTerms,
    Web3Chain,
    signer,
)
from voile_share.chain.contract import address_of

HEAVY = ("web3", "eth_account", "eth_abi", "eth_utils", "eth_tester", "eth")


@pytest.mark.slow
def test_importing_loads_nothing_heavy() -> None:
    """A platform without chain does not pay for web3."""
    program = f"import sys, voile_share.chain; print(set({HEAVY}) & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("use", "extra"),
    [
        (EmbeddedChain, "embedded-chain"),
        (lambda: Web3Chain.connect("http://127.0.0.1:1"), "chain"),
        (lambda: signer(b"k" * 32), "chain"),
    ],
    ids=["embedded", "node", "account"],
)
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, use, extra: str) -> None:
    """The error says which extra to install."""
    for name in HEAVY:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"pip install 'voile-share\[{extra}\]'"):
        use()


def test_a_key_is_never_shown() -> None:
    """Neither a key of the wrong size nor one that is no key is quoted."""
    for key in (b"secret key", b"\xff" * 32, bytes(32)):
        with pytest.raises(InputError) as caught:
            signer(key)
        assert key.hex() not in repr(caught.value)
        assert repr(key)[2:-1] not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TransactionTerms(confirmations=0),
        lambda: TransactionTerms(poll=0),
        lambda: Deployment(1, b"short", 0),
        lambda: Deployment(1, bytes(20), -1),
        lambda: address_of("0xzz"),
        lambda: address_of("0x1234"),
        lambda: Web3Chain.connect("ftp://node"),
        lambda: Web3Chain.connect("127.0.0.1:8545"),
    ],
)
def test_wrong_values_are_refused(wrong) -> None:
    """Each says what it should be."""
    with pytest.raises(InputError):
        wrong()


def test_modes_have_the_names_of_the_documentation() -> None:
    """As they stand in settings."""
    assert [str(mode) for mode in Mode] == ["storage", "log", "anchor"]


def test_a_node_that_is_away_is_a_chain_error_without_its_address() -> None:
    """Addresses of nodes often hold a key."""
    node = Web3Chain.connect("http://127.0.0.1:1/v3/key-of-the-operator", seconds=1)
    with pytest.raises(ChainError) as caught:
        node.head()
    assert "key-of-the-operator" not in str(caught.value)
    assert caught.value.__cause__ is None

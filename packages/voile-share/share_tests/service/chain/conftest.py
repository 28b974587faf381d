"""A node for the tests of a module, and platforms that publish by it."""

from __future__ import annotations

import pytest

from share_tests.chain.scenes import QUICK, account
from share_tests.service.chain.scenes import URL, OnChain
from voile_share.chain import ContractAccount, EmbeddedChain, Web3Chain, address_of, deploy
from voile_share.service import on_chain
from voile_share.service.on_chain import ChainOptions
from voile_testing.processes import PATIENCE


@pytest.fixture(scope="module")
def node() -> EmbeddedChain:
    return EmbeddedChain()


@pytest.fixture
def on(tmp_path, node, monkeypatch):
    """Makes a platform in a mode, over a contract of its own; to connect gives the node."""
    monkeypatch.setattr(Web3Chain, "connect", lambda url: node)
    scenes = []

    def make(mode: str, **more) -> OnChain:
        key = tmp_path / on_chain.KEY
        key.write_text(account("operator").key.hex().removeprefix("0x") + "\n")
        key.chmod(0o600)
        operator = account("operator")
        node.fund(address_of(operator), 10)
        place = deploy(node, operator, QUICK)
        ContractAccount(node, place, operator, QUICK).certify(address_of(operator))
        options = ChainOptions(
            url=URL,
            chain=place.chain,
            contract=f"0x{place.address.hex()}",
            block=place.block,
            mode=mode,
            **{"poll": 0.02, "patience": PATIENCE, "raise_after": 0.9, **more},
        )
        scenes.append(OnChain(tmp_path, options))
        return scenes[-1]

    yield make
    for scene in scenes:
        scene.platform.close()

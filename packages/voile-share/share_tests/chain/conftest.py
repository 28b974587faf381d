"""What the tests of chains share: starting one takes a second."""

from __future__ import annotations

import pytest

from share_tests.chain.scenes import Stage
from voile_share.chain import EmbeddedChain


@pytest.fixture(scope="module")
def chain() -> EmbeddedChain:
    """One chain; every stage has a contract of its own on it."""
    return EmbeddedChain()


@pytest.fixture
def stage(chain: EmbeddedChain) -> Stage:
    """A new contract, with a certified company."""
    return Stage.set(chain)

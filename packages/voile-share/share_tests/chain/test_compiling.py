"""The bytecode that the package brings is what the compiler makes of the source."""

from __future__ import annotations

import pytest

pytest.importorskip("vyper", reason="the compiler of the contract is not installed")

from share_tests.chain.compiling import COMPILED, compiled, written


def test_the_committed_bytecode_is_made_from_the_source() -> None:
    """Compiled again, interface and bytecode are the same, byte for byte."""
    assert COMPILED.read_text(encoding="utf-8") == written(compiled())

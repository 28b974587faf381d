"""Fixtures of the tests of this distribution."""

from __future__ import annotations

from voile_tests.undrawn import undrawn

__all__ = ["undrawn"]

"""Fixtures of the tests of the checkout."""

from __future__ import annotations

from voile_tests.undrawn import undrawn

__all__ = ["undrawn"]

"""What ``voile study`` and ``voile compare`` share: options, and how reports are drawn."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

__all__ = ["held_out_option", "names_of", "renderer", "targets_option"]

targets_option = click.option(
    "--targets",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="At how many people each attack is aimed.",
)
held_out_option = click.option(
    "--held-out",
    metavar="SHARE",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the rows that a rehearsal leaves out; 0 for none.",
)


def names_of(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; None where none were given."""
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())


def renderer(name: str) -> Callable[[Any], str]:
    """A function of ``voile.report.html`` that draws a report; what it needs is loaded when called.

    It raises ``InputError`` where that is not installed.
    """

    def render(record: Any) -> str:
        draw: Callable[[Any], str] = getattr(import_module("voile.report.html"), name)
        return draw(record)

    return render

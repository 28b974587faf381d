"""Cards of methods, and what people say and read beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from voile.publish.capabilities import MethodCard
from voile.publish.registry import METHODS
from voile_base.errors import InputError

__all__ = ["method_cards", "most_error", "numbers_of", "odds_told"]


def method_cards() -> tuple[MethodCard, ...]:
    """The cards that methods carry: ours, then those of other packages."""
    cards = (METHODS.class_of(name).capabilities.card for name in METHODS.names)
    return tuple(card for card in cards if card is not None)


def numbers_of(text: str, what: str) -> list[int | float]:
    """The numbers of a field, with commas between; raises ``InputError`` for anything else."""
    found: list[int | float] = []
    for part in text.replace(";", ",").split(","):
        said = part.strip()
        if not said:
            continue
        try:
            number = float(said)
        except ValueError:
            number = float("nan")
        if not abs(number) < 1e15:
            msg = f"{what}: write numbers with commas between, for example 5, 10, 20"
            raise InputError(msg)
        found.append(int(said) if said.lstrip("+-").isdigit() else number)
    return found


def odds_told(epsilon: float) -> str:
    """What an epsilon means: how sure a bet of one to one may become."""
    if epsilon > 20:
        return "no bound that means something"
    factor = math.exp(epsilon)
    return f"{factor:.3g} to 1: right {100 * factor / (1 + factor):.3g} times out of 100"


def most_error(epsilon: float, widths: Mapping[str, float]) -> Mapping[str, float]:
    """How far noise moves a number of each column on average, at most, in the column's unit.

    ``widths`` are the widths of the public bounds of the columns that share ``epsilon``.  Laplace
    noise of scale width * columns / epsilon is as far on average as its scale; clusters, where they
    help, make it less.  It holds where a person has one row.
    """
    return {name: width * len(widths) / epsilon for name, width in widths.items()}

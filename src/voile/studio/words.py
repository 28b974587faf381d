"""Methods in plain words: what each promises, what it costs, and when it is the wrong one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from voile.errors import InputError
from voile.publish.card import MethodCard, Parameter
from voile.publish.registry import METHODS

__all__ = ["METHOD_CARDS", "method_cards", "most_error", "numbers_of", "odds_told"]


_LIKE = ("2", "3", "5", "10", "20", "50", "100")
_K = Parameter("k", "k", _LIKE, ("5", "10"), "everybody looks like k - 1 others at least")
_L = Parameter(
    "l",
    "l",
    ("2", "3", "4", "5"),
    (),
    "at least l different sensitive values among those who look alike",
    needed=False,
)
_T = Parameter(
    "t",
    "t",
    ("0.1", "0.15", "0.2", "0.3", "0.5"),
    (),
    "how far sensitive values in a group may be from those of all, 0 to 1",
    needed=False,
)


def _epsilon(offered: tuple[str, ...], tried: tuple[str, ...], hint: str) -> Parameter:
    return Parameter("epsilon", "epsilon", offered, tried, hint)


METHOD_CARDS: tuple[MethodCard, ...] = (
    MethodCard(
        "generalization",
        "Make people alike",
        "Everybody looks like at least k - 1 others in what others may know; on request, their "
        "sensitive values differ.",
        "Detail in the columns that others may know. All other columns stay as they are.",
        "somebody may know more than the plan says, or new releases follow without a series.",
        (_K, _L, _T),
    ),
    MethodCard(
        "dp-generalization",
        "Make people alike, privately",
        "Differential privacy: whether somebody is in the table hardly changes what is published, "
        "whatever others know.",
        "A sample of the rows, all columns coarser, and a budget that does not come back.",
        "the table has fewer than a few thousand rows, or every row is needed.",
        (
            Parameter("k", "k", _LIKE, ("20",), "rows alike, at least"),
            _epsilon(
                ("1.5", "2", "3", "4", "6"),
                ("2", "3"),
                "the loss of privacy; above 1.204, which a sample of 70 % of the rows costs alone",
            ),
        ),
    ),
    MethodCard(
        "ke-anonymity",
        "Hide one number in groups",
        "Nobody's number is known closer than k different ones that span at least e, also for "
        "those who compare all releases of a growing table.",
        "Who has which number within a group. Sums and averages keep bounds.",
        "there is more than one sensitive column, or it is not a number.",
        (
            Parameter("k", "k", _LIKE, ("3", "5"), "different numbers in a group, at least"),
            Parameter("e", "e", (), (), "how far the numbers of a group reach, at least"),
        ),
    ),
    MethodCard(
        "m-shuffle",
        "Shuffle columns within clusters",
        "Every true value stays, but which belong together is one of very many arrangements. "
        "It is no anonymity.",
        "What the shuffled columns had to do with the others.",
        "the file goes to people who are not trusted.",
        (
            Parameter(
                "clusters",
                "clusters",
                ("4", "16", "64", "256"),
                ("16", "64"),
                "groups of like rows to shuffle within",
            ),
        ),
    ),
    MethodCard(
        "clustered-laplace",
        "Add noise to numbers",
        "Differential privacy for the numbers of a row; every number comes with an interval.",
        "Precision, and a budget that does not come back. All other columns stay as they are.",
        "the columns that others may know are not numbers with public bounds.",
        (
            _epsilon(
                ("0.1", "0.5", "1", "2", "4"),
                ("0.5", "1", "2"),
                "the loss of privacy: smaller is safer and less exact",
            ),
        ),
    ),
    MethodCard(
        "ranking",
        "Show the best, none singled out",
        "Each published row looks like at least k - 1 others; most in a group are among the best.",
        "Rows that are not among the best, and detail.",
        "no column ranks the rows.",
        (
            Parameter("k", "k", _LIKE, ("5",), "rows in a group, at least"),
            Parameter(
                "top", "top", ("10", "50", "100"), ("50", "100"), "how many of the best are shown"
            ),
        ),
    ),
)


def method_cards() -> tuple[MethodCard, ...]:
    """The cards of our methods, then those that methods of other packages carry."""
    others = (METHODS.class_of(name) for name in METHODS.installed)
    return (*METHOD_CARDS, *(made.card for made in others if made.card is not None))


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

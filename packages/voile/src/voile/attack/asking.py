"""How commands ask for what adversaries know: the options of all attacks, declared once.

A field of an attack names its option (``asks``).  The table loads nothing, so that a command can
list its options without the attacks; a test holds it to the fields.  Attacks that name one option
share it.  Another package declares an option at the field itself (``asked``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from voile_base.ondemand import dataclass

__all__ = ["OPTIONS", "AttackOption", "Reading", "asked", "asks"]


Reading = Literal["text", "texts", "whole number", "number", "decimal", "flag", "people"]


"""How the words of an option become a value: "texts" stand between commas, and "people" is the name
of a file."""


@dataclass(frozen=True)
class AttackOption:
    """The option of a command that gives a field its value."""

    option: str
    """As it is typed: ``--gain``."""
    reading: Reading
    words: str
    metavar: str | None = None


def asked(
    option: str,
    reading: Reading,
    words: str,
    metavar: str | None = None,
) -> Mapping[str, AttackOption]:
    """The metadata of a field that a command asks for; ``words`` are one sentence for people."""
    return {"asked": AttackOption(option, reading, words, metavar)}


OPTIONS: tuple[AttackOption, ...] = (
    AttackOption(
        "--columns",
        "texts",
        "What the adversary knows of people, separated by commas [default: quasi-identifiers].",
        "NAMES",
    ),
    AttackOption("--targets", "whole number", "How many people to look for [default: 1000]."),
    AttackOption(
        "--link",
        "text",
        "A column of NEW and INPUT that tells whose row is whose, to count right guesses.",
        "COLUMN",
    ),
    AttackOption(
        "--population",
        "flag",
        "The adversary also knows how the values of all people are distributed.",
    ),
    AttackOption(
        "--register",
        "people",
        "The people among whom the journalist and the marketer look for the person of a row, "
        "everybody of INPUT among them [default: INPUT]; the population of population-map "
        "[default: as sampling weights tell].",
        "FILE",
    ),
    AttackOption(
        "--absent",
        "people",
        "People like those of INPUT who are not in it, for the membership attack.",
        "FILE",
    ),
    AttackOption(
        "--sensitive",
        "text",
        "The sensitive column that adversaries are after [default: each; shown is the one of "
        "which they gain most over guessing].",
        "COLUMN",
    ),
    AttackOption(
        "--within",
        "number",
        "How far from the own value a guess of a number is right, for the attacks homogeneity "
        "[default: it must be the value] and, of a column with noise, comparison [default: as far "
        "as its intervals].",
    ),
    AttackOption(
        "--ruled-out",
        "whole number",
        "How many values the adversary can rule out for each person, for the background-knowledge "
        "attack [default: 1].",
    ),
    AttackOption(
        "--gain",
        "number",
        "How many times as probable a value must become to be bet on, for the skewness attack "
        "[default: 2].",
    ),
    AttackOption(
        "--before",
        "people",
        "The private table of the first OLD: all others of INPUT are newcomers [default: there "
        "are none].",
        "FILE",
    ),
    AttackOption(
        "--k",
        "whole number",
        "Distinct values to be left [default: as NEW guarantees]. (k,e) only.",
    ),
    AttackOption(
        "--e", "decimal", "Range to be left [default: as NEW guarantees]. (k,e) only.", "NUMBER"
    ),
    AttackOption("--most", "whole number", "How many victims to show [default: 10]. (k,e) only."),
    AttackOption(
        "--arrived",
        "text",
        "A column of NEW or INPUT with the number of the release before which a row arrived, "
        "which the adversary knows; needs all earlier releases. (k,e) only.",
        "COLUMN",
    ),
    AttackOption(
        "--tables",
        "whole number",
        "How many tables the adversary who knows how groups were chosen asks about, at most "
        "[default: 2000].",
    ),
)


"""In the order of the attacks and their fields."""


_BY_NAME = {one.option: one for one in OPTIONS}


def asks(option: str) -> Mapping[str, AttackOption]:
    """The metadata of a field whose option is in the table."""
    return {"asked": _BY_NAME[option]}

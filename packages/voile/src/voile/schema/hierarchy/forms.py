"""Postcodes that tell a few houses: only their first parts are ever published.

    system  a whole one    district      area     sources
    uk      SW1A 1AA       SW1A *        SW *     Royal Mail, Programmers' guide to the PAF
    nl      1017 AB        1017 *        10 *     PostNL: four figures and two letters
    ca      K1A 0B1        K1A *         K *      Canada Post: forward sortation area

A whole postcode has about 15 households in the United Kingdom and 20 in the Netherlands, as fine as
an address.  So the lowest level shows the district, whatever k is, then the area, then ``*``.  A
text that is no such postcode is grouped with all others that are none.

The public domain is not counted, so shares are a convention, as of prefixes: each character that is
kept stands for ten possibilities.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal, get_args

import numpy as np

from voile.schema.hierarchy.generalized import (
    EVERYTHING,
    SMALLEST_SHARE,
    BoundHierarchy,
    DistinctValues,
    Level,
)
from voile_base.ondemand import dataclass, pattern_on_demand

__all__ = ["POSTCODE_SYSTEMS", "PostcodeSystem", "Postcodes"]

PostcodeSystem = Literal["uk", "nl", "ca"]
POSTCODE_SYSTEMS: tuple[PostcodeSystem, ...] = get_args(PostcodeSystem)
"""Whose postcodes are known."""

_FORMS: Mapping[PostcodeSystem, re.Pattern[str]] = {
    "uk": pattern_on_demand(r"(?P<district>(?P<area>[A-Z]{1,2})\d[A-Z\d]?) ?\d[A-Z]{2}"),
    "nl": pattern_on_demand(r"(?P<district>(?P<area>[1-9]\d)\d{2}) ?[A-Z]{2}"),
    "ca": pattern_on_demand(r"(?P<district>(?P<area>[A-CEGHJ-NPR-TVXY])\d[A-Z])[ -]?\d[A-Z]\d"),
}
_NONE = "other"
"""What texts that are no postcodes show."""


@dataclass(frozen=True)
class Postcodes:
    """District, area, everything."""

    system: PostcodeSystem

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct texts of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for a column that does not hold texts.
        """
        texts = values.present_texts(column, "postcodes are texts")
        levels = [self._level(texts, part) for part in ("district", "area")]
        return BoundHierarchy.of_levels(
            column, values, [*levels, Level.everything(len(texts))], SMALLEST_SHARE
        )

    def reads(self, text: str) -> bool:
        """Whether a text is a whole postcode of the system."""
        return _FORMS[self.system].fullmatch(text.strip().upper()) is not None

    def _level(self, texts: Sequence[str], part: str) -> Level:
        found = [_FORMS[self.system].fullmatch(text.strip().upper()) for text in texts]
        kept = [one[part] if one else "" for one in found]
        labels = [f"{one} {EVERYTHING}" if one else _NONE for one in kept]
        return Level.labelled(labels, np.power(10.0, [-float(len(one)) for one in kept]))

"""Hierarchies that keep the first characters of a text: zip codes, telephone numbers, codes.

``prefix = [3, 1]`` makes of ``80123`` first ``801**``, then ``8****``, then ``*``.  A text that is
not longer than what is kept stays as it is.

The public domain of such codes is not declared, so shares are a convention: each character that
is kept stands for ten possibilities, and what keeps c characters covers 10**-c of the domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from voile.schema.hierarchy.generalized import (
    EVERYTHING,
    SMALLEST_SHARE,
    BoundHierarchy,
    DistinctValues,
    Level,
    as_they_are,
    bind_levels,
    everything,
    labelled,
    present,
)
from voile_base.errors import PlanError
from voile_base.values.value import Says, Several, checked

__all__ = ["Kept", "Prefixes"]

_MANY = 100
"""Characters beyond which a share is too small to count."""


def _descending(kept: tuple[int, ...]) -> tuple[int, ...]:
    if any(more <= fewer for more, fewer in pairwise(kept)):
        raise PydanticCustomError("descending", "fewer from level to level")
    return kept


Kept = Annotated[
    Several[Annotated[int, Field(ge=1)]],
    Field(min_length=1),
    AfterValidator(_descending),
    Says(
        "a list of how many characters each level keeps, fewer from level to level, for example "
        "[3, 1]"
    ),
]


@checked(PlanError)
@dataclass(frozen=True)
class Prefixes:
    """How many characters each level keeps, fewer from level to level.

    Raises ``PlanError`` unless these are descending whole numbers of at least 1.
    """

    kept: Kept

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct texts of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for a column that does not hold texts.
        """
        texts = present(values)
        if texts and values.kind != "text":
            msg = (
                f"column {column!r} holds values of kind {values.kind!r}, and prefixes are those "
                'of texts; write type = "text" in its table of the plan'
            )
            raise PlanError(msg)
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        levels = [
            as_they_are(len(texts), _share(lengths)),
            *(self._level(texts, lengths, kept) for kept in self.kept),
            everything(len(texts)),
        ]
        return bind_levels(column, values, levels, SMALLEST_SHARE)

    def _level(self, texts: tuple[str, ...], lengths: NDArray[np.int64], kept: int) -> Level:
        labels = [
            text[:kept] + EVERYTHING * (length - kept)
            for text, length in zip(texts, lengths.tolist(), strict=True)
        ]
        return labelled(labels, _share(np.minimum(lengths, kept)))


def _share(kept: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.power(10.0, -np.minimum(kept, _MANY))

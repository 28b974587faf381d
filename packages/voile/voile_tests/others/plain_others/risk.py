"""A risk of somebody else: how often a person's whole row stands in the file as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voile.attack.protocol import Estimate
from voile.audit.risk import CONTROL, ORIGINAL, Risk, Setting, share_of


@dataclass(frozen=True)
class WholeRows:
    """A published row that covers all columns of a person."""

    name: ClassVar[str] = "whole rows"

    def refusal(self, setting: Setting) -> str | None:
        """One column is no whole row."""
        return "the file shows one column" if len(setting.names) < 2 else None

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One, of all columns."""
        beside, draws = setting.beside, setting.randomness.key("whole rows").generator()
        rates = []
        for group in range(len(beside.units)):
            count = min(setting.targets, beside.people(group))
            people = beside.drawn(group, count, draws)
            fits = np.ones((count, beside.rows), dtype=bool)
            for column in beside.columns:
                fits &= column.covers[column.value[group][people]][:, column.cell]
            rates.append(share_of(fits.any(axis=1).astype(float)))
        control = rates[CONTROL] if len(rates) > 1 else None
        goal, nobody = "a published row fits the whole of a person", Estimate.exactly(0.0)
        of = f"{len(setting.names)} columns"
        yield Risk(self.name, of, goal, count, rates[ORIGINAL], control, nobody)

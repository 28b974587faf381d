"""Adversaries and measures for tests of studies: cheap, and as odd as a study must bear."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from voile.attack.protocol import Attack, AttackOutcome, Estimate
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.study.evidence import Instruments
from voile.study.record import Distribution
from voile.utility.protocol import Comparison, Measurement
from voile_base.errors import InputError, TableError
from voile_base.randomness import Randomness


def outcome(name: str, right: float, count: int, *, checked: bool, note: str = "") -> AttackOutcome:
    """An outcome whose successes add up to a number."""
    estimate = Estimate.of_total(right, count)
    return AttackOutcome(
        attack=name,
        goal="the guess is right",
        targets=count,
        checked=checked,
        success=estimate,
        probability=estimate,
        baseline=0.125,
        worst=None,
        typical=None,
        assumptions=("he knows the release",),
        notes=(note,) if note else (),
    )


@dataclass(frozen=True)
class Fake(Attack):
    """What all adversaries of the tests share."""

    name: str = "fake"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """It makes sense for every release."""
        return None

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """It is not to be run."""
        raise AssertionError(self.name)


@dataclass(frozen=True)
class Crowd(Fake):
    """Succeeds as often as groups are small: one over the rows that look alike."""

    name: str = "crowd"
    targets: int = 7

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """One guess for each group."""
        assert randomness is not None
        known = list(release.roles["quasi_identifiers"])
        sizes = release.table.group_sizes(known)
        count = min(self.targets, original.height)
        drawn = randomness.key("targets").digest(b"") % 97
        return outcome(
            self.name, count * len(sizes) / release.rows, count, checked=True, note=f"drew {drawn}"
        )


@dataclass(frozen=True)
class Drawn(Fake):
    """Succeeds by what it draws, in one of 2**20 ways."""

    name: str = "drawn"

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """By one number."""
        assert randomness is not None
        many = 1 << 20
        return outcome(self.name, randomness.key("drawn").digest(b"") % many, many, checked=False)


@dataclass(frozen=True)
class Absentee(Fake):
    """Needs people who are not in the release."""

    needs_absent = True

    name: str = "absentee"
    absent: Any = None

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Says how many rows went in and how many did not, in its notes."""
        both = pl.concat([original.drop("row", strict=False), self.absent])
        note = f"{release.rows} published, {original.height} in, {self.absent.height} out"
        assert both.height == original.height + self.absent.height
        return outcome(self.name, 1, 2, checked=True, note=note)


@dataclass(frozen=True)
class Linked(Fake):
    """Believes in its success where it cannot count it."""

    counts_by_link = True

    name: str = "linked"
    link: str | None = None

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Counts the rows whose numbers are in both."""
        if self.link is None:
            return outcome(self.name, 1, 1, checked=False)
        published = release.to_native()[self.link]
        shared = set(published) & set(original[self.link])
        assert published.n_unique() == len(shared) == original.height
        return outcome(self.name, 0, len(shared), checked=True)


@dataclass(frozen=True)
class Refuses(Fake):
    """Makes sense for no release."""

    name: str = "refuses"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """It never does."""
        return "it never makes sense"


@dataclass(frozen=True)
class Fails(Fake):
    """Fails with an error that a caller can act upon, or with any other."""

    name: str = "fails"
    faulty: bool = False

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """It never runs."""
        if self.faulty:
            raise KeyError("Wilhelmina")
        raise TableError("column 'age' and the plan disagree.")


@dataclass(frozen=True)
class Marks(Crowd):
    """Leaves a mark in a folder each time it is run; where there are many, it does not end."""

    name: str = "marks"
    folder: Path | None = None
    stuck_after: float = math.inf
    """So many marks before its own."""

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """As ``Crowd``."""
        assert self.folder is not None
        before = len(list(self.folder.iterdir()))
        k = release.method["k"]
        (self.folder / f"{k}.{os.getpid()}.{time.monotonic_ns()}").touch()
        while before >= self.stuck_after:
            time.sleep(0.1)
        return super().run(release, original, plan, randomness)


@dataclass(frozen=True)
class Kills(Marks):
    """Ends the process in which it is run, from its second run on, as if memory had run out."""

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """As ``Marks``, once."""
        assert self.folder is not None
        if any(self.folder.iterdir()):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(release, original, plan, randomness)


@dataclass(frozen=True)
class Rows:
    """The share of the rows that were published."""

    name: str = "rows"

    def refusal(self, comparison: Comparison) -> str | None:
        """It always makes sense."""
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Two measurements, one of which is no number."""
        share = comparison.published.frame.height / comparison.original.frame.height
        groups = comparison.published.frame["group"].n_unique()
        size = comparison.published.frame.height / groups
        return (
            Measurement("class-size", "Class size", size, "lower", "rows that look alike", 1.0),
            Measurement("rows", "Rows", share, "higher", "the share of published rows", 1.0, 0.0),
            Measurement("nothing", "Nothing", float("nan"), "lower", "no number"),
        )


@dataclass(frozen=True)
class HeldOut:
    """Needs rows that were held out."""

    name: str = "held-out"

    def refusal(self, comparison: Comparison) -> str | None:
        """It makes sense where there are any."""
        return None if comparison.held_out else "no rows were held out"

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """How many there are; row numbers are not to be seen."""
        assert comparison.held_out is not None
        roles = comparison.published.release.roles
        assert "row" not in comparison.original.frame.columns
        assert "row" not in comparison.published.frame.columns
        assert comparison.original.plan is not None
        assert "row" not in (*comparison.original.plan.roles.keep, *roles.get("keep", ()))
        count = comparison.held_out.frame.height
        return (Measurement(self.name, "Held out", count, "lower", "rows held out"),)


def distributions(comparison: Comparison) -> Sequence[Distribution]:
    """One column, the same before and after."""
    return [Distribution("age", "quasi-identifier", "number", ("a",), (0.0, 1.0), (1.0,), (1.0,))]


def instruments(*attacks: Any, measures: Sequence[Any] = (Rows(), HeldOut())) -> Instruments:
    """Instruments with these adversaries."""
    return Instruments(attacks, tuple(measures), distributions)


@dataclass(frozen=True)
class Standard:
    """Makes instruments where a grid asks for them; it can be sent to other processes."""

    attacks: tuple[Any, ...] = (Crowd(),)

    def __call__(self, names: Sequence[str] | None) -> Instruments:
        """Those of these names."""
        known = {attack.name: attack for attack in self.attacks}
        for name in names or ():
            if name not in known:
                raise InputError(f"there is no attack {name!r}")
        return instruments(*(known[name] for name in names or known), measures=(Rows(),))

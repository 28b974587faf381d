"""The worst-off in releases of one table, beside what these are good for.

SDNist's excerpt of the American Community Survey: some people of 2019 as original, as many others
of the same year as control.  Voile's methods at several settings, peers that can be installed (as
in ``league``), and the two ends, judged by ``voile.audit`` from the file alone.  Where rows are
people's, the worst-off is whose row is found most surely by whoever knows the quasi-identifiers;
where rows are nobody's, it is told who is in the data beyond what the control explains.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.league import DRAWS, ROWS, SEED, TARGETS, audited
from benchmarks.league_figure import draw_panels
from benchmarks.league_files import COLUMNS, ENVIRONMENTS, PEERS, every_file, people
from benchmarks.league_scores import drawn, scored
from benchmarks.record import Measurement, Table, Target
from voile.audit.record import COPYING, RE_IDENTIFICATION, AuditRecord
from voile.audit.scenarios import THE_PLAN

__all__ = ["run"]

ONLY = os.environ.get("VOILE_BENCHMARK_FILES", "")
"""Begins the names of the files that are judged; empty: all."""
_PACKAGES = [one for name in sorted({*PEERS.values()}) for one in ENVIRONMENTS[name]]
_NOTHING = np.nan, np.nan, np.nan


@dataclass(frozen=True)
class _Judged:
    """A file with what is told of the worst-off in it."""

    name: str
    kind: str
    score: float
    """1000 (1 - mean total variation over all triples of columns)."""
    worst: Mapping[str, float]
    """By who knows some columns, the probability that the worst-off person's row is found."""
    told: tuple[float, float, float]
    """The share told to be in the data at 1 % of mistakes, beyond the control, and its interval."""
    persons: int
    """How many people are beyond doubt."""

    @property
    def by_plan(self) -> float:
        """The probability of whoever knows the quasi-identifiers; NaN of rows of nobody."""
        return self.worst.get(THE_PLAN, np.nan)

    def line(self) -> list[str]:
        """For the table."""
        anybody = max(self.worst.values(), default=np.nan)
        told = "" if np.isnan(self.told[0]) else "{:.1%} ({:.1%} to {:.1%})".format(*self.told)
        persons = f"{self.persons}" if told else ""
        return [
            self.name, _number(self.by_plan), _number(anybody), told, persons, f"{self.score:.0f}"
        ]  # fmt: skip


def _number(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.3f}"


def run() -> Measurement:
    """Make and judge all files, and draw them."""
    every = people("2019", 2 * ROWS, SEED)
    original, control = every[:ROWS], every[ROWS:]
    files, left_out = every_file(original, SEED)
    with TemporaryDirectory() as folder:
        judged = [
            _judged(name, kind, _score(rows, original), record)
            for name, (kind, rows) in files.items()
            if name.startswith(ONLY)
            for record in [audited(rows, original, control, Path(folder))]
        ]
    of_people = "rows of people: probability that the worst-off\nis found by the quasi-identifiers"
    of_nobody = (
        "rows of nobody: share told to be in the data\nat 1 % of mistakes, beyond the control"
    )
    panels = {
        of_people: {one.name: (one.by_plan,) * 3 for one in judged if not np.isnan(one.by_plan)},
        of_nobody: {one.name: one.told for one in judged if not np.isnan(one.told[0])},
    }
    draw_panels("league-worst-off", judged, panels)
    return _measurement(judged, left_out)


def _score(rows: pl.DataFrame, original: pl.DataFrame) -> float:
    every = (drawn(rows, original, SEED + draw) for draw in range(DRAWS))
    return float(np.mean([scored(original, one).triples for one in every]))


def _judged(name: str, kind: str, score: float, record: AuditRecord) -> _Judged:
    risks = record.risks
    worst = {
        one["of"].split(":")[0]: one["worst"] for one in risks if one["risk"] == RE_IDENTIFICATION
    }
    persons = sum(one["persons"] for one in risks if one["risk"] == COPYING)
    return _Judged(name, kind, score, worst, next(_told(record), _NOTHING), persons)


def _told(record: AuditRecord) -> Iterator[tuple[float, float, float]]:
    for one in record.risks:
        if one["risk"] == COPYING:
            beyond = one["rates"][0]["beyond"]
            yield beyond["value"], beyond["low"], beyond["high"]


def _measurement(judged: list[_Judged], left_out: Sequence[str]) -> Measurement:
    by_name = {one.name: one for one in judged}
    copy, independent = by_name["untouched copy"], by_name["independent marginals"]
    alone = [one for one in judged if one.by_plan >= 1]
    told = [one for one in judged if one.told[1] > 0]
    return Measurement(
        question="What becomes of the worst-off in a release, and what is it good for?",
        data=f"SDNist's excerpt of the American Community Survey, Massachusetts 2019: {ROWS:,} "
        f"people as original, {ROWS:,} others as control, {len(COLUMNS)} columns",
        seeds=f"{SEED} throughout",
        protocol=f"voile audit of each file, {TARGETS} targets, roles by a plan; where rows are "
        "people's, the probability that the row of the most exposed person is found, by whoever "
        "knows the quasi-identifiers and by the worst of all sets of columns, three that were "
        "searched for among them; where rows are nobody's, the share of people who are told to be "
        "in the data at 1 % of mistakes, beyond the control, with its interval, and how many are "
        "beyond doubt; of groups of averages neither is counted; the score is 1000 (1 - mean total "
        f"variation) over all triples of columns, mean of {DRAWS} draws of a value for each cell; "
        f"peers: {', '.join(_PACKAGES)}, defaults of each",
        answer=f"In {len(alone)} of {len(judged)} files the worst-off is found surely by the "
        f"quasi-identifiers; in {len(told)} files of rows of nobody people are told beyond chance. "
        f"Left out: {'; '.join(left_out) or 'none'}.",
        targets=[
            Target("untouched copy, probability", "1", f"{copy.by_plan:.3f}", copy.by_plan == 1),
            Target("independent marginals, persons beyond doubt", "0", f"{independent.persons}",
                   independent.persons == 0),
        ],
        tables=[
            Table(
                "Worst-off and utility",
                ("file", "found by quasi-identifiers", "by the worst set", "told at 1 %",
                 "beyond doubt", "score"),
                [one.line() for one in sorted(judged, key=lambda one: -one.score)],
            )
        ],
    )  # fmt: skip

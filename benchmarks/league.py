"""The league: what releases of one table give away, and what they are good for, side by side.

SDNist's excerpt of the American Community Survey: people of 2019 as original, of 2018 as control.
Voile's methods at several settings, peers that can be installed, and the two ends: an untouched
copy, and columns drawn each by itself.  Each is judged by ``voile.audit``, from the file alone.

Peers have a folder of virtual environments (``VOILE_BENCHMARK_LEAGUE``), which the benchmark makes;
without the variable they are left out, and said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks import league_figure
from benchmarks.league_files import (
    COLUMNS,
    ENVIRONMENTS,
    FAILED,
    KNOWN,
    SENSITIVE,
    every_file,
    people,
    reason,
)
from benchmarks.league_scores import Scores, drawn, scored, sdnist_scores
from benchmarks.record import Measurement, Table, Target
from voile.audit.examine import Inquiry, audit
from voile.audit.record import AuditRecord

__all__ = ["DRAWS", "ROWS", "SEED", "TARGETS", "Placed", "audited", "run"]

SEED = 2019
ROWS = 3000
"""Of each year, drawn at random."""
TARGETS = 500
DRAWS = 5
PLAN = f"""
[roles]
person = "row"
quasi_identifiers = {list(KNOWN)}
sensitive = ["{SENSITIVE}"]
"""
RISKS = ("singling out", "linkability", "inference")
SAME = 1e-9
"""How far SDNist's figures may be from ours."""
NEAR = 1e-4
"""The same of what audits measure, to whom a number that the original lacks is noise."""


@dataclass(frozen=True)
class Placed:
    """A file of the league with its figures."""

    name: str
    kind: str
    """"ours", "peer" or "end"."""
    excess: Mapping[str, float]
    """Of each risk the largest; NaN where it was not counted."""
    found: int
    """How many figures of the three risks lie above the control by more than chance."""
    score: float
    """1000 (1 - mean total variation over all triples of columns)."""
    pairs: float
    """SDNist's score, of pairs."""
    correlation: float
    learner: float
    """What is left of what a learner finds in the original; NaN where that was not measured."""

    @property
    def risk(self) -> float:
        """The largest excess of the three risks, at least 0."""
        return max(0.0, *(one for one in self.excess.values() if not np.isnan(one)))


def run() -> Measurement:
    """Make and judge all files."""
    original, control = (people(year, ROWS, SEED) for year in ("2019", "2018"))
    files, left_out = every_file(original, SEED)
    cells = {
        name: [drawn(rows, original, SEED + draw) for draw in range(DRAWS)]
        for name, (_, rows) in files.items()
    }
    ours = {name: _mean([scored(original, one) for one in some]) for name, some in cells.items()}
    firsts = {name: scored(original, some[0]) for name, some in cells.items()}
    try:
        theirs = sdnist_scores(original, {name: some[0] for name, some in cells.items()})
    except FAILED as error:
        theirs = {}
        left_out.append(f"SDNist ({reason(error)})")
    with TemporaryDirectory() as folder:
        placed = [
            _placed(name, kind, audited(rows, original, control, Path(folder)), ours[name])
            for name, (kind, rows) in files.items()
        ]
    league_figure.draw(placed)
    return _measurement(placed, left_out, _sdnist_targets(placed, firsts, theirs))


def _measurement(
    placed: Sequence[Placed], left_out: Sequence[str], compared: Sequence[Target]
) -> Measurement:
    by_name = {one.name: one for one in placed}
    copy, independent = by_name["untouched copy"], by_name["independent marginals"]
    packages = ", ".join(package for some in ENVIRONMENTS.values() for package in some)
    return Measurement(
        question="What do releases give away of their own people, and what are they good for?",
        data=f"SDNist's excerpts of the American Community Survey, Massachusetts: {ROWS:,} people "
        f"of 2019 as original, as many of 2018 as control, {len(COLUMNS)} columns",
        seeds=f"{SEED} throughout; OpenDP and the mechanisms of SmartNoise draw by themselves",
        protocol=f"voile audit of each file, {TARGETS} targets, roles by a plan; risk is the "
        "largest excess over the control; the score is 1000 (1 - mean total variation) over all "
        f"triples of columns, mean of {DRAWS} draws of a value for each cell; SDNist's is of pairs "
        "(its percentile bins of ages), of the first draw, by SDNist itself on local files.  Two "
        "years differ by more than chance, so that excesses of some hundredths stand for nothing.  "
        f"Peers: {packages}; defaults of each.  ARX's optimum: full-domain generalization of least "
        "loss with at most 5 % of rows suppressed, by Flash, which reaches ARX's optima to nine "
        "digits on Adult.  Methods for trips have nothing to publish here",
        answer=f"Of {len(placed)} files {sum(one.found == 0 for one in placed)} show none of the "
        f"three risks beyond chance. Left out: {'; '.join(left_out) or 'none'}.",
        targets=[
            Target("untouched copy", "every risk found", f"{copy.found} figures", copy.found >= 3),
            Target("independent marginals", "no risk above 0.1", f"{independent.risk:.3f}",
                   independent.risk <= 0.1),
            *compared,
        ],
        tables=[
            Table(
                "Risk and utility",
                ("file", *RISKS, "found", "score", "SDNist", "correlation distance", "learner"),
                [_line(one) for one in sorted(placed, key=lambda one: one.risk)],
            )
        ],
    )  # fmt: skip


def _sdnist_targets(
    placed: Sequence[Placed], ours: Mapping[str, Scores], theirs: Mapping[str, Scores]
) -> list[Target]:
    """Whether SDNist finds the same as we do, where it is here."""
    if not theirs:
        return []
    pairs = max(abs(theirs[name].pairs - ours[name].pairs) for name in theirs)
    apart = max(abs(theirs[name].correlation - ours[name].correlation) for name in theirs)
    plain = [one for one in placed if one.kind != "ours"]
    measured = max(abs(theirs[one.name].correlation - one.correlation) for one in plain)
    files = f"{len(theirs)} files"
    return [
        Target("SDNist's k-marginal score", f"ours, {files}", f"{pairs:.1e} apart",
               pairs <= 1000 * SAME),
        Target("SDNist's Pearson differences", f"ours, {files}", f"{apart:.1e} apart",
               apart <= SAME),
        Target("correlation distance of the audit", f"SDNist's to {NEAR}, {len(plain)} files",
               f"{measured:.1e} apart", measured <= NEAR),
    ]  # fmt: skip


def _mean(scores: Sequence[Scores]) -> Scores:
    return Scores(
        *(
            float(np.mean([getattr(one, name) for one in scores]))
            for name in ("triples", "pairs", "correlation")
        )
    )


def _line(one: Placed) -> list[str]:
    risks = [_number(one.excess[name]) for name in RISKS]
    figures = [f"{one.score:.0f}", f"{one.pairs:.0f}"]
    return [
        one.name, *risks, f"{one.found}", *figures, _number(one.correlation), _number(one.learner)
    ]  # fmt: skip


def _number(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.3f}"


def audited(
    rows: pl.DataFrame, original: pl.DataFrame, control: pl.DataFrame, folder: Path
) -> AuditRecord:
    """What ``voile audit`` finds of a file."""
    for side, frame in {"rows": rows, "original": original, "control": control}.items():
        frame.write_csv(folder / f"{side}.csv")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    return audit(
        folder / "rows.csv",
        folder / "original.csv",
        folder / "control.csv",
        folder / "plan.toml",
        inquiry=Inquiry(TARGETS, ("prosecutor",)),
        seed=SEED,
    )


def _placed(name: str, kind: str, record: AuditRecord, scores: Scores) -> Placed:
    return Placed(
        name,
        kind,
        {risk: _excess(record, risk) for risk in RISKS},
        sum(one["found"] for one in record.risks if one["risk"] in RISKS),
        scores.triples,
        scores.pairs,
        _measured(record, "correlation-distance"),
        _kept(record),
    )


def _excess(record: AuditRecord, risk: str) -> float:
    found = (one["excess"]["value"] for one in record.risks if one["risk"] == risk)
    return max(found, default=np.nan)


def _measured(record: AuditRecord, name: str) -> float:
    values = [one["value"] for one in record.utility if one["measure"] == name]
    return values[0] if values and values[0] is not None else np.nan


def _kept(record: AuditRecord) -> float:
    """The share of a learner's gain over a useless file that is left."""
    for one in record.utility:
        value, useless, untouched = one["value"], one["useless"], one["untouched"]
        if one["measure"].startswith("machine-learning") and value is not None:
            if useless is None or untouched is None or useless == untouched:
                continue
            return (value - useless) / (untouched - useless)
    return np.nan

"""The league: what releases of one table give away, and what they are good for, side by side.

SDNist's excerpt of the American Community Survey: people of 2019 as original, of 2018 as control.
Voile's methods at several settings, peers that can be installed, and the two ends: an untouched
copy, and columns drawn each by itself.  Each is judged by ``voile.audit``, from the file alone.

Peers have a folder of virtual environments (``VOILE_BENCHMARK_LEAGUE``), one each, which the
benchmark makes; without the variable they are left out, and said.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import voile
from benchmarks import league_figure, league_side
from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from voile.audit.examine import Inquiry, audit
from voile.audit.record import AuditRecord
from voile.disclosure.value_set import named_values
from voile.schema.plan import parse_plan

__all__ = ["run"]

FOLDER = "VOILE_BENCHMARK_LEAGUE"
SEED = 2019
ROWS = 1500
"""Of each year, drawn at random."""
TARGETS = 400
DRAWS = 5
COLUMNS = ("AGEP", "SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "EDU", "PINCP_DECILE")
KNOWN, SENSITIVE = COLUMNS[:-1], COLUMNS[-1]
PLAN = f"""
[roles]
person = "row"
quasi_identifiers = {list(KNOWN)}
sensitive = ["{SENSITIVE}"]
"""
RISKS = ("singling out", "linkability", "inference")
PEERS: Mapping[str, tuple[str, ...]] = {
    "copulas Gaussian": ("copulas==0.14.1",),
    "OpenDP MST, epsilon 1": ("opendp[polars,mbi]==0.16.0",),
    "OpenDP MST, epsilon 10": ("opendp[polars,mbi]==0.16.0",),
}
"""What is installed for each; ``league_side`` makes its file."""
_SECONDS = 300


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
    correlation: float
    learner: float
    """What is left of what a learner finds in the original; NaN where that was not measured."""

    @property
    def risk(self) -> float:
        """The largest excess of the three risks, at least 0."""
        return max(0.0, *(one for one in self.excess.values() if not np.isnan(one)))


def run() -> Measurement:
    """Make and judge all files."""
    original, control = _people("2019"), _people("2018")
    files = {**_ends(original), **_ours(original)}
    left_out = []
    for name in PEERS:
        try:
            files[name] = "peer", _peer(name, original)
        except (OSError, subprocess.SubprocessError, KeyError) as error:
            left_out.append(f"{name} ({type(error).__name__})")
    with TemporaryDirectory() as folder:
        placed = [
            _placed(name, kind, rows, original, control, Path(folder))
            for name, (kind, rows) in files.items()
        ]
    league_figure.draw(placed)
    by_name = {one.name: one for one in placed}
    copy, drawn = by_name["untouched copy"], by_name["independent marginals"]
    return Measurement(
        question="What do releases give away of their own people, and what are they good for?",
        data=f"SDNist's excerpts of the American Community Survey, Massachusetts: {ROWS:,} people "
        f"of 2019 as original, as many of 2018 as control, {len(COLUMNS)} columns",
        seeds=f"{SEED} throughout",
        protocol=f"voile audit of each file, {TARGETS} targets, roles by a plan; risk is the "
        "largest excess over the control; the score is 1000 (1 - mean total variation) over all "
        f"triples of columns, mean of {DRAWS} draws of a value for each cell. Two years differ by "
        "more than chance, so that excesses of some hundredths stand for nothing",
        answer=f"Of {len(placed)} files {sum(one.found == 0 for one in placed)} show none of the "
        f"three risks. Left out: {', '.join(left_out) or 'none'}.",
        targets=[
            Target("untouched copy", "every risk found", f"{copy.found} figures", copy.found >= 3),
            Target("independent marginals", "no risk above 0.1", f"{drawn.risk:.3f}",
                   drawn.risk <= 0.1),
        ],
        tables=[
            Table(
                "Risk and utility",
                ("file", *RISKS, "found", "score", "correlation distance", "learner"),
                [_line(one) for one in sorted(placed, key=lambda one: one.risk)],
            )
        ],
    )  # fmt: skip


def _line(one: Placed) -> list[str]:
    risks = [_number(one.excess[name]) for name in RISKS]
    figures = [f"{one.score:.0f}", _number(one.correlation), _number(one.learner)]
    return [one.name, *risks, f"{one.found}", *figures]


def _number(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.3f}"


def _people(year: str) -> pl.DataFrame:
    table = pl.read_csv(shared_file(f"census/nist-acs-ma{year}.csv"), infer_schema_length=None)
    known = table.filter(pl.col("PINCP_DECILE") != "N").select(
        pl.col(COLUMNS).cast(pl.String).replace("N", "-1").cast(pl.Int64)
    )
    return known.sample(ROWS, seed=SEED, shuffle=True)


def _ends(original: pl.DataFrame) -> dict[str, tuple[str, pl.DataFrame]]:
    draws = np.random.default_rng(SEED)
    drawn = {name: draws.choice(original[name].to_numpy(), ROWS) for name in COLUMNS}
    return {
        "untouched copy": ("end", original),
        "independent marginals": ("end", pl.DataFrame(drawn)),
    }


def _ours(original: pl.DataFrame) -> dict[str, tuple[str, pl.DataFrame]]:
    """Voile's methods at several settings."""
    made: dict[str, Callable[[], Any]] = {
        **{f"k-anonymity, k = {k}": lambda k=k: voile.Generalization(k=k) for k in (3, 10, 30)},
        **{f"(k,e), k = {k}": lambda k=k: voile.KEAnonymity(k=k, e=k - 1) for k in (3, 6)},
        **{
            f"M-Shuffle, {m} columns": lambda m=m: voile.MShuffle(clusters=5, columns=m)
            for m in (1, 2)
        },
    }
    plan = parse_plan(
        {
            "roles": {
                "quasi_identifiers": list(KNOWN),
                "sensitive": [SENSITIVE],
                "person": "row",
            }
        }
    )
    found = {}
    for name, method in made.items():
        opened = voile.open_frame(original, plan)
        publication = method().prepare(opened, voile.Randomness.seeded(SEED))
        found[name] = "ours", pl.DataFrame(publication.release.to_native())
    return found


def _peer(name: str, original: pl.DataFrame) -> pl.DataFrame:
    """The file of a peer, made in an environment of its own."""
    place = Path(os.environ[FOLDER]).absolute() / name.partition(" ")[0].lower()
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", f"{place}"], check=True)
    install = [f"{python}", "-m", "pip", "install", "--quiet", *PEERS[name]]
    subprocess.run(install, check=True)
    with TemporaryDirectory() as folder:
        rows, made = Path(folder) / "rows.csv", Path(folder) / "made.csv"
        original.write_csv(rows)
        call = [f"{python}", league_side.__file__, name, f"{rows}", f"{made}", f"{SEED}"]
        subprocess.run(call, check=True, timeout=_SECONDS, capture_output=True)
        return pl.read_csv(made).select(COLUMNS)


def _placed(
    name: str,
    kind: str,
    rows: pl.DataFrame,
    original: pl.DataFrame,
    control: pl.DataFrame,
    folder: Path,
) -> Placed:
    for side, frame in {"rows": rows, "original": original, "control": control}.items():
        frame.write_csv(folder / f"{side}.csv")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    record = audit(
        folder / "rows.csv",
        folder / "original.csv",
        folder / "control.csv",
        folder / "plan.toml",
        inquiry=Inquiry(TARGETS, ("prosecutor",)),
        seed=SEED,
    )
    return Placed(
        name,
        kind,
        {risk: _excess(record, risk) for risk in RISKS},
        sum(one["found"] for one in record.risks),
        _score(original, rows),
        _measured(record, "correlation-distance"),
        _kept(record),
    )


def _excess(record: AuditRecord, risk: str) -> float:
    return max((one["excess"] for one in record.risks if one["risk"] == risk), default=np.nan)


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


def _score(original: pl.DataFrame, rows: pl.DataFrame) -> float:
    """The score of triples, of one value drawn for each cell."""
    draws = np.random.default_rng(SEED)
    values = {name: np.sort(original[name].unique().to_numpy()) for name in COLUMNS}
    own = {n: np.searchsorted(values[n], original[n].to_numpy()) for n in COLUMNS}
    scores = []
    for _ in range(DRAWS):
        shown = {name: _drawn(rows, name, values[name], draws) for name in COLUMNS}
        triples = [
            np.abs(_share(own, triple, values) - _share(shown, triple, values)).sum() / 2
            for triple in combinations(COLUMNS, 3)
        ]
        scores.append(1000 * (1 - float(np.mean(triples))))
    return float(np.mean(scores))


def _drawn(
    rows: pl.DataFrame, name: str, values: NDArray[np.int64], draws: np.random.Generator
) -> NDArray[np.int64]:
    """A value for each cell, as its place among those of the original."""
    if f"{name}.low" in rows.columns:
        low, high = (rows[f"{name}.{end}"].cast(pl.Float64).to_numpy() for end in ("low", "high"))
        first = np.searchsorted(values, low)
        behind = np.maximum(np.searchsorted(values, high, side="right"), first + 1)
        return np.minimum(draws.integers(first, behind), len(values) - 1)
    if rows[name].dtype == pl.String:
        cells = rows[name].to_list()
        sets = [np.array([int(one) for one in named_values(cell) or values]) for cell in cells]
        chosen = np.array([draws.choice(one) for one in sets])
    else:
        chosen = rows[name].cast(pl.Float64).round().to_numpy()
    return np.minimum(np.searchsorted(values, chosen), len(values) - 1)


def _share(
    codes: Mapping[str, NDArray[np.int64]], names: tuple[str, ...], values: Mapping[str, Any]
) -> NDArray[np.float64]:
    sizes = [len(values[name]) for name in names]
    key = np.ravel_multi_index([codes[name] for name in names], sizes)
    return np.bincount(key, minlength=int(np.prod(sizes))) / len(key)

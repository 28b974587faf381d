"""Membership in synthetic rows: the scores of ``voile audit`` beside published attacks.

The attacks are written here from their papers, since no package of them is installed, and are given
people who are in neither side as reference; the audit has the other people of both sides.

    closest record          Chen et al., "GAN-Leaks" (CCS 2020); less the distance to the reference
    rows within a distance  Hilprecht et al., "Monte Carlo and reconstruction membership inference
                            attacks against generative models" (PoPETs 2019)
    density ratio           van Breugel et al., DOMIAS (AISTATS 2023): Gaussian, and kernels
    discriminators          Hayes et al., LOGAN (PoPETs 2019), that tell rows of the file from the
                            reference: a network, and gradient-boosted trees
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from warnings import catch_warnings, simplefilter

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import gaussian_kde, multivariate_normal, norm
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

from benchmarks import league_side
from benchmarks.dp_synthesis import MAKE, plan_of
from benchmarks.league_files import FAILED, reason, run_in
from benchmarks.record import Measurement, Table, Target
from benchmarks.worst_off import cart, marginals, people
from voile.audit.beside import JointCodes
from voile.audit.copying import _scores
from voile.audit.drift import ComparedSides
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.release.reading import People as Persons

__all__ = ["run"]

ROWS = 1_500
SEEDS = range(int(os.environ.get("VOILE_BENCHMARK_SEEDS", "3")))
WITHIN, TIMES = 0.01, 2.0
_TEXTS = ("PUMA", "SEX", "MSP", "HISP", "RAC1P", "EDU", "INDP_CAT", "PINCP_DECILE")
_NUMBERS = ("AGEP",)
_PEERS = {f"CTGAN, {ROWS} people, 300 epochs": "ctgan", "OpenDP MST, epsilon 10": "opendp"}
"""Files by the environment that makes them; ``league_side`` does."""
_LEFT_OUT: dict[str, str] = {}
"""Peers that made no file, and how they failed."""
_PARTS = 8
"""Principal components that densities are of."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Sides:
    """Who is in the data, who is not, who is neither, and a file."""

    original: pl.DataFrame
    control: pl.DataFrame
    others: pl.DataFrame
    released: pl.DataFrame


def _copula(table: pl.DataFrame, draws: np.random.Generator) -> pl.DataFrame:
    """A Gaussian copula of ranks, whose margins are those of the table."""
    ranks = [(column.rank("ordinal", seed=1).to_numpy() - 0.5) / table.height for column in table]
    shape = np.corrcoef(norm.ppf(np.stack(ranks)))
    made = draws.multivariate_normal(np.zeros(len(shape)), shape, table.height)
    places = np.minimum((norm.cdf(made) * table.height).astype(np.int64), table.height - 1)
    return pl.DataFrame([column.sort().gather(places[:, at]) for at, column in enumerate(table)])


def _private(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Rows of dp-synthesis, epsilon 3."""
    with TemporaryDirectory() as folder:
        source, plan, out = (Path(folder) / name for name in ("rows.csv", "plan.toml", "out"))
        table.write_csv(source)
        plan.write_text(plan_of(table.cast(pl.String), {"epsilon": 3, "delta": 1e-6}))
        command = [sys.executable, "-c", MAKE, f"{plan}", f"{source}", f"{out}", f"{seed}"]
        subprocess.run(command, check=True, capture_output=True)
        made = pl.read_csv(out / "data.csv", infer_schema=False)
    return made.select(table.columns).cast(dict(table.schema))  # type: ignore[arg-type]


def _by_peers(table: pl.DataFrame, seed: int) -> dict[str, pl.DataFrame]:
    """Files of peers, where a folder of virtual environments is named, as the league does."""
    made: dict[str, pl.DataFrame] = {}
    for name, environment in _PEERS.items():
        with TemporaryDirectory() as folder:
            rows, out = Path(folder) / "rows.csv", Path(folder) / "made.csv"
            table.write_csv(rows)
            try:
                run_in(environment, league_side.__file__, name, f"{rows}", f"{out}", f"{seed}")
            except FAILED as error:
                _LEFT_OUT[name] = reason(error)
                continue
            texts = pl.read_csv(out, infer_schema=False).select(table.columns)
        made[name] = texts.cast(dict(table.schema))  # type: ignore[arg-type]
    return made


def _files(seed: int) -> Mapping[str, _Sides]:
    """Files of the same people, by how they were made."""
    given = people(seed)
    shown = [*_NUMBERS, *_TEXTS]
    every = pl.concat([given.original, given.control, given.others]).select(
        pl.col(_NUMBERS).cast(pl.Float64), pl.col(_TEXTS).cast(pl.String).fill_null("none")
    )
    own, other, rest = (
        every.select(shown)[at * ROWS : (at + 1 + (at == 2)) * ROWS] for at in range(3)
    )
    draws = given.draws
    made = _by_peers(own, seed) | {
        "CART, leaves of one": cart(own, draws, 1),
        "CART, leaves of five": cart(own, draws, 5),
        "Gaussian copula": _copula(own, draws),
        "dp-synthesis, epsilon 3": _private(own, seed),
        "independent marginals": marginals(own, draws),
        "CART of others": cart(rest[:ROWS], draws, 5),
    }
    reference = rest[ROWS:]
    return {name: _Sides(own, other, reference, file) for name, file in made.items()}


def _numbers(sides: _Sides) -> list[Floats]:
    """The original, the control, the reference and the file as numbers: texts by 0 and 1."""
    parts = (sides.original, sides.control, sides.others, sides.released)
    both = pl.concat(parts)
    ones = both.select(_TEXTS).to_dummies().to_numpy() / np.sqrt(2)
    known = both.select(_NUMBERS).to_numpy()
    every = np.column_stack((ones, (known - known.mean(axis=0)) / known.std(axis=0)))
    return np.split(every, np.cumsum([part.height for part in parts])[:-1])


def _attacks(sides: _Sides) -> dict[str, Floats]:
    """The score of each person of both sides, by the attack; high for who was in the data."""
    own, other, reference, file = _numbers(sides)
    asked = np.concatenate((own, other))
    near, far = cdist(asked, file), cdist(asked, reference).min(axis=1)
    closest = near.min(axis=1)
    within = (near <= np.median(closest)).sum(axis=1).astype(np.float64)
    parts = PCA(_PARTS, random_state=0).fit(np.concatenate((file, reference)))
    low, low_file, low_reference = map(parts.transform, (asked, file, reference))
    kernels = [gaussian_kde(each.T).logpdf(low.T) for each in (low_file, low_reference)]
    normals = [
        multivariate_normal(each.mean(axis=0), np.cov(each.T), allow_singular=True).logpdf(low)
        for each in (low_file, low_reference)
    ]
    rows = np.concatenate((file, reference))
    label = np.repeat([1, 0], [len(file), len(reference)])
    trees = HistGradientBoostingClassifier(random_state=0, max_iter=60).fit(rows, label)
    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)  # forty rounds are what it is given
        network = MLPClassifier((32,), max_iter=40, random_state=0).fit(rows, label)
    return {
        "closest record": -closest,
        "closest record less reference": far - closest,
        "rows within a distance": within,
        "density ratio, Gaussian": normals[0] - normals[1],
        "density ratio, kernels": kernels[0] - kernels[1],
        "discriminator, boosted trees": trees.predict_proba(asked)[:, 1],
        "discriminator, network": network.predict_proba(asked)[:, 1],
    }


def _ours(sides: _Sides) -> dict[str, Floats]:
    """The same by the scores of copying."""
    foreign = as_release(sides.released, recognise(sides.released, Persons(sides.original)), {})
    ours = ComparedSides(JointCodes.of(foreign, [sides.original, sides.control], None))
    draws = np.random.default_rng(0)
    _, scores = _scores(ours.beside, ours.drift.rows, {}, draws, alike=ours.are_alike)
    return {f"{name}": np.concatenate(both) for name, both in scores.items()}


def run() -> Measurement:
    """Attack each file of each seed by all."""
    areas: dict[tuple[str, str, str], list[float]] = {}
    seconds = {"ours": 0.0, "published": 0.0}
    for seed in SEEDS:
        for file, sides in _files(seed).items():
            label = np.repeat([1, 0], [sides.original.height, sides.control.height])
            for whose, attack in (("ours", _ours), ("published", _attacks)):
                began = time.process_time()
                found = attack(sides)
                seconds[whose] += time.process_time() - began
                for name, score in found.items():
                    area = float(roc_auc_score(label, score))
                    areas.setdefault((file, whose, name), []).append(area)
            print(f"{seed}: {file}", file=sys.stderr, flush=True)
    means = {key: float(np.mean(each)) for key, each in areas.items()}
    lines, short = [], 0.0
    for file in dict.fromkeys(key[0] for key in means):
        best = {
            whose: max((mean, key[2]) for key, mean in means.items() if key[:2] == (file, whose))
            for whose in seconds
        }
        short = max(short, best["published"][0] - best["ours"][0])
        lines.append([file, *(f"{it}" for whose in seconds for it in
                              (f"{best[whose][0]:.3f}", best[whose][1]))])  # fmt: skip
    times = seconds["ours"] / seconds["published"]
    return Measurement(
        question="Does an audit tell who was in the data as well as published attacks do?",
        data=f"American Community Survey of Massachusetts: {ROWS:,} people as original, {ROWS:,} "
        f"as control, {ROWS:,} others as reference; {len(_TEXTS) + len(_NUMBERS)} columns",
        seeds=f"{SEEDS.start} to {SEEDS.stop - 1}",
        protocol="area under the curve of who was in the data against the control, mean of the "
        "seeds; attacks written from their papers, with people of neither side as reference; "
        f"peers that made no file: {_LEFT_OUT or 'none'}",
        answer=f"The best published attack is ahead of the best score of the audit by {short:.3f} "
        f"at most, and the audit takes {times:.2f} of the processor time of all of them.",
        targets=[
            Target("area behind the best published attack", f"at most {WITHIN}", f"{short:.3f}",
                   short <= WITHIN),
            Target("processor time over that of the published attacks", f"at most {TIMES:.0f}",
                   f"{times:.2f}", times <= TIMES),
        ],
        tables=[
            Table("Best of each", ("file", "audit", "by", "published", "by"), lines),
            Table("All", ("file", "whose", "score", "AUC"),
                  [[*key, f"{mean:.3f}"] for key, mean in means.items()]),
        ],
    )  # fmt: skip

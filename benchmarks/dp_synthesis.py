"""Synthesis by itself: scores, time and memory on the census excerpt, at several budgets.

Each release is made by a process of its own; ``synthesis_peers`` has other packages beside it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.data import shared_file
from benchmarks.many_columns import CENSUS
from benchmarks.process import Usage
from benchmarks.record import Measurement, Table, Target

__all__ = ["MAKE", "census", "plan_of", "run", "score"]

SEEDS = range(5)
SETTINGS: Mapping[str, tuple[dict[str, object], int]] = {
    "rho 1/64 (epsilon .789 at delta 1e-6)": ({"rho": "1/64"}, 880),
    "epsilon 1, delta 1e-6": ({"epsilon": 1, "delta": 1e-6}, 0),
    "epsilon 3, delta 1e-6": ({"epsilon": 3, "delta": 1e-6}, 925),
    "epsilon 1, no delta": ({"epsilon": 1}, 840),
}
"""Budgets, and the scores that must be reached."""
SECONDS, MEBIBYTES = 5, 300

MAKE = """
import json, sys
import voile
plan, source, out, seed = sys.argv[1:]
from voile.publish.registry import read_plan
voile.make_release(source, read_plan(plan), out, seed=int(seed))
"""
_IMPORT = "import voile; from voile.publish.registry import read_plan; voile.make_release"


def run() -> Measurement:
    """Publish with each budget and seed, and ask the peers."""
    table = census()
    with TemporaryDirectory() as folder:
        source = Path(folder) / "census.csv"
        table.write_csv(source)
        found = {
            name: [score(table, _made(method, source, Path(folder), seed)) for seed in SEEDS]
            for name, (method, _) in SETTINGS.items()
        }
        usage = _usage(source, Path(folder))
    half = score(table, table.sample(fraction=0.5, seed=1))
    draws = np.random.default_rng(1)
    alone = table.select(
        pl.Series(n, draws.choice(table[n].to_numpy(), len(table))) for n in CENSUS
    )
    return Measurement(
        question="What do differentially private synthetic rows keep of a census?",
        data="SDNist's excerpt of the American Community Survey, Massachusetts 2019: 7,634 rows, "
        "eleven columns, ages in fives",
        seeds=f"{SEEDS.start} to {SEEDS.stop - 1}",
        protocol="the score is 1000 (1 - mean total variation) over all triples of columns. "
        "Domains are those of the table. Processor seconds and peak memory "
        "of a process that makes one release at rho 1/64, less those of one that imports what it "
        "needs",
        answer="; ".join(f"{name}: {mean(scores):.1f}" for name, scores in found.items())
        + f". Half of the rows, untouched, has {half:.1f}.",
        targets=[
            *(
                Target(f"score, {name}", f"at least {must}", f"{mean(found[name]):.1f}",
                       mean(found[name]) >= must)
                for name, (_, must) in SETTINGS.items() if must
            ),
            Target("processor seconds over the import", f"at most {SECONDS}",
                   f"{usage.processor:.1f}", usage.processor <= SECONDS),
            Target("MiB over the import", f"at most {MEBIBYTES}", f"{usage.memory:.0f}",
                   usage.memory <= MEBIBYTES),
        ],
        tables=[
            Table("Score", ("made by", "mean", "standard deviation"), [
                ["half of the rows, untouched", f"{half:.1f}", ""],
                *([f"dp-synthesis, {n}", f"{mean(s):.1f}", f"{stdev(s):.1f}"]
                  for n, s in found.items()),
                ["each column by itself, exactly", f"{score(table, alone):.1f}", ""],
            ]),
        ],
    )  # fmt: skip


def census(which: str = "ma2019") -> pl.DataFrame:
    """The eleven columns of an excerpt, as texts; ages in fives."""
    table = pl.read_csv(shared_file(f"census/nist-acs-{which}.csv"), infer_schema_length=None)
    return table.with_columns(pl.col("AGEP") // 5 * 5).select(pl.col(CENSUS).cast(pl.String))


def plan_of(table: pl.DataFrame, method: Mapping[str, object]) -> str:
    """A plan whose domains are the values of the table, as TOML."""
    lines = ["[roles]", f"quasi_identifiers = {json.dumps(table.columns)}"]
    for name in table.columns:
        values = table[name].unique().sort().to_list()
        lines += [
            f"[columns.{json.dumps(name)}]",
            'type = "text"',
            f"values = {json.dumps(values)}",
        ]
    lines += ["[method]", 'name = "dp-synthesis"', f"rows = {len(table)}"]
    return "\n".join([*lines, *(f"{key} = {json.dumps(it)}" for key, it in method.items())])


def _command(method: Mapping[str, object], source: Path, folder: Path, seed: int) -> list[str]:
    plan = folder / "plan.toml"
    plan.write_text(plan_of(pl.read_csv(source, infer_schema=False), method))
    out = folder / f"made-{len(list(folder.iterdir()))}"
    return [sys.executable, "-c", MAKE, f"{plan}", f"{source}", f"{out}", f"{seed}"]


def _made(method: Mapping[str, object], source: Path, folder: Path, seed: int) -> pl.DataFrame:
    command = _command(method, source, folder, seed)
    subprocess.run(command, check=True)
    return pl.read_csv(Path(command[-2]) / "data.csv", infer_schema=False)


def _usage(source: Path, folder: Path) -> Usage:
    """Of one release, over the import."""
    bare = Usage.of([sys.executable, "-c", _IMPORT])
    made = Usage.of(_command({"rho": "1/64"}, source, folder, 1))
    return Usage(made.wall - bare.wall, made.processor - bare.processor, made.memory - bare.memory)


def score(original: pl.DataFrame, made: pl.DataFrame) -> float:
    """1000 (1 - mean total variation) over all triples of columns."""
    codes = {}
    for name in original.columns:
        values = pl.concat([original[name], made[name]]).unique().sort()
        codes[name] = [
            frame[name].replace_strict(values, range(len(values)), return_dtype=pl.Int64).to_numpy()
            for frame in (original, made)
        ] + [np.array([len(values)])]
    variations = []
    for triple in combinations(original.columns, 3):
        sizes = [int(codes[name][2][0]) for name in triple]
        shares = [_shares([codes[name][side] for name in triple], sizes) for side in (0, 1)]
        variations.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return 1000 * (1 - float(np.mean(variations)))


def _shares(codes: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.float64]:
    cells = np.ravel_multi_index(tuple(codes), tuple(sizes))
    return np.bincount(cells, minlength=int(np.prod(sizes))) / len(cells)

"""``voile audit`` on files in which few people are given away, and on files that give nobody away.

People are those of the American Community Survey of Massachusetts, 2018 and 2019, taken together:
6,000 are the original, 6,000 the control, and 2,878 are others. Rows are drawn one by one, so that
families are torn apart alike on all sides. Files hold columns that were drawn by themselves, among
which something of the original stands, or come from synthesizers that learnt too much.

It takes an hour and a half, half an hour of it for networks. The network of a peer is installed
into the folder of virtual environments that ``VOILE_BENCHMARK_LEAGUE`` names, as the league does;
without it that line is left out, and said. Where ``VOILE_BENCHMARK_KEPT`` names a folder, what was
found in each file is appended to ``worst_off.jsonl`` there, and a further run of the same commit
goes on from it; files that a peer made are kept there for any commit. ``VOILE_BENCHMARK_MINUTES``
ends a run between two seeds: each has all kinds of files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from benchmarks import league_side
from benchmarks.data import shared_file
from benchmarks.league_files import ENVIRONMENTS, FAILED, python_of, reason, run_in
from benchmarks.record import Measurement, Table, Target, environment
from voile.audit.beside import JointCodes
from voile.audit.copying import Copying
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.audit.risk import Risk, Setting
from voile.audit.scenarios import known_sets
from voile.release.reading import People as Persons
from voile_base.randomness import Randomness

__all__ = ["NULLS", "PLANTS", "absent_peers", "copying_of", "people", "run"]

SEEDS = int(os.environ.get("VOILE_BENCHMARK_SEEDS", "20"))
MINUTES = float(os.environ.get("VOILE_BENCHMARK_MINUTES", "inf"))
"""Of the clock, after which no further seed is begun."""
FOUND, MISTAKEN = 0.9, 0.05

ROWS = 6_000
QUASI = ("PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "EDU", "INDP_CAT", "OWN_RENT")
NUMBERS = ("AGEP", "DENSITY", "PINCP", "POVPIP", "PWGTP", "WGTP")
_RICH = 0.01
_COPIED = 0.03
_SUBGROUP = 25
_NOISE = 0.1
_CTGAN = "CTGAN, 300 people, 300 epochs"

Draws = np.random.Generator


@dataclass(frozen=True, eq=False)
class People:
    """Who is in the data, who is not, and others still."""

    original: pl.DataFrame
    control: pl.DataFrame
    others: pl.DataFrame
    """People who are in neither."""
    draws: Draws


def people(seed: int) -> People:
    """Of one seed."""
    draws = np.random.default_rng(seed)
    years = [
        pl.read_csv(shared_file(f"census/nist-acs-ma{year}.csv"), infer_schema_length=None)
        for year in (2019, 2018)
    ]
    every = pl.concat([year.select(years[0].columns) for year in years])
    every = every[draws.permutation(every.height)]
    return People(every[:ROWS], every[ROWS : 2 * ROWS], every[2 * ROWS :], draws)


def marginals(table: pl.DataFrame, draws: Draws) -> pl.DataFrame:
    """Each column drawn by itself."""
    return pl.DataFrame(
        [column.gather(draws.integers(0, table.height, table.height)) for column in table]
    )


def planted(base: pl.DataFrame, rows: pl.DataFrame, draws: Draws) -> pl.DataFrame:
    """The rows in place of as many, at random places."""
    both = pl.concat([base[rows.height :], rows.select(base.columns)])
    return both[draws.permutation(both.height)]


def _income(table: pl.DataFrame) -> pl.Series:
    return table["PINCP"].cast(pl.Float64, strict=False).fill_null(-1e9)


def copied(given: People) -> pl.DataFrame:
    """3 % of the people, whole."""
    rows = given.original[given.draws.permutation(ROWS)[: round(_COPIED * ROWS)]]
    return planted(marginals(given.original, given.draws), rows, given.draws)


def richest(given: People) -> pl.DataFrame:
    """The top 1 % by income, whole."""
    order = np.argsort(-_income(given.original).to_numpy(), kind="stable")
    rows = given.original[order[: round(_RICH * ROWS)]]
    return planted(marginals(given.original, given.draws), rows, given.draws)


def subgroup(given: People) -> pl.DataFrame:
    """25 people who share a combination of rare values, whole."""
    own = given.original
    sizes = own.group_by("RAC1P", "HISP", "MSP").agg(pl.len(), pl.row_index().alias("rows"))
    near = sizes.filter(pl.col("len") >= _SUBGROUP).sort("len")
    rows = near["rows"][int(given.draws.integers(min(3, near.height)))]
    chosen = own[given.draws.permutation(rows.to_numpy())[:_SUBGROUP]]
    return planted(marginals(own, given.draws), chosen, given.draws)


def one_person(given: People) -> pl.DataFrame:
    """One person, whole."""
    row = given.original[[int(given.draws.integers(ROWS))]]
    return planted(marginals(given.original, given.draws), row, given.draws)


def quasi_identifiers(given: People) -> pl.DataFrame:
    """The quasi-identifiers of 1 % of the people, together; all else is drawn."""
    count = round(0.01 * ROWS)
    base = marginals(given.original, given.draws)
    chosen = given.original[given.draws.permutation(ROWS)[:count]]
    rows = base[:count].with_columns(chosen.select(QUASI).get_columns())
    return planted(base, rows, given.draws)


def noisy(given: People) -> pl.DataFrame:
    """3 % of the people, each number with noise of a tenth of its deviation."""
    rows = given.original[given.draws.permutation(ROWS)[: round(_COPIED * ROWS)]]
    base = marginals(given.original, given.draws)
    for name in NUMBERS:
        numbers = given.original[name].cast(pl.Float64, strict=False)
        moved = rows[name].cast(pl.Float64, strict=False) + pl.Series(
            given.draws.normal(0, _NOISE * float(np.nanstd(numbers.to_numpy())), rows.height)
        )
        moved = moved.round(1 if name == "DENSITY" else 0)
        if rows.schema[name] == pl.String:
            texts = moved.cast(pl.Int64).cast(pl.String)
            moved = pl.Series(name, np.where(texts.is_null(), rows[name], texts), pl.String)
        else:
            moved = moved.cast(rows.schema[name])
        rows = rows.with_columns(moved.alias(name))
    return planted(base, rows, given.draws)


def cart(table: pl.DataFrame, draws: Draws, leaf: int) -> pl.DataFrame:
    """A synthesizer of trees, column after column, as synthpop's: a draw of the leaf's values."""
    codes = {c.name: c.cast(pl.String).rank("dense").to_numpy().astype(np.int64) for c in table}
    for name in set(NUMBERS) & set(table.columns):
        order = table[name].cast(pl.Float64, strict=False).fill_null(-1e9)
        codes[name] = order.rank("dense").to_numpy().astype(np.int64)
    first, *rest = table.columns
    drawn = draws.integers(0, table.height, table.height)
    places: dict[str, NDArray[np.int64]] = {first: drawn}
    seen = [first]
    for name in rest:
        known = np.stack([codes[one] for one in seen], axis=1)
        made = np.stack([codes[one][places[one]] for one in seen], axis=1)
        tree = DecisionTreeClassifier(
            min_samples_leaf=leaf, random_state=int(draws.integers(1 << 30))
        )
        tree.fit(known, np.minimum(codes[name], 60) if name not in NUMBERS else _bands(codes[name]))
        own, new = tree.apply(known), tree.apply(made)
        by_leaf = np.argsort(own, kind="stable")
        starts, ends = (np.searchsorted(own[by_leaf], new, side) for side in ("left", "right"))
        places[name] = by_leaf[starts + (draws.random(len(new)) * (ends - starts)).astype(np.int64)]
        seen.append(name)
    return pl.DataFrame([table[name].gather(places[name]) for name in table.columns])


def _bands(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    edges = np.unique(np.quantile(codes, np.linspace(0, 1, 33)[1:-1]))
    return np.searchsorted(edges, codes)


def overfitted_cart(given: People) -> pl.DataFrame:
    """Leaves of one person."""
    return cart(given.original, given.draws, 1)


def overfitted_kernel(given: People) -> pl.DataFrame:
    """A generator that has collapsed on those it learnt from: a cell in four is drawn anew."""
    chosen = given.original[given.draws.integers(0, ROWS, ROWS)]
    drawn = marginals(given.original, given.draws)
    columns = []
    for name in chosen.columns:
        anew = pl.Series(given.draws.random(ROWS) < 0.25)
        columns.append(drawn[name].zip_with(anew, chosen[name]))
    return pl.DataFrame(columns)


def bootstrap(given: People) -> pl.DataFrame:
    """People who are not in the data, drawn with replacement."""
    return given.others[given.draws.integers(0, given.others.height, ROWS)]


def independent(given: People) -> pl.DataFrame:
    """Columns of the original, each drawn by itself."""
    return marginals(given.original, given.draws)


def control_trained(given: People) -> pl.DataFrame:
    """Trees that learnt from people who are not in the data."""
    return cart(given.others, given.draws, 5)


def overfitted_ctgan(given: People) -> pl.DataFrame:
    """A network that saw few people often; by a peer in an environment of its own."""
    seed = f"{given.draws.integers(1 << 30)}"
    with TemporaryDirectory() as folder:
        rows, made = Path(folder) / "rows.csv", Path(folder) / "made.csv"
        given.original.write_csv(rows)
        kept = _kept_file(rows.read_bytes(), _CTGAN, seed, *ENVIRONMENTS["ctgan"])
        if kept is None or not kept.exists():
            run_in("ctgan", league_side.__file__, _CTGAN, f"{rows}", f"{made}", seed)
            if kept is None:
                kept = made
            else:
                shutil.move(made, kept.with_suffix(".part"))
                kept.with_suffix(".part").replace(kept)
        texts = pl.read_csv(kept, infer_schema=False).select(given.original.columns)
        return texts.cast(dict(given.original.schema))  # type: ignore[arg-type]


def _kept_file(rows: bytes, *how: str) -> Path | None:
    """Where what a peer makes of the rows is kept, by their bytes and how it is made."""
    folder = os.environ.get("VOILE_BENCHMARK_KEPT")
    digest = hashlib.sha256("\n".join(how).encode() + b"\n" + rows).hexdigest()
    return Path(folder) / f"ctgan-{digest[:16]}.csv" if folder else None


Maker = Callable[[People], pl.DataFrame]
PLANTS: Mapping[str, Maker] = {
    "3 % copied": copied,
    "top 1 % by income copied": richest,
    "subgroup of 25": subgroup,
    "one person": one_person,
    "1 % of quasi-identifiers": quasi_identifiers,
    "near copies": noisy,
    "overfitted CART": overfitted_cart,
    "overfitted kernel": overfitted_kernel,
}
NULLS: Mapping[str, Maker] = {
    "bootstrap of others": bootstrap,
    "independent marginals": independent,
    "CART of others": control_trained,
}


BY_PEERS: Mapping[str, Maker] = {"overfitted CTGAN": overfitted_ctgan}
"""Plants that need a folder of virtual environments, as the league does."""


def copying_of(given: People, released: pl.DataFrame, seed: int) -> Risk | str:
    """What an audit finds of people who stand in a file, or why it does not look."""
    foreign = as_release(released, recognise(released, Persons(given.original)), {})
    beside = JointCodes.of(foreign, [given.original, given.control], None)
    known = known_sets([column.name for column in beside.columns], QUASI)
    setting = Setting(beside, (), None, 1_000, Randomness.seeded(seed), known=known)
    return Copying().refusal(setting) or next(Copying().risks(setting))


@dataclass(frozen=True)
class _Verdict:
    """What an audit found in one file."""

    persons: int
    rates: tuple[float, ...]
    """Of people of the original who are told at few false positives; empty where none looked."""
    seconds: float


def _verdict(maker: Maker, seed: int) -> _Verdict:
    began, given = time.process_time(), people(seed)
    risk = copying_of(given, maker(given), seed)
    took = time.process_time() - began
    if isinstance(risk, str):
        return _Verdict(0, (), took)
    return _Verdict(risk.persons or 0, tuple(rate.share.value for rate in risk.rates), took)


class _Scores:
    """What was found in files, which a run that was cut short leaves to the next."""

    def __init__(self) -> None:
        folder = os.environ.get("VOILE_BENCHMARK_KEPT")
        self._log = Path(folder) / "worst_off.jsonl" if folder else None
        self._commit = environment()["commit"]

    def verdict(self, name: str, maker: Maker, seed: int) -> _Verdict:
        """Of a file of that kind and seed; judged unless that was done at this commit."""
        key = {"commit": self._commit, "file": name, "seed": seed}
        if self._log is None:
            return _verdict(maker, seed)
        lines = self._log.read_text("utf-8").splitlines() if self._log.exists() else []
        for score in map(json.loads, lines):
            if key.items() <= score.items() and not self._commit.endswith("-dirty"):
                return _Verdict(score["persons"], tuple(score["rates"]), score["seconds"])
        verdict = _verdict(maker, seed)
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({**key, **asdict(verdict)}) + "\n")
        return verdict


def _line(name: str, verdicts: Sequence[_Verdict]) -> tuple[Target, list[str]]:
    """What audits found in files of one kind, and what they must."""
    count, tried = sum(one.persons > 0 for one in verdicts), len(verdicts)
    met = count <= MISTAKEN * tried if name in NULLS else count >= FOUND * tried
    limit = f"at most {MISTAKEN:.0%}" if name in NULLS else f"at least {FOUND:.0%}"
    rates = [one.rates for one in verdicts if one.rates]
    mean = np.mean(rates, axis=0) if rates else [np.nan, np.nan]
    return Target(f"{name}, found", limit, f"{count} of {tried}", met), [
        name, f"{count} of {tried}", f"{np.median([one.persons for one in verdicts]):,.0f}",
        f"{mean[0]:.2%}", f"{mean[1]:.2%}", f"{np.mean([one.seconds for one in verdicts]):.1f} s",
    ]  # fmt: skip


def absent_peers() -> dict[str, str]:
    """Plants of peers that cannot be had, and why, said before the hour that others take."""
    try:
        python_of("ctgan")
    except FAILED as error:
        left_out = dict.fromkeys(BY_PEERS, reason(error))
        print(f"left out: {left_out}", file=sys.stderr, flush=True)
        return left_out
    return {}


def run() -> Measurement:
    """Judge a file of each kind, seed after seed."""
    verdicts: dict[str, list[_Verdict]] = {name: [] for name in (*PLANTS, *BY_PEERS, *NULLS)}
    left_out = absent_peers()
    began = time.monotonic()
    seeds, scores = 0, _Scores()
    makers: dict[str, Maker] = {**PLANTS, **NULLS, **BY_PEERS}
    for seed in range(SEEDS):
        if time.monotonic() - began > 60 * MINUTES:
            break
        for name, maker in makers.items():
            if name in left_out:
                continue
            try:
                verdicts[name].append(scores.verdict(name, maker, seed))
            except FAILED as error:
                if name not in BY_PEERS:
                    raise
                left_out[name] = reason(error)
        told = {name: each[-1].persons for name, each in verdicts.items() if each}
        print(f"seed {seed}: {told}", file=sys.stderr, flush=True)
        seeds = seed + 1
    found = [_line(name, each) for name, each in verdicts.items() if each]
    targets, lines = [one for one, _ in found], [line for _, line in found]
    return Measurement(
        question="Are few people found who are given away?",
        data=f"American Community Survey of Massachusetts, 2018 and 2019: {ROWS:,} people as "
        f"original, {ROWS:,} as control, the others in neither",
        seeds=f"0 to {seeds - 1}",
        protocol="each file is held against original and control by the risk of copying, as an "
        "audit does, with nine quasi-identifiers; found means that persons are beyond doubt; "
        "seconds are of processor, with making the file unless a peer made it; the network saw "
        f"{_CTGAN.partition(', ')[2]}",
        answer=f"{sum(one.reached for one in targets)} of {len(targets)} lines are met. Left out: "
        f"{', '.join(f'{name} ({why})' for name, why in left_out.items()) or 'none'}.",
        targets=targets,
        tables=[Table("Plants, then files that give nobody away",
                      ("file", "found", "persons beyond doubt, median", "told at 1 %",
                       "told at 0.1 %", "processor"), lines)],
    )  # fmt: skip

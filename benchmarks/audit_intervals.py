"""Whether the intervals that ``voile audit`` states hold what they are about as often as they say.

The released file stays, and people are drawn anew: an original, and as many as control.  Where the
file is of others, it gives away nobody, and every excess over the control is 0.  Where a tenth of
the original is copied into columns drawn by themselves, the file is made anew, too.  How the file's
columns are read was found out once, from people who are not drawn again.  What a rate is about is
its mean over all repetitions, for each adversary and each goal by itself: numbers are told within a
twentieth of the file's range, so that the survey's incomes are cut off at 5 and 95 %.
Intervals that end at 0 or 1 cannot miss on that side, and hold in 97.5 % or more: those that do so
in most repetitions are counted apart.
Which question copying asks hangs on the people, so that only what it finds beyond the control is
held against a truth, and only where that is 0.

Intervals of linkability hold in more than 99 %, for three reasons that were measured in 120
repetitions, and none is variance that counts twice.  Of 200 targets 1.3 to 6 are linked, and exact
intervals of so few hold in 97 to 99 % by themselves.  Two adversaries are held at 97.5 % each, so
that both hold together, which makes 98 to 99.6 %.  And links of people who are drawn together vary
less than independent ones, .56 to .95 times as much on eleven of twelve counts, of which chances of
ties are told (the design effect), and the rest is not.

Another interval does not mend it, by counts of 200 repetitions of rows of others.  Held were, of
main, control and excess on the three tables: by Clopper and Pearson for both adversaries together
99.5 to 100 %, by mid-p 99 to 100, by Jeffreys' 98 to 100; for each adversary by itself, as though
nobody had chosen, by mid-p 97.5 to 100 and by Jeffreys' 97.5 to 100, the control of the American
Community Survey 100 by each.  Mid-p would be a twelfth narrower, and is not taken, since rates of
group disclosure and of guessing, which have the same interval, hold in 91 to 96 % as it is.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from benchmarks.worst_off import marginals, planted
from voile.attack.protocol import Estimate
from voile.audit.beside import JointCodes
from voile.audit.counting import RiskQuery, counted
from voile.audit.foreign import Foreign, as_release
from voile.audit.recognition import recognise
from voile.audit.record import COPYING
from voile.audit.risk import RISKS, Risk
from voile.release.reading import People as Persons
from voile_base.randomness import Randomness

__all__ = ["measured_intervals", "run"]

REPETITIONS = int(os.environ.get("VOILE_BENCHMARK_SEEDS", "200"))
MINUTES = float(os.environ.get("VOILE_BENCHMARK_MINUTES", "inf"))
"""Of the clock, after which no repetition is begun; two thirds are for files of others."""
LEAST, MOST = 0.93, 0.99
ROWS = 1_000
TARGETS = 200
_COPIED = 0.1
_READER = 1_000_003
_FEWEST = 30
"""Repetitions in which an adversary is named, from which on its mean is known."""
OTHERS, PLANTED = "rows of others", "a tenth copied"


@dataclass(frozen=True, eq=False)
class _Pool:
    """People who are drawn from, which columns are known to others, and the wanted one."""

    people: pl.DataFrame
    known: tuple[str, ...]
    wanted: str


def _town() -> _Pool:
    """Made up: wages follow from age and education, rents from wages."""
    count, draws = 40_000, np.random.default_rng(2026)
    age, learnt = draws.integers(18, 90, count), draws.integers(0, 4, count)
    wage = (20_000 + 9_000 * learnt + 200 * age + draws.normal(0, 5_000, count)).round()
    return _Pool(
        pl.DataFrame(
            {
                "age": age,
                "sex": draws.choice(["f", "m"], count),
                "town": draws.choice([f"t{number}" for number in range(12)], count),
                "education": np.array(["none", "school", "college", "doctor"])[learnt],
                "wage": wage,
                "rent": (wage / 50 + draws.normal(0, 100, count)).round(),
            }
        ),
        ("age", "sex", "town"),
        "wage",
    )


def _survey() -> _Pool:
    """With incomes cut off: what counts as told hangs on the range, which all files then share."""
    names = ["PUMA", "AGEP", "SEX", "MSP", "RAC1P", "EDU", "PINCP"]
    every = [
        pl.read_csv(shared_file(f"census/nist-acs-ma{year}.csv"), null_values=["N"]).select(names)
        for year in (2019, 2018)
    ]
    people = pl.concat(every)
    ends = [people["PINCP"].quantile(share, "nearest") for share in (0.05, 0.95)]
    coded = people.with_columns(pl.col("PINCP").clip(*ends))
    return _Pool(coded, ("PUMA", "AGEP", "SEX", "RAC1P"), "PINCP")


def _adult() -> _Pool:
    names = ["age", "workclass", "education", "marital-status", "race", "sex", "hours-per-week"]
    people = pl.read_csv(shared_file("census/adult.csv"), infer_schema_length=None).select(names)
    return _Pool(people, ("age", "race", "sex"), "hours-per-week")


TABLES = {"made-up town": _town, "ACS Massachusetts": _survey, "UCI Adult": _adult}


@dataclass(frozen=True)
class _Stated:
    """One interval that was stated, and what it is about."""

    what: str
    estimate: Estimate
    truth: float | None
    """None: the mean over repetitions."""
    about: str
    """Who or what was measured; means are over the same."""


def _stated(risk: Risk, kind: str) -> Iterator[_Stated]:
    """The intervals of a risk whose truth can be told."""
    best = " ".join(note for note in risk.notes if note.startswith("the best of"))
    about = f"{risk.of}: {risk.goal}: {best}"
    if kind == OTHERS:
        yield _Stated(f"{risk.name}, excess", risk.excess, 0.0, about)
        for rate in risk.rates:
            name = f"{risk.name}, beyond at {rate.false_positives:.1%}"
            yield _Stated(name, rate.beyond, 0.0, about)
    if risk.name != COPYING:
        yield _Stated(f"{risk.name}, main", risk.main, None, about)
        if risk.control is not None:
            yield _Stated(f"{risk.name}, control", risk.control, None, about)
        if not risk.guess.is_exact:
            yield _Stated(f"{risk.name}, guess", risk.guess, None, about)


def _read(pool: _Pool, kind: str, released: pl.DataFrame) -> Foreign:
    """How the columns of a file are read, by people who are drawn for this alone."""
    draws = np.random.default_rng(_READER)
    people = pool.people[draws.permutation(pool.people.height)[:ROWS]]
    if kind == PLANTED:
        released = planted(marginals(people, draws), people[: int(_COPIED * ROWS)], draws)
    return as_release(released, recognise(released, Persons(people)), {})


def _of_one(
    pool: _Pool, kind: str, read: Foreign, seed: int, only: Collection[str]
) -> Iterator[_Stated]:
    """What an audit states of people who are drawn with a seed, by some risks."""
    draws = np.random.default_rng(seed)
    chosen = pool.people[draws.permutation(pool.people.height)[: 2 * ROWS]]
    original, control = chosen[:ROWS], chosen[ROWS:]
    if kind == PLANTED:
        released = planted(marginals(original, draws), original[: int(_COPIED * ROWS)], draws)
        how = {one.name: one.how for one in read.recognised}
        read = as_release(released, recognise(released, Persons(original), how), {})
    beside = JointCodes.of(read, [original, control], None)
    known = {"whoever knows the quasi-identifiers": pool.known}
    risks = {one for one in only if kind == OTHERS or one != COPYING}
    asked = RiskQuery((pool.wanted,), TARGETS, known=known)
    for risk in counted(asked.setting(beside, Randomness.seeded(seed), lambda stage: None), risks):
        if isinstance(risk, Risk):
            yield from _stated(risk, kind)


class _Held(NamedTuple):
    """Of intervals whose truth is known."""

    held: int
    tried: int
    at_border: int
    """How many end at 0 or 1."""

    @property
    def share(self) -> float:
        """How many hold, of 1."""
        return self.held / self.tried

    @property
    def is_one_sided(self) -> bool:
        """Whether most cannot miss on one side."""
        return 2 * self.at_border > self.tried


def _held(stated: list[_Stated]) -> _Held:
    """How many intervals hold their truth, of how many whose truth is known."""
    groups: dict[str, list[_Stated]] = defaultdict(list)
    for one in stated:
        groups[one.about if one.truth is None else ""].append(one)
    held = tried = at_border = 0
    for group in groups.values():
        if group[0].truth is None and len(group) < _FEWEST:
            continue
        mean = float(np.mean([one.estimate.value for one in group]))
        for one in group:
            truth = mean if one.truth is None else one.truth
            held += int(one.estimate.low - 1e-12 <= truth <= one.estimate.high + 1e-12)
            tried += 1
            at_border += int(one.estimate.low == 0 or one.estimate.high == 1)
    return _Held(held, tried, at_border)


def _measured(only: Collection[str]) -> tuple[Mapping[tuple[str, str, str], _Held], int]:
    """How many intervals hold, by the table, the file and what the interval is about.

    Besides, the fewest repetitions that the time allowed.
    """
    found: dict[tuple[str, str, str], list[_Stated]] = defaultdict(list)
    pools, files = {}, dict[tuple[str, str], Foreign]()
    for table, made in TABLES.items():
        pool, draws = made(), np.random.default_rng(1)
        rows = pool.people[draws.permutation(pool.people.height)]
        pools[table] = rows[:ROWS], _Pool(rows[ROWS:], pool.known, pool.wanted)
    began, fewest = time.monotonic(), REPETITIONS
    for kind in (OTHERS, PLANTED):
        for seed in range(REPETITIONS):
            if time.monotonic() - began > 60 * MINUTES * (1 if kind == PLANTED else 2 / 3):
                fewest = min(fewest, seed)
                break
            for table, (released, pool) in pools.items():
                if (table, kind) not in files:
                    files[table, kind] = _read(pool, kind, released)
                read = files[table, kind]
                for one in _of_one(pool, kind, read, seed, only):
                    found[table, kind, one.what].append(one)
            if seed % 20 == 19:
                print(f"{kind}: {seed + 1}", file=sys.stderr, flush=True)
    return {key: _held(stated) for key, stated in found.items()}, fewest


def run() -> Measurement:
    """Draw people again and again, and count the intervals that hold."""
    return measured_intervals(RISKS.names)


def measured_intervals(only: Collection[str]) -> Measurement:
    """The same of some risks alone."""
    measured, repetitions = _measured(only)
    counts = {key: each for key, each in measured.items() if each.tried >= _FEWEST}
    shares = {key: each.share for key, each in counts.items()}
    low = min(shares, key=lambda key: shares[key])
    within = sum(LEAST <= share <= MOST for share in shares.values())
    wide = [each for each in counts.values() if each.share > MOST]
    one_sided = sum(each.is_one_sided for each in wide)
    lines = [
        [*key, f"{each.held} of {each.tried}", f"{each.share:.1%}", f"{each.at_border}"]
        for key, each in counts.items()
    ]
    return Measurement(
        question="Do the intervals of an audit hold as often as they say?",
        data=f"a made-up town, the American Community Survey of Massachusetts, UCI Adult: {ROWS:,} "
        f"people as original, {ROWS:,} as control, drawn anew; {TARGETS} targets",
        seeds=f"0 to {REPETITIONS - 1}; the time allowed 0 to {repetitions - 1} of all files",
        protocol="files of others stay and give away nobody: every excess is 0; and a tenth of the "
        "original copied among columns drawn by themselves; how columns are read was found out "
        "once, from others; a rate is about its mean over all repetitions, of the same adversary",
        answer=f"Stated 95 % intervals hold in {shares[low]:.1%} at least ({', '.join(low)}); "
        f"{within} of {len(shares)} hold in {LEAST:.0%} to {MOST:.0%}, the others in more."
        if shares[low] >= LEAST
        else f"Not all hold: {', '.join(low)} in {shares[low]:.1%}.",
        targets=[
            Target("the least coverage", f"at least {LEAST:.0%}", f"{shares[low]:.1%}",
                   shares[low] >= LEAST),
            Target("intervals that are not wider than they need be",
                   f"all at most {MOST:.0%}, but for those at 0 or 1",
                   f"{len(shares) - len(wide)} of {len(shares)}; of the others {one_sided} end at "
                   "0 or 1 in most repetitions",
                   len(wide) == one_sided),
        ],
        tables=[
            Table("Coverage", ("table", "file", "interval", "held", "share", "end at 0 or 1"),
                  lines),
        ],
    )  # fmt: skip

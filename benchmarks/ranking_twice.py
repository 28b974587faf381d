"""What rankings of one table give away of newcomers, afresh and as a series, and its price."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import voile
from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from voile.schema.plan import Plan, parse_plan

__all__ = ["run"]

MARKS = ("math score", "reading score", "writing score")
KNOWN, SENSITIVE = ("gender", "parental level of education"), "race/ethnicity"
ROW, SERIAL = "row", "serial"
K, L, TOP, PRECISION = 5, 2, 60, 0.6
SEED, MONTHS, START, JOIN, LEAVE = 17, 6, 700, 50, 0.03

Seen = Counter[tuple[bool, bool]]
"""Newcomers, by whether one value is left and whether the best guess is right."""


@dataclass(frozen=True)
class Months:
    """The same months, published in one way."""

    recall: Sequence[float]
    """Share of the best that is shown, by month."""
    best: Sequence[float]
    """Share of the best among the rows shown."""
    people: int
    """Least of all rows that stood in the same groups of all releases."""
    values: int
    """Least different values of such rows."""
    shown: Mapping[int, int]
    """Of rows that were among the best when they came, how many were first shown so many months
    later."""
    came: int


def run() -> Measurement:
    """Each of the best is left out of the first of two releases in turn; and six months."""
    students = _students()
    newcomers = np.argsort(-_score(students), kind="stable")[:TOP].tolist()
    afresh: Seen = Counter(_compared(students, row, series=False) for row in newcomers)
    series: Seen = Counter(_compared(students, row, series=True) for row in newcomers)
    alone, together = _months(series=False), _months(series=True)
    return Measurement(
        question="What do rankings of one table tell of somebody who is in the second alone?",
        data=f"the marks of {students.height:,} students; {SENSITIVE} is sensitive",
        seeds=f"{SEED} draws who begins, joins and leaves; releases draw with secret keys",
        protocol=f"ranking, k = {K}, l = {L}, top {TOP}, precision {PRECISION}. Two releases: each "
        f"of the {TOP} best in turn is a newcomer: the first release is made without, the second "
        "with that row. The adversary of voile attack --attack comparison knows gender, education "
        "and marks, and who is new. Read off: one value is left, and it is true. Months: "
        f"{START:,} students drawn to begin with, {LEAVE:.0%} drawn to leave and {JOIN} to join "
        "before each further release; a kept serial number lets every row be followed, which is "
        "the most that anybody could link by",
        answer=f"Published twice, the value of {_read_off(afresh)} of {TOP} newcomers is read off; "
        f"in a series of {_read_off(series)}. Over {MONTHS} months rows that nobody tells "
        f"apart are at least {together.people} with {together.values} values in the series, and "
        f"{alone.people} with {alone.values} afresh. The price: the share of the best that is "
        f"shown falls from {together.recall[0]:.0%} to {together.recall[-1]:.0%}, where afresh "
        f"it is {alone.recall[-1]:.0%}.",
        targets=[
            Target(
                f"values of {TOP} newcomers that are read off in a series",
                "0",
                f"{_read_off(series)} (without a series {_read_off(afresh)})",
                _read_off(series) == 0,
            ),
            Target(
                f"rows in the same groups of {MONTHS} months, and their values, least of all",
                f"k = {K} and l = {L}",
                f"{together.people} and {together.values} (without a series {alone.people} and "
                f"{alone.values})",
                together.people >= K and together.values >= L,
            ),
        ],
        tables=[
            Table(
                "Newcomers, by what is left of their values",
                ("one value is left", "the best guess is right", "afresh", "in a series"),
                [
                    [
                        "yes" if certain else "no",
                        "yes" if right else "no",
                        str(afresh[certain, right]),
                        str(series[certain, right]),
                    ]
                    for certain, right in sorted({*afresh, *series}, reverse=True)
                ],
            ),
            Table(
                "Share of the best that is shown, and of the best among the rows shown",
                ("month", "afresh", "series", "best among rows, afresh", "series"),
                [
                    [str(month), *(f"{each[month - 1]:.0%}" for each in columns)]
                    for columns in [(alone.recall, together.recall, alone.best, together.best)]
                    for month in range(1, MONTHS + 1)
                ],
            ),
            Table(
                "Newcomers among the best on the day they came, by when they were first shown",
                ("", "the same month", "one month later", "later", "not yet"),
                [
                    [
                        name,
                        str(each.shown.get(0, 0)),
                        str(each.shown.get(1, 0)),
                        str(sum(rows for months, rows in each.shown.items() if months > 1)),
                        str(each.came - sum(each.shown.values())),
                    ]
                    for name, each in (("afresh", alone), ("series", together))
                ],
            ),
        ],
    )


def _read_off(found: Seen) -> int:
    return found[True, True]


def _compared(students: pl.DataFrame, row: int, *, series: bool) -> tuple[bool, bool]:
    """Whether one value is left of the newcomer's, and whether the best guess is right."""
    before = students.filter(pl.col(ROW) != row)
    with tempfile.TemporaryDirectory() as folder:
        old, new = (
            _published(table, Path(folder), number, series=series)
            for number, table in enumerate((before, students), 1)
        )
    attack = voile.attack_named(
        "comparison", earlier=(old,), before=before, columns=(*KNOWN, *MARKS), targets=None
    )
    outcome = attack.run(new, students.filter(pl.col(ROW) == row), _plan())
    # Where one value is left, the adversary gives it a probability of 1 or, if wrong, of 0.
    certain = outcome.probability.value > 1 - 1e-9 or outcome.probability.value < 1e-9
    return certain, outcome.success.value > 1 - 1e-9


def _months(*, series: bool) -> Months:
    """Publish the months, and follow every row by its serial."""
    recall, best, came, first = [], [], {}, {}
    where: dict[int, list[int]] = defaultdict(lambda: [0] * MONTHS)
    with tempfile.TemporaryDirectory() as folder:
        for month, (table, new) in enumerate(_tables()):
            release = _published(table, Path(folder), month + 1, series=series, follow=True)
            shown: pl.DataFrame = release.to_native()
            score = _score(table)
            top = set(table[SERIAL].filter(pl.Series(score >= np.sort(score)[-TOP])))
            rows = shown[SERIAL].to_list()
            came |= dict.fromkeys(top & new if month else (), month)
            for serial, group in zip(rows, shown["group"], strict=True):
                where[serial][month] = group
                first.setdefault(serial, month)
            recall.append(len(top & set(rows)) / len(top))
            best.append(len(top & set(rows)) / len(rows))
    value = dict(_students().select(SERIAL, SENSITIVE).iter_rows())
    alike = defaultdict(list)
    for serial, groups in where.items():
        alike[tuple(groups)].append(value[serial])
    return Months(
        recall,
        best,
        min(map(len, alike.values())),
        min(len(set(values)) for values in alike.values()),
        Counter(first[serial] - month for serial, month in came.items() if serial in first),
        len(came),
    )


def _tables() -> Iterator[tuple[pl.DataFrame, set[int]]]:
    """The table of each month, and the serials of those who are new."""
    draw = np.random.default_rng(SEED)
    students = _students().sample(fraction=1, shuffle=True, seed=SEED)
    table, pool = students[:START], students[START:]
    new: set[int] = set()
    for _ in range(MONTHS):
        yield table, new
        stay = pl.Series(draw.random(table.height) >= LEAVE)
        new = set(pool[SERIAL][:JOIN])
        table, pool = pl.concat([table.filter(stay), pool[:JOIN]]), pool[JOIN:]


def _students() -> pl.DataFrame:
    rows = pl.read_csv(shared_file("rankings/students-performance.csv")).with_row_index(ROW)
    return rows.with_columns(pl.col(ROW).alias(SERIAL))


def _score(students: pl.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
    return students.select(pl.sum_horizontal(MARKS)).to_series().to_numpy()


def _published(
    table: pl.DataFrame, folder: Path, number: int, *, series: bool, follow: bool = False
) -> voile.Release:
    plan = _plan(follow=follow, **({"series": "students", "record_key": ROW} if series else {}))
    if not series:
        return voile.make_release(table, plan).release
    return voile.make_release(table, plan, folder / f"{number}", ledger=folder / "ledger").release


def _plan(*, follow: bool = False, **method: str) -> Plan:
    roles: dict[str, Any] = {
        "identifiers": [ROW],
        "ranking": MARKS,
        "quasi_identifiers": KNOWN,
        "sensitive": [SENSITIVE],
    }
    if follow:
        roles |= {"keep": [SERIAL], "keep_unique": [SERIAL]}
    asked = {"name": "ranking", "k": K, "l": L, "top": TOP, "precision": PRECISION, **method}
    return parse_plan({"roles": roles, "method": asked})

"""Series of outputs of one made-up population: harmless ones, and ones that a later one betrays.

In the population every combination of all columns has no persons or at least three.  So whatever
follows from tables of it is the number of at least three persons, or of none: any series of outputs
is harmless.  A planted series adds one or two persons where its tables differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from voile.schema.tabulation import Condition
from voile.tabular.remembered import RememberedDimension, RememberedMeasure, RememberedTable

REGIONS = [f"r{one}" for one in range(6)]
COUNTY = {region: f"c{one // 2}" for one, region in enumerate(REGIONS)}
BANDS = {"band": {f"{ten}-{ten + 9}": range(ten, ten + 10) for ten in range(20, 70, 10)}}
AGES = range(20, 70)
Rows = Mapping[str, np.ndarray]


def population(seed: int) -> Rows:
    """Three persons or more, or none, of each region, sex, age, month and ward."""
    draw = np.random.default_rng(seed)
    size = 1_500
    base = {
        "region": draw.choice(REGIONS, size),
        "sex": draw.choice(["F", "M"], size),
        "age": draw.choice(np.array(AGES), size).astype(str),
        "month": draw.integers(1, 13, size).astype(str),
    }
    times = draw.integers(3, 6, size)
    return {name: np.repeat(values, times) for name, values in base.items()}


def with_person(rows: Rows, times: int, **values: str) -> Rows:
    """One or two more, who are alike."""
    return {name: np.append(column, [values[name]] * times) for name, column in rows.items()}


def without(rows: Rows, **values: str) -> Rows:
    """Without the persons who have these values."""
    gone = np.logical_and.reduce([rows[name] == value for name, value in values.items()])
    return {name: column[~gone] for name, column in rows.items()}


def table_of(
    rows: Rows, conditions: Sequence[str], dimensions: Sequence[str], minimum: int = 0
) -> RememberedTable:
    """Counts by some columns, with totals; ``county`` is a level above regions."""
    stated = tuple(Condition.parse(text) for text in conditions)
    met = np.ones(len(rows["age"]), dtype=bool)
    for one in stated:
        values, at = np.unique(rows[one.column], return_inverse=True)
        met &= np.array([one.holds(value) for value in values.tolist()])[at]
    made = tuple(_dimension(rows, name) for name in dimensions)
    chosen = list(product(*(range(len(one.labels)) for one in made)))
    codes = np.array(chosen, dtype=np.int64).reshape(len(chosen), len(made))
    fits = [
        np.array([np.isin(rows[one.column], texts) for texts in one.finest]).reshape(
            len(one.labels), -1
        )
        for one in made
    ]
    values = np.array(
        [
            int(np.logical_and.reduce([met, *(f[c] for f, c in zip(fits, own, strict=True))]).sum())
            for own in codes.tolist()
        ],
        dtype=np.int64,
    )
    shown = (values == 0) | (values >= minimum)
    measure = RememberedMeasure(np.where(shown, values, 0), shown, True, 0)
    return RememberedTable(
        "by " + ", ".join(dimensions), stated, made, codes, {"count": measure}, values
    )


def _dimension(rows: Rows, name: str) -> RememberedDimension:
    if name == "county":
        counties = sorted(set(COUNTY.values()))
        held = [tuple(r for r in REGIONS if COUNTY[r] == county) for county in counties]
        labels, finest = ["Total", *counties], [tuple(REGIONS), *held]
        return RememberedDimension(
            "region", tuple(labels), tuple(finest), (None, *["county"] * len(counties)), True
        )
    if name == "band":
        texts = [tuple(map(str, ages)) for ages in BANDS["band"].values()]
        labels = ("Total", *BANDS["band"])
        whole = tuple(str(age) for age in AGES)
        return RememberedDimension("age", labels, (whole, *texts), (None,) * len(labels), True)
    values = sorted(set(rows[name].tolist()) | (set(REGIONS) if name == "region" else set()))
    return RememberedDimension(
        name,
        ("Total", *values),
        (tuple(values), *((value,) for value in values)),
        (None,) * (len(values) + 1),
        True,
    )


@dataclass(frozen=True)
class Series:
    """Outputs of one population; the last one is to be judged."""

    kind: str
    rows: Rows
    outputs: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    """Conditions and dimensions of each."""

    def tables(self) -> list[RememberedTable]:
        """The outputs as tables."""
        return [table_of(self.rows, list(c), list(d)) for c, d in self.outputs]


def series(seed: int, *, planted: bool) -> Series:
    """One of ten kinds of series, two or three outputs each; with persons where they differ."""
    draw = np.random.default_rng([seed, 7])
    rows = population(seed % 40)
    age, month = int(draw.integers(25, 64)), int(draw.integers(2, 12))
    region, sex = str(draw.choice(REGIONS)), str(draw.choice(["F", "M"]))
    by = tuple(draw.permutation(["sex", "region"])[: int(draw.integers(0, 3))].tolist())
    kinds = (
        ("thresholds", ((f"age < {age}",), by), ((f"age < {age + 1}",), by)),
        ("other threshold", ((f"age >= {age}",), by), ((f"age > {age}",), by)),
        ("above and below", ((f"age < {age}",), by), ((), by), ((f"age > {age}",), by)),
        ("months", ((f"month <= {month - 1}",), by), ((f"month <= {month}",), by)),
        ("one region less", ((f"region != {region}",), ("sex",)), ((), ("sex",))),
        (
            "coarser and finer",
            ((f"age < {age}",), ("region",)),
            ((f"age < {age + 1}",), ("county",)),
        ),
        (
            "bands and a threshold",
            ((), ("band", "sex")),
            ((f"age < {age - age % 10 + 1}",), ("sex",)),
        ),
        (
            "two conditions",
            ((f"age < {age}", f"month <= {month - 1}"), ()),
            ((f"age <= {age}", f"month <= {month}"), ()),
        ),
        (
            "sexes one by one",
            ((), ("sex",)),
            ((f"age < {age}", "sex = F"), ("region",)),
            ((f"age < {age}", "sex = M"), ("region",)),
            ((f"age < {age + 1}",), ("region",)),
        ),
        (
            "months of a region",
            ((f"region = {region}", f"month < {month}"), ()),
            ((f"region = {region}", f"month > {month}"), ()),
            ((), ("region",)),
        ),
    )
    kind, *outputs = kinds[seed % len(kinds)]
    if planted:
        told = {"region": region, "sex": sex, "age": str(age), "month": str(month)}
        if kind == "bands and a threshold":
            told["age"] = str(age - age % 10)
        own = {
            "months": {"month": told["month"]},
            "one region less": {"region": region},
            "two conditions": {},
            "months of a region": {"region": region, "month": told["month"]},
        }.get(kind, {"age": told["age"]})
        if kind == "two conditions":
            rows = without(without(rows, age=told["age"]), month=told["month"])
        else:
            rows = without(rows, **own)
        rows = with_person(rows, int(draw.integers(1, 3)), **told)
    return Series(kind, rows, tuple(outputs))


def random_outputs(rows: Rows, seed: int, number: int) -> list[RememberedTable]:
    """Tables as teams ask for them: half of them with an even threshold, some of one sex."""
    draw = np.random.default_rng([seed, 11])
    found = []
    for _ in range(number):
        conditions = []
        if draw.random() < 0.5:
            conditions.append(f"age {draw.choice(['<', '>='])} {2 * draw.integers(13, 32)}")
        if draw.random() < 0.4:
            conditions.append(f"month <= {draw.integers(2, 12)}")
        if draw.random() < 0.15:
            conditions.append(f"sex = {draw.choice(['F', 'M'])}")
        region = "county" if draw.random() < 0.2 else "region"
        columns = [one for one in ("sex", region, "band", "month") if draw.random() < 0.5]
        found.append(table_of(rows, conditions, columns))
    return found

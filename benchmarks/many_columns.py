"""Many quasi-identifiers: what the default algorithm leaves of a table, beside the others.

The score is that of the field's benchmark for de-identified data (SDNist of the US National
Institute of Standards and Technology): 1000 (1 - mean total variation) over the marginals of all
triples of columns.  Of a cell that stands for several values one is drawn, all with one
probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import voile
from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from voile.disclosure.interval import named_values
from voile.schema.plan import parse_plan

__all__ = ["run"]

SEED = 2019
DRAWS = 5
CENSUS_K = 6
CENSUS = (
    "PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "EDU",
    "PINCP_DECILE",
)  # fmt: skip
MEASURED_BEFORE = 834
"""Of Mondrian on codes as numbers, when the target was set, by another script."""

HOSPITAL_K = 5
HOSPITAL = (
    "race", "gender", "age", "admission_type_id", "discharge_disposition_id",
    "admission_source_id", "time_in_hospital", "payer_code", "medical_specialty",
    "num_procedures", "number_diagnoses", "max_glu_serum", "A1Cresult", "change", "diabetesMed",
)  # fmt: skip
HOSPITAL_CODES = ("admission_type_id", "discharge_disposition_id", "admission_source_id")

Codes = Mapping[str, NDArray[np.int64]]


def run() -> Measurement:
    """Publish the census in four ways, and the hospital table by default."""
    table = _census()
    ways: Mapping[str, Callable[[], _Scored]] = {
        "mondrian, codes as numbers (before)": lambda: _scored(
            _as_places(table), table, (), algorithm="mondrian"
        ),
        "flash, codes as texts": lambda: _scored(table, table, CENSUS, algorithm="flash"),
        "mondrian, codes as texts (before)": lambda: _scored(
            table, table, CENSUS, algorithm="mondrian"
        ),
        "auto, codes as texts (the default)": lambda: _scored(table, table, CENSUS),
    }
    found = {name: way() for name, way in ways.items()}
    (before, _, _, default) = found.values()
    hospital = _hospital()
    return Measurement(
        question="What does the default leave of tables with many quasi-identifiers?",
        data="SDNist's excerpt of the American Community Survey, Massachusetts 2019: 7,634 rows, "
        "eleven columns, ages in fives; the 101,766 stays of the diabetes table, fifteen columns, "
        "three of them codes",
        seeds=f"cells drawn with {SEED}; {DRAWS} draws",
        protocol=f"census: k = {CENSUS_K}, no suppression, no hierarchies; the score is 1000 (1 - "
        "mean total variation) over all triples of columns, the mean over draws of one value for "
        "each cell, uniform over those that it stands for. Hospital: k = "
        f"{HOSPITAL_K}, the smallest group counted on what was published; processor seconds of "
        "one call after an unrecorded one",
        answer=f"The default scores {default.score:.0f}; Mondrian on codes as numbers, "
        f"{before.score:.0f} (another script measured {MEASURED_BEFORE}). The hospital table is "
        f"published by {hospital['algorithm']} in {hospital['groups']:,} groups, loss "
        f"{hospital['loss']:.4f}, where the best levels lose {hospital['flash']:.4f} and no "
        f"generalization less than {hospital['bound']:.4f}.",
        targets=[
            Target(
                "score of the default, triples of eleven columns",
                f"at least that of Mondrian on codes as numbers, and {MEASURED_BEFORE}",
                f"{default.score:.1f}, against {before.score:.1f}",
                default.score >= max(before.score, MEASURED_BEFORE),
            ),
            Target(
                "fifteen columns of the hospital table, by default",
                f"publishes in groups of {HOSPITAL_K} rows",
                f"smallest group {hospital['least']}",
                hospital["least"] >= HOSPITAL_K,
            ),
        ],
        tables=[
            Table(
                "The census",
                ("algorithm", "score", "groups", "loss"),
                [
                    [name, f"{one.score:.1f}", f"{one.groups:,}", f"{one.loss:.4f}"]
                    for name, one in found.items()
                ],
            ),
            Table(
                "The hospital table",
                ("decided by", "groups", "loss", "best levels", "bound", "processor"),
                [
                    [
                        hospital["algorithm"], f"{hospital['groups']:,}", f"{hospital['loss']:.4f}",
                        f"{hospital['flash']:.4f}", f"{hospital['bound']:.4f}",
                        f"{hospital['seconds']:.1f} s",
                    ]
                ],
            ),
        ],
    )  # fmt: skip


class _Scored:
    """What one way of publishing left."""

    def __init__(self, score: float, private: Any) -> None:
        self.score = score
        self.groups = int(private.decision["groups"])
        self.loss = float(private.objective)


def _census() -> pl.DataFrame:
    table = pl.read_csv(shared_file("census/nist-acs-ma2019.csv"), infer_schema_length=None)
    return table.with_columns(pl.col("AGEP") // 5 * 5).select(pl.col(CENSUS).cast(pl.String))


def _values(table: pl.DataFrame, column: str) -> list[str]:
    """The values of a column, numbers by size and texts behind them."""

    def rank(text: str) -> tuple[bool, float, str]:
        return (False, float(text), "") if text.isdecimal() else (True, 0.0, text)

    return sorted(table[column].unique().to_list(), key=rank)


def _as_places(table: pl.DataFrame) -> pl.DataFrame:
    """Each value as its place in its column."""
    places = {
        name: {value: place for place, value in enumerate(_values(table, name))} for name in CENSUS
    }
    return table.select(
        pl.col(name).replace_strict(of_value, return_dtype=pl.Int64)
        for name, of_value in places.items()
    )


def _publish(table: pl.DataFrame, texts: Sequence[str], k: int, **method: Any) -> Any:
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": table.columns, "person": "row"},
            "columns": {name: {"type": "text"} for name in texts},
        }
    )
    opened = voile.open_frame(table, plan)
    return voile.Generalization(k=k, **method).prepare(opened, voile.Randomness.seeded(SEED))


def _scored(
    table: pl.DataFrame, texts: pl.DataFrame, codes: Sequence[str], **method: Any
) -> _Scored:
    """Publish a table, and compare it with the same as texts."""
    publication = _publish(table, codes, CENSUS_K, **method)
    shown = pl.DataFrame(publication.release.to_native())
    original = {name: _as_places(texts)[name].to_numpy() for name in CENSUS}
    draws = np.random.default_rng(SEED)
    scores = [_score(original, _drawn(shown, texts, draws)) for _ in range(DRAWS)]
    return _Scored(float(np.mean(scores)), publication.private)


def _drawn(shown: pl.DataFrame, texts: pl.DataFrame, draws: np.random.Generator) -> Codes:
    """One value for each cell, as its place in the column."""
    found = {}
    for name in CENSUS:
        if f"{name}.low" in shown.columns:
            low, high = (
                shown[f"{name}.{end}"].cast(pl.Int64).to_numpy() for end in ("low", "high")
            )
            found[name] = draws.integers(low, high, endpoint=True)
            continue
        place = {value: place for place, value in enumerate(_values(texts, name))}
        sets = [
            [place[str(value)] for value in named_values(text) or place]
            for text in shown[name].cast(pl.String).to_list()
        ]
        size = np.array([len(one) for one in sets])
        start = np.cumsum(size) - size
        found[name] = np.concatenate(sets)[start + draws.integers(0, size)].astype(np.int64)
    return found


def _score(original: Codes, released: Codes) -> float:
    variations = [
        np.abs(_marginal(original, triple, sizes) - _marginal(released, triple, sizes)).sum() / 2
        for triple in combinations(CENSUS, 3)
        for sizes in [[int(original[name].max()) + 1 for name in triple]]
    ]
    return 1000 * (1 - float(np.mean(variations)))


def _marginal(table: Codes, names: Sequence[str], sizes: Sequence[int]) -> NDArray[np.float64]:
    key = np.ravel_multi_index([table[name] for name in names], sizes)
    return np.bincount(key, minlength=int(np.prod(sizes))) / len(key)


def _hospital() -> dict[str, Any]:
    """What the default does with fifteen quasi-identifiers."""
    table = pl.read_parquet(shared_file("census/diabetes-hospitals.parquet")).select(HOSPITAL)
    _publish(table.head(1000), HOSPITAL_CODES, HOSPITAL_K)
    started = process_time()
    publication = _publish(table, HOSPITAL_CODES, HOSPITAL_K)
    seconds = process_time() - started
    shown = pl.DataFrame(publication.release.to_native()).drop("group")
    told = publication.private.decision
    return {
        "algorithm": told["algorithm"],
        "groups": told["groups"],
        "loss": float(publication.private.objective),
        "flash": float(told["losses"].get("flash", "nan")),
        "bound": float(told["bound"]),
        "least": int(shown.group_by(shown.columns).len()["len"].min()),  # type: ignore[arg-type]
        "seconds": seconds,
    }

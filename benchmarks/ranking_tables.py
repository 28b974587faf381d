"""Rankings of real tables: what each search publishes, counted again from table and release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import voile
from benchmarks import ranking_figure
from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import seconds_text
from voile.publish.ranking import Ranking
from voile.schema.plan import Plan, parse_plan
from voile_base.errors import InfeasibleError

__all__ = ["run"]

SEED = 2011
K, TOP = 5, 100
PRECISION = Fraction(7, 10)
SEARCHES = (
    "perfect-recall",
    "mondrian",
    "deletion",
    "insertion",
    "grasp",
    "theta",
    "theta-rapid",
    "growing",
    "growing-exchange",
    "peeling-lift",
    "peeling-ratio",
    "exact",
    "auto",
)
FIGURE = Path(__file__).parent / "figures" / "ranking_tables.png"


@dataclass(frozen=True)
class Ranked:
    """A real table and how it is ranked."""

    name: str
    file: str
    by: tuple[str, ...]
    on_map: tuple[str, str]
    """The two columns that the figure ranks by."""
    quasi_identifiers: tuple[str, ...]


TABLES = (
    Ranked(
        "students",
        "students-performance.csv",
        ("math score", "reading score", "writing score"),
        ("math score", "writing score"),
        ("gender", "race/ethnicity", "parental level of education", "lunch"),
    ),
    Ranked(
        "NBA players",
        "nba-seasons.csv",
        ("pts", "reb", "ast"),
        ("pts", "reb"),
        ("age", "country", "player_height"),
    ),
)


@dataclass(frozen=True, eq=False)
class Counted:
    """A release, counted by hand against the rows of its table."""

    groups: int
    rows: NDArray[np.int64]
    """Of each group."""
    precision: NDArray[np.float64]
    """Of each box, over all rows of the table."""
    recall: float
    seconds: float
    unlike: int
    """Groups whose rows, precision or box differ from what the release says."""


def run() -> Measurement:
    """Publish both tables with every search, count again, and draw a map of the best."""
    counted = {(t.name, search): _counted(t, search) for t in TABLES for search in SEARCHES}
    found = [c for c in counted.values() if c is not None]
    small = sum(int((c.rows < K).sum()) for c in found)
    vague = sum(int((c.precision < float(PRECISION)).sum()) for c in found)
    unlike = sum(c.unlike for c in found)
    groups = sum(c.groups for c in found)
    auto = [counted[t.name, "auto"] for t in TABLES]
    ranking_figure.draw([_map(t) for t in TABLES], FIGURE)
    return Measurement(
        question="What of the best rows of real tables is published, and does every box hold?",
        data="students' performance, 1,000 rows, three scores; the best season of each of 2,551 "
        "NBA players, points, rebounds and assists",
        seeds=str(SEED),
        protocol=f"top {TOP}, k = {K}, precision {PRECISION}, all weights 1, ties count as best; "
        "boxes, members and precision are counted again from the published rows and the file, "
        "without the publisher's code; seconds: a warm call on an open table",
        answer=" ".join(
            f"{t.name}: {c.recall:.0%} of the best in {c.groups} groups, median precision "
            f"{np.median(c.precision):.2f}, {seconds_text(c.seconds)}."
            for t, c in zip(TABLES, auto, strict=True)
            if c is not None
        )
        + f" The figure `{FIGURE.parent.name}/{FIGURE.name}` ranks by two columns each, so that "
        "boxes can be seen.",
        targets=[
            Target("groups of fewer than k rows", "0", f"{small} of {groups}", small == 0),
            Target("boxes below the precision", "0", f"{vague} of {groups}", vague == 0),
            Target("groups unlike what is said of them", "0", f"{unlike} of {groups}", unlike == 0),
        ],
        tables=[
            Table(
                f"{table.name}: top {TOP} by {', '.join(table.by)}",
                ("search", "recall", "groups", "rows a group", "precision", "time"),
                [_line(search, counted[table.name, search]) for search in SEARCHES],
            )
            for table in TABLES
        ],
    )


def _line(search: str, counted: Counted | None) -> Sequence[str]:
    if counted is None:
        return (search, "0", "none found", "", "", "")
    return (
        search,
        f"{counted.recall:.2f}",
        str(counted.groups),
        f"{median(counted.rows):.0f}",
        f"{np.median(counted.precision):.2f}",
        seconds_text(counted.seconds),
    )


@cache
def _rows(table: Ranked) -> pl.DataFrame:
    """The rows of the file, one for each person, numbered."""
    rows = pl.read_csv(shared_file(f"rankings/{table.file}"))
    if "player_name" in rows.columns:  # a player with many seasons would fill a group alone
        total = pl.sum_horizontal(table.by)
        order = rows.sort(total, "season", descending=True, maintain_order=True)
        rows = order.unique("player_name", keep="first", maintain_order=True)
    return rows.with_row_index("row")


def _plan(table: Ranked, by: Sequence[str], quasi_identifiers: Sequence[str]) -> Plan:
    # ``row`` is published so that members can be told: a benchmark, not a release.
    roles = {
        "ranking": list(by),
        "quasi_identifiers": list(quasi_identifiers),
        "keep": ["row"],
        "keep_unique": ["row"],
    }
    return parse_plan({"roles": roles})


def _published(
    table: Ranked, by: Sequence[str], search: Any, quasi_identifiers: Sequence[str] = ()
) -> tuple[voile.Release, float] | None:
    """A release and the seconds that it took, or None where nothing was found."""
    private = voile.open_frame(_rows(table), _plan(table, by, quasi_identifiers))
    publisher = Ranking(k=K, top=TOP, precision=float(PRECISION), search=search)
    try:
        publisher.publish(private, voile.Randomness.seeded(SEED))
        started = perf_counter()
        release = publisher.publish(private, voile.Randomness.seeded(SEED))
        return release, perf_counter() - started
    except InfeasibleError:
        return None


def _is_best(table: Ranked, by: Sequence[str]) -> NDArray[np.bool_]:
    scores = _scores(table, by)
    return scores >= np.sort(scores)[-TOP]


def _scores(table: Ranked, by: Sequence[str]) -> NDArray[np.int64]:
    """Sums in tenths: one decimal is all that these columns have."""
    values = _rows(table).select(by).to_numpy()
    return np.rint(values * 10).astype(np.int64).sum(axis=1)


def _counted(table: Ranked, search: str) -> Counted | None:
    made = _published(table, table.by, search, table.quasi_identifiers)
    if made is None:
        return None
    release, seconds = made
    is_best = _is_best(table, table.by)
    values = _rows(table).select(table.by).to_numpy()
    shown = pl.DataFrame(release.to_native())
    documents = release.method["decision"]["groups"]
    rows, precision, unlike = [], [], 0
    for document, (_, group) in zip(
        documents, shown.group_by("group", maintain_order=True), strict=True
    ):
        members = group["row"].to_numpy()
        ends = [[group[f"{name}.{end}"][0] for name in table.by] for end in ("low", "high")]
        inside = ((values >= ends[0]) & (values <= ends[1])).all(axis=1)
        share = float((inside & is_best).sum() / inside.sum())
        rows.append(len(members))
        precision.append(share)
        tight = (values[members].min(axis=0), values[members].max(axis=0))
        as_said = (
            np.array_equal(tight, ends)
            and document["rows"] == len(members)
            and abs(document["precision"] - share) < 1e-6
            and np.allclose(document["score"], [sum(side) for side in ends])
        )
        unlike += not as_said
    recall = float(is_best[shown["row"].to_numpy()].sum() / is_best.sum())
    return Counted(len(rows), np.array(rows), np.array(precision), recall, seconds, unlike)


def _map(table: Ranked) -> ranking_figure.Map:
    """What the figure shows of a table ranked by two columns."""
    made = _published(table, table.on_map, "auto")
    assert made is not None, "the figure's rankings exist"
    shown = pl.DataFrame(made[0].to_native())
    boxes = shown.select(
        "group", *(f"{name}.{end}" for name in table.on_map for end in ("low", "high"))
    ).unique()
    values = _rows(table).select(table.on_map).to_numpy()
    in_a_group = np.zeros(len(values), dtype=bool)
    in_a_group[shown["row"].to_numpy()] = True
    return ranking_figure.Map(
        title=table.name,
        columns=table.on_map,
        values=values.astype(np.float64),
        is_best=_is_best(table, table.on_map),
        is_published=in_a_group,
        boxes=boxes.sort("group").drop("group").to_numpy().astype(np.float64),
        border=float(np.sort(_scores(table, table.on_map))[-TOP]) / 10,
    )

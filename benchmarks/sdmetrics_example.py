"""``voile audit`` beside SDMetrics' privacy metrics, on the example that ships with SDMetrics.

The example is a table of 215 students and what CTGAN made of it, without a control.  For metrics
that ask for people who were not in the data, the table is halved, and files are made of one half:
a copy, averages of groups (MDAV), and a synthesizer of trees with leaves of one person.

    SDMetrics                           what is compared with it
    CAP, learners                       inference of the same column: who knows all others, or those
                                        that a learner takes.  Plain CAP tells of people who have a
                                        row alone; zero CAP, of all people, stands for it
    NewRowSynthesis                     the most of the risks of whole rows: the share of rows that
                                        are somebody's within 1 %
    DCROverfittingProtection            whether a risk of whole rows is found: it counts rows of the
                                        file that are nearer to the original than to the control,
                                        and an audit people; trees of single people make every row
                                        of the original, and leave out a third of the people
    DCRBaselineProtection               nothing: being nearer to the data than noise is what a file
                                        is good for, and gives nobody away; it is told alone

A risk is what is found of what the control leaves open, or guessing without one, on both sides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import voile
from benchmarks import sdmetrics_side
from benchmarks.league_files import ENVIRONMENTS, run_in
from benchmarks.record import Measurement, Table, Target
from benchmarks.worst_off import cart
from voile.audit.examine import audit
from voile.audit.record import AuditRecord, Inquiry
from voile.schema.plan import parse_plan

__all__ = ["run"]

SEED = 2026
TARGETS = 1_000
_WHOLE = ("singling out", "linkability", "copying", "re-identification")
"""Risks of whole rows, by their names in a record."""
_NUMBERS = ("second_perc", "high_perc", "degree_perc", "employability_perc", "mba_perc")
_UNIQUE = ("salary", "start_date", "end_date")
"""Columns that single out rows, and that averages of the others leave as they are."""


def _halves(table: pl.DataFrame, folder: Path) -> tuple[pl.DataFrame, ...]:
    """Half of the students, the others, and files made of the first."""
    draws = np.random.default_rng(SEED)
    table = table[draws.permutation(table.height)]
    own, other = table[: table.height // 2], table[table.height // 2 :]
    source, out = folder / "rows.csv", folder / "out"
    own.write_csv(source)
    roles = {
        "person": "row",
        "quasi_identifiers": [*_NUMBERS],
        "keep": [name for name in own.columns if name not in _NUMBERS],
        "keep_unique": [*_UNIQUE],
    }
    method = {"name": "microaggregation", "k": 5}
    voile.make_release(
        source, parse_plan({"roles": roles, "method": method, "nulls": "category"}), out, seed=SEED
    )
    averages = pl.read_csv(out / "data.csv").select(own.columns)
    copy = own[draws.permutation(own.height)]
    return own, other, copy, averages, cart(own, draws, 1)


def _audited(
    released: Path, original: Path, control: Path | None, columns: list[str]
) -> AuditRecord:
    """What ``voile audit`` finds of a file, of which every column is wanted."""
    plan = original.parent / "plan.toml"
    plan.write_text(f'[roles]\nperson = "row"\nsensitive = {columns}\n', encoding="utf-8")
    inquiry = Inquiry(TARGETS, ("prosecutor",))
    return audit(released, original, control, plan, inquiry=inquiry, seed=SEED)


def _beyond(rate: float, beside: float) -> float:
    """What is found of what is left open."""
    return 1 - (1 - rate) / (1 - beside) if beside < 1 else 0.0


def _lines(name: str, theirs: Mapping[str, Any], record: AuditRecord) -> Iterator[list[Any]]:
    """The figures of a file: what was asked, theirs, by whom, ours, its interval and by what."""
    of_column = {one["of"]: one for one in record.risks if one["risk"] == "inference"}
    for column, attackers in theirs["inference"].items():
        ours = of_column[column]
        best = max(
            (_beyond(own, beside[0] if beside else ours["guess"]["value"]), who)
            for who, (own, *beside) in attackers.items()
        )
        yield [name, f"inference, {column}", *best, ours["excess"], ours["risk"]]
    whole = [
        (one["excess"], one["risk"])
        for one in record.risks
        if one["risk"] in _WHOLE and "one column" not in one["of"]
    ]
    most = max(whole, key=lambda one: float(one[0]["value"]))
    yield [name, "whole rows", theirs["same rows"], "NewRowSynthesis", *most]


def _nearer(name: str, theirs: Mapping[str, Any], rows: int, record: AuditRecord) -> list[Any]:
    """The share of rows nearer to the original, whether beyond chance, and what an audit finds."""
    share = theirs["overfitting"]
    beyond = share - 1.645 * np.sqrt(share * (1 - share) / rows) > 0.5
    found = [one["risk"] for one in record.risks if one["risk"] in _WHOLE and one["found"]]
    return [name, f"{share:.3f}", "yes" if beyond else "no", ", ".join(dict.fromkeys(found))]


def run() -> Measurement:
    """Judge the example's files by both."""
    lines: list[list[Any]] = []
    baselines: list[list[str]] = []
    nearer: list[list[Any]] = []
    with TemporaryDirectory() as place:
        folder = Path(place)
        original, shipped = folder / "original.csv", folder / "shipped.csv"
        run_in("sdmetrics", sdmetrics_side.__file__, f"{original}", f"{shipped}")
        table = pl.read_csv(original)
        own, other, *made = _halves(table, folder)
        names = ("copy of a half", "averages of 5 of a half", "CART of a half")
        half, control = folder / "half.csv", folder / "control.csv"
        own.write_csv(half)
        other.write_csv(control)
        asked: list[tuple[str, Path, Path, Path | None]] = [
            ("as it ships", shipped, original, None)
        ]
        for name, rows in zip(names, made, strict=True):
            file = folder / f"{name}.csv"
            rows.write_csv(file)
            asked.append((name, file, half, control))
        for name, file, side, absent in asked:
            record = _audited(file, side, absent, table.columns)
            said = run_in(
                "sdmetrics", sdmetrics_side.__file__, f"{side}", f"{absent or '-'}", f"{file}"
            )
            (theirs,) = json.loads(said)
            baselines.append([name, f"{theirs['baseline']:.3f}"])
            lines += _lines(name, theirs, record)
            if absent is not None:
                nearer.append(_nearer(name, theirs, own.height, record))
    below = [line for line in lines if line[2] > line[4]["high"]]
    missed = [line for line in nearer if line[2] == "yes" and not line[3]]
    ahead = sum(line[4]["value"] >= line[2] for line in lines)
    return Measurement(
        question="Is a risk that SDMetrics tells of its own example above what an audit tells?",
        data=f"{table.height} students and the file of a CTGAN, as they ship with SDMetrics, "
        f"without ids; {own.height} of them as original, {other.height} as control",
        seeds=f"{SEED}",
        protocol=f"{', '.join(ENVIRONMENTS['sdmetrics'])} in its own environment, the best of its "
        "attackers for each column; every column is sensitive; risks are what is found of what "
        "the control leaves open, or guessing where there is none",
        answer=f"Of {len(lines)} risks {len(below)} lie above the interval of the audit, whose "
        f"figure is as high or higher in {ahead}.",
        targets=[
            Target("risks above the interval", "none", f"{len(below)}", not below),
            Target("overfitting that no risk finds", "none", f"{len(missed)}", not missed),
        ],
        tables=[
            Table(
                "Risks",
                ("file", "risk", "SDMetrics", "by", "audit", "interval", "as"),
                [
                    [file, what, f"{theirs:.3f}", who, f"{ours['value']:.3f}",
                     f"{ours['low']:.3f} to {ours['high']:.3f}", kind]
                    for file, what, theirs, who, ours, kind in lines
                ],
            ),
            Table(
                "DCROverfittingProtection",
                ("file", "rows nearer to the original", "beyond chance", "found by the audit"),
                nearer,
            ),
            Table("DCRBaselineProtection, which has no counterpart", ("file", "score"), baselines),
        ],
    )  # fmt: skip

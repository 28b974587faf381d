"""What stands in the report of one study: values for its template, and its charts.

Documents of any shape become facts to be listed: plain values, and tables of what holds several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from voile.report.figures.canvas import Chart
from voile.report.figures.rates import Loss, SuccessRate, draw_losses, draw_rates
from voile.report.figures.shares import Shares, draw_pairs, draw_parts, draw_shares
from voile.report.fleet_page import FollowedFleet, fleet_page
from voile.report.grid import study_summary
from voile.report.words import (
    NOTHING,
    AttackReading,
    MeasureReading,
    Share,
    attacks_of,
    measures_of,
    pairs_of,
    printable,
    spoken,
    value_text,
)
from voile.study.record import Distribution, StudyRecord
from voile_base.randomness import UNFIT
from voile_base.values.toml import toml_text

__all__ = ["promise_of", "study_page"]

_FEWEST_FOR_A_MAP = 3
_WIDEST_MAP = 40
_EVIDENCE = {
    "targets": "targets of each attack",
    "held_out": "rows held out",
    "rehearsed": "measured on a release made like this one of fewer rows",
}
_PUBLISHABLE = {True: "yes", False: f"no: {UNFIT}"}
_ROLES = {
    "quasi_identifiers": "quasi-identifiers",
    "keep": "kept as they are",
}
_MOST = 60
"""Rows of a table, or entries of a list, that are shown."""
_WITHIN = ": "


@dataclass(frozen=True)
class _Moved:
    """A column with the chart of its distribution."""

    column: str
    role: str
    moved: float
    chart: Chart


def study_page(record: StudyRecord, fleet: FollowedFleet | None = None) -> Mapping[str, Any]:
    """The values of the template ``study.html.j2``."""
    attacks, measures = attacks_of(record), measures_of(record)
    guarantee, method = record.release["guarantee"], record.release["method"]
    return {
        "name": record.name,
        "publishable": record.release["publishable"],
        "attacks_skipped": record.attacks_skipped,
        "utility_skipped": record.utility_skipped,
        "summary": study_summary(record),
        "published": tuple(_published(record)),
        "roles": tuple(_roles(record)),
        "settings": _facts_of(_without(method, "decision")),
        "decision": _facts_of(method.get("decision") or {}),
        "promise": promise_of(record),
        "assumes": tuple(guarantee["assumes"]),
        "promised": _facts_of(_without(guarantee, "statement", "assumes")),
        "notices": tuple(record.publication["notices"]),
        "attacks": attacks,
        "attack_chart": attack_chart(attacks),
        "unmeasured": tuple(spoken(a.name) for a in attacks if a.rates is None),
        "fleet": None if fleet is None else _fleet(fleet),
        "measures": measures,
        "loss_chart": loss_chart(measures),
        "unplaced": tuple(measure.title for measure in measures if measure.lost is None),
        "part_charts": tuple(_part_charts(record, measures)),
        "distributions": tuple(_distributions(record)),
        "evidence": _facts_of({_EVIDENCE[name]: value for name, value in record.evidence.items()}),
        **_repeat_of(record),
    }


def _fleet(fleet: FollowedFleet) -> Mapping[str, Any]:
    """What adversaries on a map found, and the trips of which they found most."""
    if fleet.left_out:
        return {"left_out": fleet.left_out, "notes": (), "adversaries": (), "maps": ()}
    adversaries = [
        (
            one["adversary"],
            Share(one["right_roads"]["value"]),
            round(one["error_metres"]["value"]),
            one["lost_reports"],
            "; ".join(one["lower_bound_reasons"]),
        )
        for one in fleet.adversaries
    ]
    page = fleet_page("", fleet.trips, fleet.notes)
    maps = [trip for trip in page["trips"] if trip.picture]
    return {**page, "left_out": "", "adversaries": adversaries, "maps": maps}


def promise_of(record: StudyRecord) -> str:
    """The guarantee in words."""
    return record.release["guarantee"]["statement"] or "No guarantee is stated."


def _repeat_of(record: StudyRecord) -> Mapping[str, Any]:
    """What is needed to make a study again: its plan, the command, versions and seconds."""
    aimed = f" --targets {record.evidence['targets']}"
    seed = "" if record.seed is None else f" --seed {record.seed}"
    return {
        "plan": toml_text(record.plan),
        "command": f"voile study INPUT --plan plan.toml --out DIR{aimed}{seed}",
        "seed": record.seed,
        "versions": tuple(record.versions.items()),
        "seconds": tuple(record.seconds.items()),
    }


def attack_chart(attacks: Sequence[AttackReading]) -> Chart | None:
    """All measured attacks in one chart, the most successful first; None without any."""
    found = [(spoken(a.name), a.rates) for a in attacks if a.rates is not None]
    rates = [
        SuccessRate(
            name, one.told_targets, one.success, one.low, one.high, one.baseline, one.counted
        )
        for name, one in sorted(found, key=lambda pair: -pair[1].success)
    ]
    title = "Success of each attack, with its 95 % interval, beside guessing"
    return draw_rates("attacks", title, rates) if rates else None


def loss_chart(measures: Sequence[MeasureReading]) -> Chart | None:
    """Measures whose scale has two ends, the kindest first; None where there is none."""
    losses = [
        Loss(m.title, one["value"], one["untouched"], one["useless"])
        for m in sorted(measures, key=lambda measure: measure.lost or 0.0)
        for one in [m.document]
        if m.lost is not None
        and one["value"] is not None
        and one["untouched"] is not None
        and one["useless"] is not None
    ]
    title = "Each measure on its way from an untouched release to a useless one"
    return draw_losses("losses", title, losses) if losses else None


def _published(record: StudyRecord) -> Iterator[tuple[str, Any]]:
    release, publication = record.release, record.publication
    yield "rows published", release["rows"]
    yield "rows of the original", publication["rows_in"]
    if "units_in" in publication and "protected" in publication:
        who = f"{publication['protected']}s"
        if publication.get("units_out") is not None:
            yield f"{who} published", publication["units_out"]
        yield f"{who} of the original", publication["units_in"]
    for name, rows in (
        ("rows left out for good", publication["suppressed"]),
        ("rows held back for a later release", publication["held"]),
        ("rows carried over to the next pool", publication["carried"]),
    ):
        if rows:
            yield name, rows
    if publication["objective"] is not None:
        yield "what the method minimised", publication["objective"]
    if publication["summary"]:
        yield "in short", publication["summary"]
    yield "may be published", _PUBLISHABLE[release["publishable"]]
    yield "release", release["release_id"]


def _roles(record: StudyRecord) -> Iterator[tuple[str, Sequence[str]]]:
    for role, names in record.roles.items():
        if names:
            yield _ROLES.get(role, spoken(role).lower()), names


def _without(document: Mapping[str, object], *keys: str) -> Mapping[str, Any]:
    return {key: value for key, value in document.items() if key not in keys}


def _part_charts(record: StudyRecord, measures: Sequence[MeasureReading]) -> Iterator[Chart]:
    columns = _columns(record)
    for index, measure in enumerate(measures):
        if len(measure.parts) < 2:
            continue
        title = f"{measure.title}, part by part"
        pairs = pairs_of(measure.parts, columns)
        if pairs is None or len(pairs) < _FEWEST_FOR_A_MAP or len(columns) > _WIDEST_MAP:
            yield draw_parts(f"parts-{index}", title, measure.parts)
            continue
        present = {column for pair in pairs for column in pair}
        shown = [column for column in columns if column in present]
        yield draw_pairs(f"parts-{index}", title, shown, pairs)


def _columns(record: StudyRecord) -> list[str]:
    """Names of columns by which parts of measures may go."""
    released = [name for names in record.roles.values() for name in names]
    stems = [n.removesuffix(".low").removesuffix(".high") for n in released]
    return list(dict.fromkeys([d.column for d in record.distributions] + released + stems))


def _distributions(record: StudyRecord) -> Iterator[_Moved]:
    for index, distribution in enumerate(record.distributions):
        if not distribution.labels:
            continue
        shares = _shares(distribution)
        chart = draw_shares(f"distribution-{index}", distribution.column, shares)
        yield _Moved(distribution.column, distribution.role, shares.moved, chart)


def _shares(distribution: Distribution) -> Shares:
    edges = distribution.edges
    return Shares(
        labels=distribution.labels,
        edges=edges if edges and len(edges) > 1 else None,
        before=distribution.before,
        after=distribution.after,
        numeric=distribution.kind not in {"date", "datetime", "time"},
    )


@dataclass(frozen=True)
class _Fact:
    """One fact: a value, or a table of values."""

    name: str
    value: Any = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    left: int = 0
    """Entries that are not shown, because there are too many."""


def _facts_of(document: Mapping[str, object]) -> tuple[_Fact, ...]:
    """What a document says; tables deep within it are named by the keys that lead to them."""
    return tuple(_facts(document, ""))


def _facts(document: Mapping[str, object], within: str) -> Iterator[_Fact]:
    for key, value in document.items():
        name = f"{within}{printable(key)}"
        if isinstance(value, Mapping) and _holds_table(value):
            yield from _facts(value, f"{name}{_WITHIN}")
        else:
            yield _fact(name, value)


def _holds_table(value: object) -> bool:
    """Whether there is a list of documents anywhere in a document."""
    if isinstance(value, Mapping):
        return any(map(_holds_table, value.values()))
    return _is_table(value)


def _is_table(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(held, Mapping) for held in value)
    )


def _fact(name: str, value: Any) -> _Fact:
    if isinstance(value, Mapping) and value:
        return _table(name, [{"": key, **_row(held)} for key, held in value.items()])
    if _is_table(value):
        return _table(name, [_flat(held) for held in value])
    if isinstance(value, list | tuple):
        shown = ", ".join(map(value_text, value[:_MOST]))
        return _Fact(name, shown or NOTHING, left=max(0, len(value) - _MOST))
    return _Fact(name, _plain(value))


def _row(value: object) -> Mapping[str, Any]:
    return _flat(value) if isinstance(value, Mapping) else {"value": value}


def _flat(document: Mapping[str, object], within: str = "") -> dict[str, Any]:
    """A document whose documents are named by the keys that lead to their values."""
    flat: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{within}{key}{_WITHIN}")
        else:
            flat[f"{within}{key}"] = value
    return flat


def _table(name: str, records: Sequence[Mapping[str, object]]) -> _Fact:
    columns = tuple(dict.fromkeys(key for held in records for key in held))
    return _Fact(
        name,
        columns=tuple(map(printable, columns)),
        rows=tuple(
            tuple(_plain(held.get(column)) for column in columns) for held in records[:_MOST]
        ),
        left=max(0, len(records) - _MOST),
    )


def _plain(value: object) -> Any:
    """A number where the value is one, else its text."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return value_text(value)

"""What stands in the reports of a study, of a grid of studies and of a fleet.

Values for their templates, and their charts.  Documents of any shape become facts to be listed:
plain values, and tables of what holds several.

The page of a fleet is what an adversary makes of each trip, the worst first; it is private.

Pictures stand beside the page, one file a trip, and it asks for nothing else.  In the report of a
study the same stands as a section, which holds the pictures of the worst trips itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from voile.report.figures.canvas import Chart
from voile.report.figures.evidence import (
    Loss,
    Shares,
    SuccessRate,
    draw_losses,
    draw_pairs,
    draw_parts,
    draw_rates,
    draw_shares,
)
from voile.report.figures.grids import (
    FrontierAxes,
    Line,
    Panel,
    Placed,
    draw_curves,
    draw_frontier,
    draw_key,
)
from voile.report.grid import (
    GridSeries,
    Sweep,
    comparison_summary,
    findings_of,
    parameter_name,
    placed_points,
    risk_title,
    study_summary,
    sweep_of,
)
from voile.report.words import (
    NOTHING,
    SETS,
    AttackReading,
    MeasureReading,
    Share,
    attacks_of,
    column_losses,
    listed,
    measures_of,
    pairs_of,
    percent,
    printable,
    reidentified,
    shown_as,
    spoken,
    value_text,
    without_objective,
)
from voile.study.record import Distribution, Point, StudyComparison, StudyRecord
from voile.study.verdict import limits_of
from voile_base.ondemand import dataclass
from voile_base.randomness import UNFIT
from voile_base.values import Document, Json
from voile_base.values.toml import toml_text

__all__ = [
    "PUBLISHABLE",
    "SEEDLESS",
    "FleetTrip",
    "FollowedFleet",
    "comparison_page",
    "fleet_page",
    "study_page",
    "worst_first",
]

_COLUMNS = (
    "trip",
    "reports",
    "on the right road",
    "off by, m",
    "shown off by, m",
    "stops",
    "stops found",
)


@dataclass(frozen=True)
class FleetTrip:
    """What came of one trip."""

    trip: str
    reports: int
    right: float
    """Share of the reports at which the informed adversary names the true road."""
    error: float
    """By how many metres he is off on average."""
    shown: float
    """And by how many what is published is."""
    stops: int
    stops_found: int
    """Of these, how many he puts to within 100 m."""
    nearest: float | None
    """Metres by which he is off at the stop that he finds best; None without a stop."""
    lost: int
    """Reports at which he began anew."""
    picture: str
    """The name of the file with its map, or the picture itself as a ``data:`` address; empty
    without one."""

    @property
    def words(self) -> str:
        """What he would have done with it."""
        if self.stops:
            named = (
                f"puts {self.stops_found} of {self.stops} stops to within 100 m, the nearest to "
                f"{self.nearest:,.0f} m"
            )
        else:
            named = "there is no stop to find"
        often = "once" if self.lost == 1 else f"{self.lost} times"
        again = f", and lost the truck {often}" if self.lost else ""
        return (
            f"Of {self.reports} reports he puts {self.right:.0%} on the right road, is "
            f"{self.error:,.0f} m off where what is published is {self.shown:,.0f} m off, and "
            f"{named}{again}."
        )


@dataclass(frozen=True)
class FollowedFleet:
    """What came of following the trips of a release on a map."""

    trips: Sequence[FleetTrip]
    notes: Sequence[str]
    adversaries: Sequence[Document] = ()
    """The document of what each adversary made of all of them."""
    left_out: str = ""
    """Why trips were not followed, where they could not be."""


def worst_first(trips: Sequence[FleetTrip]) -> Sequence[FleetTrip]:
    """From the trip of which most is found."""
    return sorted(trips, key=lambda trip: (-trip.right, trip.error))


def fleet_page(name: str, trips: Sequence[FleetTrip], notes: Sequence[str]) -> Document:
    """What the template shows; trips from the one of which most is found."""
    worst = worst_first(trips)
    total = sum(trip.reports for trip in trips)
    right = sum(trip.right * trip.reports for trip in trips) / total
    stops, named = (sum(getattr(it, field) for it in trips) for field in ("stops", "stops_found"))
    summary = [
        f"An adversary who knows the map and the mechanism puts {right:.0%} of {total:,} reports "
        f"of {len(trips):,} {'trip' if len(trips) == 1 else 'trips'} on the right road; the mean "
        f"of the shares of trips is {sum(trip.right for trip in trips) / len(trips):.1%}.",
        f"Told when trucks stand, he puts {named:,} of {stops:,} stops of five minutes or more to "
        "within 100 m."
        if stops
        else "No trip has a stop of five minutes or more.",
        "Trips were drawn at random where there are more than were asked for; the worst come "
        "first.",
    ]
    rows = [
        (
            trip.trip,
            trip.reports,
            Share(trip.right),
            round(trip.error),
            round(trip.shown),
            trip.stops,
            trip.stops_found,
        )
        for trip in worst
    ]
    return {
        "name": name,
        "summary": summary,
        "columns": _COLUMNS,
        "rows": rows,
        "trips": worst,
        "notes": list(notes),
    }


_FEWEST_FOR_A_MAP = 3
_WIDEST_MAP = 40
_EVIDENCE = {
    "targets": "targets of each attack",
    "held_out": "rows held out",
    "rehearsed": "measured on a release made like this one of fewer rows",
}
SEEDLESS = "made without a seed"
"""What a release must be to be published at all."""
PUBLISHABLE = {
    True: "yes, as publication asks; that says nothing of its risks",
    False: f"no: {UNFIT}",
}
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


def study_page(record: StudyRecord, fleet: FollowedFleet | None = None) -> Document:
    """The values of the template ``study.html.j2``."""
    attacks, measures = attacks_of(record), measures_of(record)
    guarantee, method = record.release["guarantee"], record.release["method"]
    left_open = tuple(guarantee.get("leaves_open", ()))
    return {
        "name": record.name,
        "publishable": record.release["publishable"],
        "attacks_skipped": record.attacks_skipped,
        "utility_skipped": record.utility_skipped,
        "verdict": tuple(_verdict(record)),
        "limits": limits_of(record),
        "summary": study_summary(record),
        "published": tuple(_published(record)),
        "roles": tuple(_roles(record)),
        "columns": tuple(_shown_columns(record)),
        "sets": SETS if "set" in _kinds(record) else "",
        "settings": _facts_of(_without(method, "decision")),
        "decision": _facts_of(method.get("decision") or {}),
        "promise": _promise_of(record),
        "assumes": tuple(one for one in guarantee["assumes"] if one not in left_open),
        "left_open": left_open,
        "promised": _facts_of(_without(guarantee, "statement", "assumes", "leaves_open")),
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


def _verdict(record: StudyRecord) -> Iterator[str]:
    """Risk, the limits that it keeps, loss, and what was not assessed, a sentence each."""
    risk = reidentified(record)
    if risk:
        yield from (f"{heading}: {text}" for heading, text in risk.sentences)
        yield risk.limits
    else:
        yield "The re-identification risk was not assessed: no attack has measured it."
    if record.information_loss is not None:
        yield f"Information loss is {percent(record.information_loss)} (non-uniform entropy)."
    if not record.risks:
        yield (
            "Singling out, linkability and inference were not counted; voile study --risks counts "
            "them."
        )
    yield "voile check holds the study against a policy, and names what would meet the rest."


def _fleet(fleet: FollowedFleet) -> Document:
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


def _promise_of(record: StudyRecord) -> str:
    """The guarantee in words."""
    return record.release["guarantee"]["statement"] or "No guarantee is stated."


def _repeat_of(record: StudyRecord) -> Document:
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
    if record.information_loss is not None:
        yield "information loss", percent(record.information_loss)
    elif publication["objective"] is not None:
        yield "objective", publication["objective"]
    if summary := without_objective(publication["summary"]):
        yield "in short", summary
    yield SEEDLESS, PUBLISHABLE[release["publishable"]]
    yield "release", release["release_id"]


def _roles(record: StudyRecord) -> Iterator[tuple[str, Sequence[str]]]:
    for role, names in record.roles.items():
        if names:
            yield _ROLES.get(role, spoken(role).lower()), names


def _shown_columns(record: StudyRecord) -> Iterator[tuple[str, str]]:
    """Each published column with how it is shown, and what is lost of it."""
    lost = column_losses(record)
    for name, shown in record.release["columns"].items():
        kind = shown.get("kind", "") if isinstance(shown, Mapping) else ""
        if kind:
            yield name, "; ".join([shown_as(kind), *([lost[name]] if name in lost else [])])


def _kinds(record: StudyRecord) -> set[str]:
    """How columns are shown."""
    columns = record.release["columns"].values()
    return {str(shown.get("kind", "")) for shown in columns if isinstance(shown, Mapping)}


def _without(document: Mapping[str, object], *keys: str) -> Document:
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


def _row(value: object) -> Document:
    return _flat(value) if isinstance(value, Mapping) else {"value": value}


def _flat(document: Mapping[str, object], within: str = "") -> Json:
    """A document whose documents are named by the keys that lead to their values."""
    flat: Json = {}
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


_MOST_LINES = 32
"""Beyond so many lines nobody can tell them apart; the others stand in the tables."""


@dataclass(frozen=True)
class _Row:
    """One point of the grid, as its table and its details show it."""

    point: Point
    settings: tuple[str, ...]
    placed: Placed | None
    summary: tuple[str, ...]
    promise: str
    results: tuple[tuple[str, float], ...]
    """What each attack and each measure came to; rates are ``Share``."""


@dataclass(frozen=True)
class _Winner:
    """Which points are best by one attack or one measure."""

    finding: GridSeries
    value: float
    names: str


def comparison_page(comparison: StudyComparison) -> Document:
    """The values of the template ``comparison.html.j2``."""
    findings = findings_of(comparison)
    loss = _loss_title(comparison, findings)
    placed = placed_points(comparison)
    sweep = sweep_of(comparison)
    swept = tuple(comparison.swept)
    return {
        "name": comparison.name,
        "comparison": comparison,
        "summary": comparison_summary(comparison, loss, placed),
        "risk": risk_title(comparison),
        "loss": loss,
        "frontier_chart": _frontier_chart(comparison, loss, placed),
        "failed": tuple(_failed(comparison)),
        "unplaced": tuple(
            point.name
            for place, point in enumerate(comparison.points)
            if point.record is not None and place not in placed
        ),
        "sweep": sweep,
        "key_chart": _key_chart(sweep),
        "curve_charts": tuple(_curve_charts(findings, sweep)),
        "parameters": tuple(map(parameter_name, swept)),
        "rows": tuple(_rows(comparison, placed, findings, swept)),
        "winners": tuple(_winners(comparison, findings)),
        "plans": tuple(map(toml_text, comparison.plans)),
        "command": _command(comparison),
        "versions": tuple(comparison.versions.items()),
    }


def _loss_title(comparison: StudyComparison, findings: Sequence[GridSeries]) -> str:
    """The measure of loss as a reader sees it."""
    titles = (f.title for f in findings if not f.attack and f.name == comparison.loss)
    return next(titles, spoken(comparison.loss) or "none")


def _panels_of(findings: Sequence[GridSeries], sweep: Sweep) -> Iterator[tuple[GridSeries, Panel]]:
    """What each attack and each measure came to along the sweep."""
    for index, finding in enumerate(findings):
        held: dict[int, list[int]] = {}
        for place in sorted(finding.values, key=lambda place: sweep.place_of.get(place, -1)):
            if place in sweep.place_of:
                held.setdefault(sweep.line_of[place], []).append(place)
        lines = tuple(
            Line(
                sweep.lines[line],
                line,
                tuple((sweep.place_of[place], finding.values[place]) for place in places),
                tuple(finding.baselines[place] for place in places if finding.attack),
            )
            for line, places in sorted(held.items())
        )
        if lines:
            yield finding, Panel(f"curve-{index}", finding.title, lines, finding.attack)


def _failed(comparison: StudyComparison) -> Iterator[tuple[str, str, str]]:
    """Names of the points without a release, with status and reason; alike ones together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for point in comparison.points:
        if point.record is None:
            alike.setdefault((point.status, point.message), []).append(point.name)
    for (status, message), names in alike.items():
        yield listed(names, len(names), "; "), status, message


def _command(comparison: StudyComparison) -> str:
    """How to make the comparison again, as far as it is known."""
    plans = range(1, len(comparison.plans) + 1)
    names = ["plan.toml"] if len(plans) == 1 else [f"plan-{place}.toml" for place in plans]
    records = [point.record for point in comparison.points if point.record is not None]
    targets = {record.evidence.get("targets") for record in records} - {None}
    seeds = {record.seed for record in records} - {None}
    words = ["voile compare INPUT", *names, "--out DIR", f"--risk {comparison.risk}"]
    if comparison.loss:
        words.append(f"--loss {comparison.loss}")
    if len(targets) == 1:
        words.append(f"--targets {targets.pop()}")
    if len(seeds) == 1:
        words.append(f"--seed {seeds.pop()}")
    return " ".join(words)


def _frontier_chart(
    comparison: StudyComparison, loss: str, placed: Mapping[int, Placed]
) -> Chart | None:
    if not placed:
        return None
    axes = FrontierAxes(risk_title(comparison), loss, comparison.loss_better == "higher")
    title = "Risk against loss: no other release beats those on the dashed line in both"
    return draw_frontier("frontier", title, axes, tuple(dict.fromkeys(placed.values())))


def _curve_charts(
    findings: Sequence[GridSeries], sweep: Sweep | None
) -> Iterator[tuple[GridSeries, Chart]]:
    if sweep is None:
        return
    for finding, panel in _panels_of(findings, sweep):
        yield finding, draw_curves(panel, sweep.parameter, _MOST_LINES)


def _key_chart(sweep: Sweep | None) -> Chart | None:
    if sweep is None or len(sweep.lines) < 2:
        return None
    lines = [Line(name, style, ()) for style, name in enumerate(sweep.lines[:_MOST_LINES])]
    return draw_key("key", "Lines of the charts", lines)


def _rows(
    comparison: StudyComparison,
    placed: Mapping[int, Placed],
    findings: Sequence[GridSeries],
    swept: Sequence[str],
) -> Iterator[_Row]:
    for place, point in enumerate(comparison.points):
        yield _Row(
            point,
            tuple(
                value_text(point.parameters[name]) if name in point.parameters else NOTHING
                for name in swept
            ),
            placed.get(place),
            study_summary(point.record) if point.record else (),
            _promise_of(point.record) if point.record else "",
            tuple((f.title, f.shown(f.values[place])) for f in findings if place in f.values),
        )


def _winners(comparison: StudyComparison, findings: Sequence[GridSeries]) -> Iterator[_Winner]:
    for finding in findings:
        value, places = finding.best()
        names = [comparison.points[place].name for place in places]
        yield _Winner(finding, finding.shown(value), listed(names, 3, "; "))

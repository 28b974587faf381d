"""What stands in the report of one study: values for its template, and its charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voile.report.facts import facts_of
from voile.report.figures.canvas import Chart
from voile.report.figures.losses import Loss, draw_losses
from voile.report.figures.parts import draw_pairs, draw_parts
from voile.report.figures.rates import Rate, draw_rates
from voile.report.figures.shares import Shares, draw_shares
from voile.report.reading import (
    Attack,
    Measure,
    attacks_of,
    may_be_published,
    measures_of,
    pairs_of,
)
from voile.report.summary import study_summary
from voile.report.toml import toml_of
from voile.report.words import NOT_RECORDED, as_number, spoken
from voile.study.record import Distribution, StudyRecord

__all__ = ["promise_of", "repeat_of", "study_page"]

_FEWEST_FOR_A_MAP = 3
_WIDEST_MAP = 40
_EVIDENCE = {
    "targets": "targets of each attack",
    "held_out": "rows held out",
    "rehearsed": "measured on a release made like this one of fewer rows",
}
_PUBLISHABLE = {True: "yes", False: "no: it has a seed", None: NOT_RECORDED}
_ROLES = {
    "quasi_identifiers": "quasi-identifiers",
    "keep": "kept as they are",
}


@dataclass(frozen=True)
class _Moved:
    """A column with the chart of its distribution."""

    column: str
    role: str
    moved: float | None
    chart: Chart | None
    """Both are None where the record lacks a share."""


def study_page(record: StudyRecord) -> Mapping[str, Any]:
    """The values of the template ``study.html.j2``."""
    attacks, measures = attacks_of(record), measures_of(record)
    guarantee = record.release.get("guarantee") or {}
    return {
        "name": record.name,
        "publishable": may_be_published(record),
        "attacks_skipped": record.attacks_skipped,
        "utility_skipped": record.utility_skipped,
        "summary": study_summary(record),
        "published": tuple(_published(record)),
        "roles": tuple(_roles(record)),
        "settings": facts_of(_without(record.release.get("method", {}), "decision")),
        "decision": facts_of(record.release.get("method", {}).get("decision") or {}),
        "promise": promise_of(record),
        "assumes": _texts(guarantee.get("assumes")) if guarantee else (),
        "promised": facts_of(_without(guarantee, "statement", "assumes")),
        "notices": _texts(record.publication.get("notices")),
        "attacks": attacks,
        "attack_chart": attack_chart(attacks),
        "unmeasured": tuple(spoken(a.name) for a in attacks if a.rates is None),
        "measures": measures,
        "loss_chart": loss_chart(measures),
        "unplaced": tuple(measure.title for measure in measures if measure.lost is None),
        "part_charts": tuple(_part_charts(record, measures)),
        "distributions": tuple(_distributions(record)),
        "evidence": facts_of(
            {
                **dict.fromkeys(_EVIDENCE.values(), NOT_RECORDED),
                **{_EVIDENCE.get(name, name): value for name, value in record.evidence.items()},
            }
        ),
        **repeat_of(record),
    }


def promise_of(record: StudyRecord) -> str:
    """The guarantee in words."""
    statement = (record.release.get("guarantee") or {}).get("statement")
    return str(statement or "No guarantee is stated.")


def repeat_of(record: StudyRecord) -> Mapping[str, Any]:
    """What is needed to make a study again: its plan, the command, versions and seconds."""
    targets = record.evidence.get("targets")
    aimed = "" if targets is None else f" --targets {targets}"
    seed = "" if record.seed is None else f" --seed {record.seed}"
    return {
        "plan": toml_of(record.plan),
        "command": f"voile study INPUT --plan plan.toml --out DIR{aimed}{seed}",
        "seed": record.seed,
        "versions": tuple(record.versions.items()),
        "seconds": tuple((stage, as_number(spent)) for stage, spent in record.seconds.items()),
    }


def attack_chart(attacks: Sequence[Attack]) -> Chart | None:
    """All measured attacks in one chart, the most successful first; None without any."""
    found = [(spoken(a.name), a.rates) for a in attacks if a.rates is not None]
    rates = [
        Rate(name, one.targets, one.success, one.low, one.high, one.baseline, one.counted)
        for name, one in sorted(found, key=lambda pair: -pair[1].success)
    ]
    title = "Success of each attack, with its 95 % interval, beside guessing"
    return draw_rates("attacks", title, rates) if rates else None


def loss_chart(measures: Sequence[Measure]) -> Chart | None:
    """Measures whose scale has two ends, the kindest first; None where there is none."""
    losses = [
        Loss(m.title, m.value, m.untouched, m.useless)
        for m in sorted(measures, key=lambda measure: measure.lost or 0.0)
        if m.lost is not None
        and m.value is not None
        and m.untouched is not None
        and m.useless is not None
    ]
    title = "Each measure on its way from an untouched release to a useless one"
    return draw_losses("losses", title, losses) if losses else None


def _texts(texts: Sequence[str] | None) -> tuple[str, ...]:
    """A list of sentences; where the record lacks it, that is said."""
    return (NOT_RECORDED,) if texts is None else tuple(texts)


def _published(record: StudyRecord) -> Iterator[tuple[str, Any]]:
    release, publication = record.release, record.publication
    yield "rows published", as_number(release.get("rows"))
    for key, name in (
        ("rows_in", "rows of the original"),
        ("suppressed", "rows left out for good"),
        ("held", "rows held back for a later release"),
        ("carried", "rows carried over to the next pool"),
    ):
        value = as_number(publication.get(key))
        if value is None:
            yield name, NOT_RECORDED
        elif value or key == "rows_in":
            yield name, value
    if publication.get("objective") not in {None, ""}:
        objective = as_number(publication["objective"])
        yield "what the method minimised", objective or publication["objective"]
    if publication.get("summary"):
        yield "in short", publication["summary"]
    yield "may be published", _PUBLISHABLE[may_be_published(record)]
    yield "release", release.get("release_id")


def _roles(record: StudyRecord) -> Iterator[tuple[str, Sequence[str]]]:
    for role, names in (record.release.get("columns") or {}).items():
        if names:
            yield _ROLES.get(role, spoken(role).lower()), names


def _without(document: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    return {key: value for key, value in document.items() if key not in keys}


def _part_charts(record: StudyRecord, measures: Sequence[Measure]) -> Iterator[Chart]:
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
    released = [n for names in (record.release.get("columns") or {}).values() for n in names]
    stems = [n.removesuffix(".low").removesuffix(".high") for n in released]
    return list(dict.fromkeys([d.column for d in record.distributions] + released + stems))


def _distributions(record: StudyRecord) -> Iterator[_Moved]:
    for index, distribution in enumerate(record.distributions):
        if not distribution.labels:
            continue
        column, role, shares = distribution.column, distribution.role, _shares(distribution)
        if shares is None:
            yield _Moved(column, role, None, None)
        else:
            chart = draw_shares(f"distribution-{index}", column, shares)
            yield _Moved(column, role, shares.moved, chart)


def _shares(distribution: Distribution) -> Shares | None:
    """The shares of a column; None where the record lacks one."""
    before, after = (
        [share for share in map(as_number, shares) if share is not None]
        for shares in (distribution.before, distribution.after)
    )
    if not len(before) == len(after) == len(distribution.labels):
        return None
    edges = distribution.edges and [as_number(edge) for edge in distribution.edges]
    finite = [edge for edge in edges or () if edge is not None]
    return Shares(
        labels=tuple(map(str, distribution.labels)),
        edges=tuple(finite) if edges and len(finite) == len(edges) > 1 else None,
        before=tuple(before),
        after=tuple(after),
        numeric=distribution.kind not in {"date", "datetime", "time"},
    )

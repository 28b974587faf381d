"""Reports: one HTML file that opens offline, from the record of a study or of a comparison.

The page has no script and asks for nothing: styles and charts stand in it, and its content
security policy forbids the rest.  Every text of a record is escaped.  The same record gives the
same bytes.

Needs Jinja2 and matplotlib (``pip install 'voile[report]'``).

**Published tables** have a page for readers, public: every cell as it is published.  The last
dimension of a table goes across, where it has few enough values; the others go down.

**The dossier** is a release for those who decide, in a public and a private part, each a page.

The public part holds what everybody may know: what ``release.json`` says, what humans have ticked,
the policy, and rulings whose figures were counted on the published rows.  Of figures that were
computed with the private original it says only that they are within the limits: it is drawn of a
verdict that has passed, and of no other.

The private part is for those who say yes or no.  The worst-off person is told in words that give
nothing away: how likely, by whom, knowing which columns; never a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from voile.audit.record import AuditRecord
from voile.policy.checking import Verdict
from voile.policy.criteria.measured import Utility
from voile.policy.ruling import KNOWING, Ruling, Tick, tally_of, ticked
from voile.policy.stated import Policy
from voile.report.figures.canvas import Chart
from voile.report.figures.evidence import Gauge, draw_gauges
from voile.report.pages import (
    PUBLISHABLE,
    SEEDLESS,
    FleetTrip,
    FollowedFleet,
    attack_chart,
    comparison_page,
    fleet_page,
    loss_chart,
    study_page,
)
from voile.report.words import (
    NOTHING,
    AttackReading,
    MeasureReading,
    Share,
    column_losses,
    listed,
    number,
    one_in,
    percent,
    printable,
    reidentified,
    risk_told,
    shown_as,
    spoken,
    times,
)
from voile.signing import SignedBy
from voile.study.record import (
    PRIVATE,
    EstimateDocument,
    RiskDocument,
    StudyComparison,
    StudyRecord,
    rates_of,
)
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand, require_plotting
from voile_base.values import Document, Json

if TYPE_CHECKING:
    import jinja2
    import markupsafe
else:
    jinja2 = on_demand("jinja2")
    markupsafe = on_demand("markupsafe")

__all__ = [
    "Dossier",
    "HistoryLine",
    "render_comparison",
    "render_fleet",
    "render_protections",
    "render_study",
    "render_tables",
    "require_report",
]

_MEASURES = 8
"""Of utility, that fit on a page: those of the policy, and the first of the record."""


@dataclass(frozen=True)
class HistoryLine:
    """One line of the history that a ledger holds."""

    when: str
    what: str
    release: str
    spent: str
    here: bool
    """Whether it is the release of the dossier."""


@dataclass(frozen=True)
class Dossier:
    """What a dossier is drawn from."""

    name: str
    document: Document | None
    """What ``release.json`` says; None of a file of another make."""
    record: StudyRecord | AuditRecord
    verdict: Verdict
    policy: Policy
    ticks: tuple[Tick, ...]
    signatures: tuple[SignedBy, ...]
    history: tuple[HistoryLine, ...] | None
    """From the oldest to the newest; None where no ledger was named."""
    drawn: str = ""
    """When it was drawn, and of which verdict; a sentence without its subject."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """By column, the published value that most rows show, in words."""

    def render(self, *, public: bool) -> str:
        """The dossier of a release that was judged: its public part, or the private one.

        Raises ``InputError`` as ``render_study`` does, and for the public part of a verdict that
        has not passed.
        """
        require_report()
        return _render("dossier.html.j2", _dossier_page(self, public=public))


@dataclass(frozen=True)
class _Assumption:
    says: str
    by: str | None
    knowing: str
    """What is known otherwise, with which it is accepted; empty: nothing."""
    is_limit: bool
    """Whether it says what the promise does not cover, which is accepted and not confirmed."""


def _dossier_page(dossier: Dossier, *, public: bool) -> Document:
    """The values of the template ``dossier.html.j2``.

    Raises ``InputError`` where the public part is asked for of a verdict that has not passed.
    """
    if public and not dossier.verdict.passed:
        msg = (
            "the public part of a dossier says that all criteria are met, and they are not; the "
            "private part tells which"
        )
        raise InputError(msg)
    signed = {one.role for one in dossier.signatures}
    rulings = dossier.verdict.rulings
    return {
        "name": dossier.name,
        "public": public,
        "passed": dossier.verdict.passed,
        "drawn": dossier.drawn,
        "tally": tally_of([one.label for one in rulings]),
        "facts": (*_facts(dossier), *(() if public else _missing_rows(dossier))),
        "columns": tuple(_columns(dossier, public=public)),
        "promise": _promise(dossier),
        "assumptions": tuple(_assumptions(dossier)),
        "policy": dossier.policy,
        "rulings": [_line(one, public=public) for one in rulings],
        "passing": _PASSING,
        "advice": dossier.verdict.advice,
        "signatures": dossier.signatures,
        "unsigned": [one.role for one in dossier.policy.signers if one.role not in signed],
        **({} if public else _private(dossier)),
    }


def _private(dossier: Dossier) -> Document:
    record = dossier.record
    rehearsed = record.evidence["rehearsed"] if isinstance(record, StudyRecord) else ()
    attacks = tuple(AttackReading(a, rates_of(a), a["attack"] in rehearsed) for a in record.attacks)
    gauges = [found for risk in record.risks if (found := _gauge(risk)) is not None]
    asked = {one.measure for one in dossier.policy.criteria if isinstance(one, Utility)}
    measures = [MeasureReading(one, rehearsed=False) for one in record.utility]
    placed = [one for one in measures if one.lost is not None]
    chosen = sorted(placed, key=lambda one: one.document["measure"] not in asked)[:_MEASURES]
    title = "The three risks, each beside people who were not in the data, and guessing"
    return {
        "risk_chart": draw_gauges("risks", title, gauges) if gauges else None,
        "risks_rehearsed": isinstance(record, StudyRecord),
        "no_control": sorted({spoken(one["risk"]) for one in record.risks if not one["control"]}),
        "controlled": any(one.control is not None for one in gauges),
        "void": isinstance(record, AuditRecord) and record.control_void,
        "notices": tuple(
            f"{one[:1].upper()}{one[1:]}."
            for one in (record.notices if isinstance(record, AuditRecord) else ())
        ),
        "attack_chart": attack_chart(attacks),
        "reidentified": reidentified(record),
        "worst": _worst_off(attacks, dossier),
        "loss_chart": loss_chart(chosen),
        "more_measures": len(placed) - len(chosen),
        "history": dossier.history,
        "charged": _charged(dossier.document),
        "left_out": tuple(_left_out(dossier)),
        "all_named": isinstance(record, StudyRecord) and "columns_in" in record.publication,
        "loss": record.information_loss if isinstance(record, StudyRecord) else None,
    }


def _charged(document: Document | None) -> str:
    """What a ledger keeps the release under; empty where it charges nothing."""
    stated = {} if document is None else document
    series, data_set = stated.get("series"), stated.get("data_set")
    return "series" if series else "data set" if data_set else ""


def _facts(dossier: Dossier) -> Iterator[tuple[str, Any]]:
    yield (
        "recipient that the policy supposes",
        dossier.policy.audience or "not stated: say audience in the policy",
    )
    if dossier.policy.recipient:
        yield from dossier.policy.recipient.lines()
    for question in dossier.policy.legal_questions:
        yield "a lawyer must still decide", question
    if dossier.document is None:
        record = dossier.record
        rows = record.rows["released"] if isinstance(record, AuditRecord) else 0
        yield "rows published", rows
        yield "made by", "something else than Voile, which states nothing of how"
        return
    method = dossier.document["method"]
    yield "rows published", dossier.document["rows"]
    yield "method", spoken(str(method.get("name", "")))
    yield "release", dossier.document["release_id"]
    fit = dossier.document["publishable"]
    yield SEEDLESS, PUBLISHABLE[fit]


def _missing_rows(dossier: Dossier) -> Iterator[tuple[str, object]]:
    """Rows of the table that the release does not show; private."""
    record = dossier.record
    if isinstance(record, StudyRecord):
        made = record.publication
        if without := made["rows_in"] - made["rows_out"]:
            yield "rows of the table that are not shown (private)", without
        for notice in made["notices"]:
            yield "of rows (private)", notice


def _columns(dossier: Dossier, *, public: bool) -> Iterator[tuple[str, str]]:
    """Each column of the table with how it is shown, and what humans have ticked of it.

    Of a file of another make that was found out beside the private original; columns that the
    original lacks are there, too.
    """
    if dossier.document is None:
        assert isinstance(dossier.record, AuditRecord)
        for column in dossier.record.columns:
            if column["shown"] != "withheld":
                how = "is shown" if public else shown_as(column["shown"])
                name = ", ".join(column["of"]) if public else column["name"]
                yield name, "; ".join([how, *_vouched(dossier, column["of"])])
        for name in dossier.record.unused:
            yield name, "; ".join(["is shown", *_vouched(dossier, [name])])
        return
    lost = {} if isinstance(dossier.record, AuditRecord) else column_losses(dossier.record)
    for name, shown in dossier.document["columns"].items():
        kind = shown.get("kind", "") if isinstance(shown, Mapping) else ""
        if kind != "withheld":
            told = [shown_as(kind), *([] if (of := dossier.shown.get(name)) is None else [of])]
            if not public and name in lost:
                told.append(lost[name])
            yield name, "; ".join(told)


def _left_out(dossier: Dossier) -> Iterator[str]:
    """Columns of the original that are not published, as far as the record names them."""
    record = dossier.record
    if isinstance(record, AuditRecord):
        shown = {name for one in record.columns if one["shown"] != "withheld" for name in one["of"]}
        named = [one["name"] for one in record.columns if one["shown"] == "withheld"]
        yield from (name for name in named if name not in shown)
        return
    by_role = record.plan.get("roles", {}).values()
    roles = [[of] if isinstance(of, str) else of for of in by_role]
    named = [*(name for names in roles for name in names), *record.plan.get("columns", {})]
    named = record.publication.get("columns_in", named)
    published = record.release["columns"]
    yield from (name for name in dict.fromkeys(map(str, named)) if name not in published)


def _vouched(dossier: Dossier, columns: Sequence[str]) -> Iterator[str]:
    """What no adversary could read in columns of the file, and who says that it is harmless."""
    for ruling in dossier.verdict.rulings:
        if ruling.kind == "unexamined" and set(ruling.columns) & set(columns):
            by = ticked(ruling.asks, dossier.ticks)
            yield f"{ruling.asks}; " + (f"ticked by the {by}" if by else "not ticked")


def _promise(dossier: Dossier) -> str:
    said = "" if dossier.document is None else dossier.document["guarantee"]["statement"]
    return said or "Nothing is promised."


def _assumptions(dossier: Dossier) -> Iterator[_Assumption]:
    """Assumptions of the promise, whether the policy asks for them or not, and its questions.

    Between them stand what adversaries could not read.
    """
    guarantee = {} if dossier.document is None else dossier.document["guarantee"]
    assumed, open_ = guarantee.get("assumes", ()), guarantee.get("leaves_open", ())
    unexamined = [one.asks for one in dossier.verdict.rulings if one.kind == "unexamined"]
    for says in dict.fromkeys([*assumed, *unexamined, *dossier.policy.questions]):
        by, _, knowing = (ticked(says, dossier.ticks) or "").partition(KNOWING)
        yield _Assumption(says, by or None, knowing, says in open_ and not knowing)


_PASSING = ("met", "confirmed", "accepted", "not applicable")
_UNMET = {"STRADDLES": ": its interval straddles the limit", "MISSING": ": there is no figure"}
"""Why a criterion is not met whose figure is not beyond the limit."""


def _line(ruling: Ruling, *, public: bool) -> tuple[str, str, str, str]:
    """Ruling, what is asked, figure, how."""
    label = f"{ruling.label}{_UNMET.get(ruling.told, '')}"
    if ruling.waived:
        return label, ruling.asks, "not assessed", ruling.waived
    if public and ruling.of_original:
        return label, ruling.asks, "within the limit", "computed with the private original"
    return label, ruling.asks, _figure(ruling), ruling.why


_RISKS = frozenset({"risk", "attack", "worst-off", "re-identification"})
"""Kinds of criteria whose figures are risks."""


def _figure(ruling: Ruling) -> str:
    if ruling.value is None or ruling.low is None or ruling.high is None:
        return "none"
    if ruling.told == "not applicable":
        return "none"
    if ruling.low == ruling.high:
        if ruling.kind not in _RISKS or ruling.side != "most":
            return number(ruling.value)
        return f"{risk_told(ruling.value)}, the limit is {risk_told(ruling.limit)}"
    return f"{number(ruling.value, 3)} ({number(ruling.low, 3)} to {number(ruling.high, 3)})"


def _gauge(risk: RiskDocument) -> Gauge | None:
    main, guess = _ends(risk["main"]), _ends(risk["guess"])
    if main is None or guess is None:
        return None
    control = None if risk["control"] is None else _ends(risk["control"])
    name = f"{spoken(risk['risk'])}: {risk['of'].removeprefix('predicates of ')}"
    return Gauge(name, main, control, guess[0], risk["found"])


def _ends(one: EstimateDocument) -> tuple[float, float, float] | None:
    value, low, high = one["value"], one["low"], one["high"]
    return None if value is None or low is None or high is None else (value, low, high)


def _worst_off(attacks: Sequence[AttackReading], dossier: Dossier) -> tuple[str, ...]:
    """The person who is found most surely, in sentences without a value."""
    found = [(one.rates.worst, one) for one in attacks if one.rates and one.rates.worst is not None]
    if not found:
        return ("No attack names its worst-off target.",)
    worst, attack = max(found, key=lambda pair: pair[0])
    rates = attack.rates
    assert rates is not None
    often = one_in(worst)
    odds = rates.told(f"{percent(worst)}{f', or {often}' if often else ''}")
    known = attack.document["worst"]["known"] if attack.document["worst"] else {}
    names = [name for name in known if name in _known_names(dossier)]
    by = f", knowing {listed([repr(name) for name in names], 8)} of that person" if names else ""
    sentences = [
        f"Of the people whom adversaries were aimed at, the worst-off is found by "
        f"{spoken(attack.name).lower()} with a probability of {odds}{by}.",
        f"What counts as found: {attack.document['goal']}.",
    ]
    if not rates.exact and worst < 1 and attack.document.get("drawn_from") != rates.targets:
        sentences.append(f"It is the worst of {rates.told_targets}: another may be worse off.")
    return tuple(sentences)


def _known_names(dossier: Dossier) -> set[str]:
    """Names of columns, so that nothing else is taken for one."""
    record = dossier.record
    if isinstance(record, AuditRecord):
        return {column["name"] for column in record.columns}
    return {*record.release["columns"], *(n for names in record.roles.values() for n in names)}


_MOST_ACROSS = 12
_MOST_ROWS = 2_000
_SUPPRESSED = "suppressed"
"""What stands in place of a value that is not shown."""

Columns = Mapping[str, Sequence[Any]]
Row = list[Any]


def _tables_page(name: str, columns: Columns, statement: str) -> Json:
    """What the page shows of the columns of the file of tables, in which each row is a cell."""
    columns = _with_intervals(columns)
    named = dict.fromkeys(columns["table"])
    status = columns["status"]
    hidden = sum(one == _SUPPRESSED for one in status)
    return {
        "name": name,
        "summary": [
            f"{len(status):,} cells in {len(named):,} table{'s' * (len(named) > 1)}, of which "
            f"{hidden:,} are suppressed.",
            f"{statement}.",
        ],
        "sections": [section for title in named for section in _sections(title, columns)],
    }


def _with_intervals(columns: Columns) -> Columns:
    """Values with the intervals beside them, as texts; what has no value is suppressed."""
    if "status" in columns:
        return columns
    found: dict[str, Sequence[Any]] = {}
    for name, values in columns.items():
        low, high = (columns.get(f"{name}.{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            rows = zip(values, low, high, strict=True)
            found[name] = _IntervalTexts(
                None if value is None else f"{value:,.1f} [{least:,.0f}, {most:,.0f}]"
                for value, least, most in rows
            )
        elif not name.endswith((".low", ".high")):
            found[name] = values
    values = next(one for one in found.values() if isinstance(one, _IntervalTexts))
    found["status"] = [_SUPPRESSED if one is None else "published" for one in values]
    return found


class _IntervalTexts(list[str | None]):
    """Texts that are values with their intervals, not labels."""


def _sections(title: str, columns: Columns) -> list[Json]:
    """A section for each measure of a table."""
    rows = [place for place, one in enumerate(columns["table"]) if one == title]
    used = [name for name in columns if any(columns[name][row] is not None for row in rows)]
    texts = [n for n in used if n not in {"table", "status"} and _is_text(columns[n], rows)]
    measures = [n for n in columns if n not in {"table", "status", *texts} and n in used]
    found = []
    for measure in measures:
        whole = f"{title}: {measure}"
        heads, body = _crossed(columns, rows, texts, measure)
        left = max(len(body) - _MOST_ROWS, 0)
        found.append({"title": whole, "columns": heads, "rows": body[:_MOST_ROWS], "left": left})
    return found


def _is_text(values: Sequence[object], rows: Sequence[int]) -> bool:
    return not isinstance(values, _IntervalTexts) and isinstance(
        next(values[row] for row in rows if values[row] is not None), str
    )


def _crossed(
    columns: Columns, rows: Sequence[int], texts: Sequence[str], measure: str
) -> tuple[list[str], list[Row]]:
    """Names of columns, and rows: across what the last dimension has, if it is not too much."""

    def cell(row: int) -> Any:
        value = columns[measure][row]
        return _SUPPRESSED if columns["status"][row] == _SUPPRESSED else value

    across = list(dict.fromkeys(columns[texts[-1]][row] for row in rows))
    if len(texts) < 2 or len(across) > _MOST_ACROSS:
        body = [[*(columns[name][row] for name in texts), cell(row)] for row in rows]
        return [*texts, measure], body
    down: dict[tuple[Any, ...], dict[Any, Any]] = {}
    for row in rows:
        key = tuple(columns[name][row] for name in texts[:-1])
        down.setdefault(key, {})[columns[texts[-1]][row]] = cell(row)
    body = [[*key, *(values.get(one) for one in across)] for key, values in down.items()]
    return [*texts[:-1], *map(str, across)], body


def require_report() -> None:
    """Raise ``InputError`` where a library that reports need is not installed."""
    try:
        import jinja2  # noqa: F401, PLC0415 - it is an extra
    except ImportError:
        raise InputError("a report needs Jinja2: pip install 'voile[report]'") from None
    require_plotting("a report", "voile[report]")


def render_study(record: StudyRecord, fleet: FollowedFleet | None = None) -> str:
    """The report of one study, and of following its trips on a map where that was done; private.

    Raises ``InputError`` where Jinja2 or matplotlib are not installed.
    """
    require_report()
    return _render("study.html.j2", study_page(record, fleet))


def render_comparison(comparison: StudyComparison) -> str:
    """The report of a grid of studies; private.

    Raises ``InputError`` where Jinja2 or matplotlib are not installed.
    """
    require_report()
    return _render("comparison.html.j2", comparison_page(comparison))


def render_fleet(name: str, trips: Sequence[FleetTrip], notes: Sequence[str]) -> str:
    """The page of a fleet whose trips were followed; private.  Raises as ``render_study`` does."""
    require_report()
    return _render("fleet.html.j2", fleet_page(name, trips, notes))


def render_tables(name: str, columns: Mapping[str, Sequence[object]], statement: str) -> str:
    """The page of published tables; public.

    ``columns`` are those of the file, ``statement`` what is promised.  Raises ``InputError`` where
    Jinja2 or matplotlib are not installed.
    """
    require_report()
    return _render("tables.html.j2", _tables_page(name, columns, statement))


def render_protections(
    name: str,
    protections: Sequence[Mapping[str, object]],
    cells: Mapping[str, Sequence[object]],
) -> str:
    """The page of several protections of the same tables, side by side; private.

    ``protections`` has a row for each, ``cells`` the columns of all cells.  Raises ``InputError``
    where Jinja2 or matplotlib are not installed.
    """
    require_report()
    heads = ["protection", "cells shown", "shown exactly", "mean error", "largest error"]
    heads += ["totals add up", "small counts shown exactly"]
    rows = [
        [
            one["name"],
            *(f"{100 * float(str(one[key])):.1f} %" for key in ("shown", "exact")),
            *(f"{float(str(one[key])):,.4g}" for key in ("mean_error", "largest_error")),
            "yes" if one["additive"] else "no",
            one["few_exact"],
        ]
        for one in protections
    ]
    body = [list(row) for row in zip(*cells.values(), strict=True)]
    left = max(len(body) - _MOST_ROWS, 0)
    sections = [
        {"title": "Protections", "columns": heads, "rows": rows, "left": 0},
        {"title": "Cells", "columns": list(cells), "rows": body[:_MOST_ROWS], "left": left},
    ]
    page = {"name": name, "summary": [PRIVATE], "sections": sections}
    return _render("tables.html.j2", page)


def _render(template: str, page: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(private=PRIVATE, **page)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("voile.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters.update(
        cell=_cell,
        number=number,
        percent=percent,
        risk=risk_told,
        spoken=spoken,
        times=times,
        lines=lambda text: markupsafe.Markup("{}").format(text),
        svg=_svg,
    )
    return environment


def _svg(chart: Chart) -> markupsafe.Markup:
    """The drawing of a chart, in which matplotlib has escaped every text."""
    return markupsafe.Markup(chart.svg)


def _cell(value: object) -> markupsafe.Markup:
    """One cell of a table: numbers for readers, with the exact one beside; names kept apart."""
    match value:
        case None:
            return markupsafe.Markup.escape(NOTHING)
        case Share():
            return markupsafe.Markup('<data value="{}">{}</data>').format(
                repr(float(value)), percent(value)
            )
        case int() | float() if not isinstance(value, bool):
            return markupsafe.Markup('<data value="{}">{}</data>').format(
                repr(value), number(value)
            )
        case _:
            return markupsafe.Markup("<bdi>{}</bdi>").format(printable(value))

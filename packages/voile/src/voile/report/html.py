"""Reports: one HTML file that opens offline, from the record of a study or of a comparison.

The page has no script and asks for nothing: styles and charts stand in it, and its content
security policy forbids the rest.  Every text of a record is escaped.  The same record gives the
same bytes.

Needs Jinja2 and matplotlib (``pip install 'voile[report]'``).

The page of published tables: every cell as it is published, for readers; public.

The last dimension of a table goes across, where it has few enough values; the others go down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voile.report.dossier_page import Dossier, dossier_page
from voile.report.figures.canvas import Chart
from voile.report.pages import FleetTrip, FollowedFleet, comparison_page, fleet_page, study_page
from voile.report.words import NOTHING, Share, number, percent, printable, spoken, times
from voile.study.record import PRIVATE, StudyComparison, StudyRecord
from voile_base.errors import InputError
from voile_base.ondemand import on_demand, require_plotting
from voile_base.values import Json

if TYPE_CHECKING:
    import jinja2
    import markupsafe
else:
    jinja2 = on_demand("jinja2")
    markupsafe = on_demand("markupsafe")

__all__ = [
    "render_comparison",
    "render_dossier",
    "render_fleet",
    "render_protections",
    "render_study",
    "render_tables",
    "require_report",
]


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


def render_dossier(dossier: Dossier, *, public: bool) -> str:
    """The dossier of a release that was judged: its public part, or the private one.

    Raises ``InputError`` as ``render_study`` does, and for the public part of a verdict that has
    not passed.
    """
    require_report()
    return _render("dossier.html.j2", dossier_page(dossier, public=public))


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

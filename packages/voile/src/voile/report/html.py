"""Reports: one HTML file that opens offline, from the record of a study or of a comparison.

The page has no script and asks for nothing: styles and charts stand in it, and its content
security policy forbids the rest.  Every text of a record is escaped.  The same record gives the
same bytes.

Needs Jinja2 and matplotlib (``pip install 'voile[report]'``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voile.report.comparison_page import comparison_page
from voile.report.dossier_page import Dossier, dossier_page
from voile.report.figures.canvas import Chart
from voile.report.fleet_page import FleetTrip, FollowedFleet, fleet_page
from voile.report.study_page import study_page
from voile.report.tables_page import tables_page
from voile.report.words import NOTHING, Share, number, percent, printable, spoken, times
from voile.study.record import PRIVATE, StudyComparison, StudyRecord
from voile_base.errors import InputError
from voile_base.plotting import require_plotting

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = [
    "render_comparison",
    "render_dossier",
    "render_fleet",
    "render_study",
    "render_tables",
    "require_report",
]


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


def render_tables(name: str, columns: Mapping[str, Sequence[Any]], statement: str) -> str:
    """The page of published tables; public.

    ``columns`` are those of the file, ``statement`` what is promised.  Raises ``InputError`` where
    Jinja2 or matplotlib are not installed.
    """
    require_report()
    return _render("tables.html.j2", tables_page(name, columns, statement))


def _render(template: str, page: Mapping[str, Any]) -> str:
    return _environment().get_template(template).render(private=PRIVATE, **page)


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415
    from markupsafe import Markup  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("voile.report"),
        autoescape=True,
        undefined=StrictUndefined,
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
        lines=lambda text: Markup("{}").format(text),
        svg=_svg,
    )
    return environment


def _svg(chart: Chart) -> Markup:
    """The drawing of a chart, in which matplotlib has escaped every text."""
    from markupsafe import Markup  # noqa: PLC0415

    return Markup(chart.svg)  # noqa: S704


def _cell(value: object) -> Markup:
    """One cell of a table: numbers for readers, with the exact one beside; names kept apart."""
    from markupsafe import Markup  # noqa: PLC0415

    match value:
        case None:
            return Markup.escape(NOTHING)
        case Share():
            return Markup('<data value="{}">{}</data>').format(repr(float(value)), percent(value))
        case int() | float() if not isinstance(value, bool):
            return Markup('<data value="{}">{}</data>').format(repr(value), number(value))
        case _:
            return Markup("<bdi>{}</bdi>").format(printable(value))

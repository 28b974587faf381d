"""What all screens share: templates, ways back, a page for an error."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException

from voile.report.words import percent, risk_told, spoken
from voile_base.errors import InputError, RefusedError, VoileError
from voile_studio.guard import REPORT_POLICY
from voile_studio.jobs import told_as_command
from voile_studio.pictures import SHARES
from voile_studio.planning import change_told, levels_told
from voile_studio.project import Project, Start
from voile_studio.words import (
    GUESSES,
    alternatives,
    change_text,
    excess_told,
    in_percent,
    method_told,
    most_error,
    odds_told,
    parameters_told,
    without_toml,
)

__all__ = ["Pages", "static_file"]


_TYPES = {
    "svg": "image/svg+xml",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_KIB = 1024
_MINUTE, _MINUTES_FROM = 60, 90
_OURS = re.compile(r"[a-z0-9]+(/[a-z0-9]+){0,3}")


class Pages:
    """The templates of one folder's Studio."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self._environment = Environment(
            loader=PackageLoader("voile_studio"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(
            count=_count,
            percent=_percent,
            risk=_risk,
            bytes=_bytes,
            duration=_duration,
            capital=lambda text: text[:1].upper() + text[1:],
            alternatives=alternatives,
            in_percent=in_percent,
            plainly=without_toml,
            spoken=spoken,
            levels=levels_told,
            command=told_as_command,
        )
        self._environment.tests["interval_end"] = lambda name: name.endswith((".low", ".high"))
        self._environment.globals.update(
            odds_told=odds_told,
            most_error=most_error,
            as_shares=SHARES,
            guesses=GUESSES,
            change_told=change_told,
            change_text=change_text,
            parameters_told=parameters_told,
            method_told=method_told,
            excess_told=excess_told,
        )

    def project(self, name: str) -> Project:
        """The project of an address; raises ``InputError`` where there is none."""
        return self.start.find_project(name)

    def show(
        self, template: str, project: Project | None, *, status: int = 200, **page: object
    ) -> HTMLResponse:
        """A page; ``screen`` marks where it is."""
        text = self._environment.get_template(template).render(
            project=project, screen=template.partition(".")[0], **page
        )
        return HTMLResponse(text, status)

    def report(self, project: Project, path: Path, back: str) -> Response:
        """A page that a command has drawn, which carries its style and runs nothing.

        Above it a link leads ``back`` to a screen.  Raises ``InputError`` where it is not there.
        """
        try:
            drawn = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            msg = "that page was not drawn yet"
            raise InputError(msg) from None
        link = self._environment.get_template("back.html").render(project=project, back=back)
        page = drawn.replace("<body>", f"<body>\n{link}", 1)
        return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})

    def to(self, project: Project, path: str) -> Response:
        """Go on to a page of the project, by GET."""
        return RedirectResponse(f"/p/{quote(project.name, safe='')}/{path}", 303)

    def back(self, request: Request, project: Project) -> Response:
        """Go back to the page that the form stood on, of those of the project."""
        referred = request.headers.get("referer", "")
        _, _, path = referred.partition(f"/p/{quote(project.name, safe='')}/")
        return self.to(project, path if _OURS.fullmatch(path) else "data")

    async def refused(self, request: Request, error: Exception) -> Response:
        """What is wrong, where, and what to do."""
        status = 409 if isinstance(error, RefusedError) else 400
        assert isinstance(error, VoileError)
        return self._error(request, status, str(error))

    async def no_room(self, request: Request, error: Exception) -> Response:
        """A disk that is full, or that takes nothing else."""
        assert isinstance(error, OSError)
        why = error.strerror or "input or output error"
        told = f"The disk does not take it: {why}. Nothing was begun; mend that, and try again."
        return self._error(request, 507, told)

    async def wrong_form(self, request: Request, error: Exception) -> Response:
        """A form that no page of ours sends."""
        del error
        return self._error(request, 400, "This form lacks a field, or a field cannot be read.")

    async def no_page(self, request: Request, error: Exception) -> Response:
        """An address that leads nowhere."""
        assert isinstance(error, HTTPException)
        told = {404: "There is no such page.", 405: "This page cannot be called like that."}
        return self._error(request, error.status_code, told.get(error.status_code, "Refused."))

    def _error(self, request: Request, status: int, message: str) -> Response:
        if request.headers.get("hx-request") == "true":
            return PlainTextResponse(without_toml(message), status)
        back, origin = "", f"//{request.headers.get('host', '')}/"
        _, _, path = request.headers.get("referer", "").partition(origin)
        if path:
            back = f"/{path.lstrip('/')}"
        project = self._project_of(request)
        return self.show("error.html", project, status=status, message=message, back=back)

    def _project_of(self, request: Request) -> Project | None:
        """The project of an address that was refused, whose menu then stands above the message."""
        try:
            return self.project(request.path_params["name"])
        except (KeyError, VoileError, OSError):
            return None


async def static_file(name: str) -> Response:
    """A file of ours."""
    kind = _TYPES.get(name.rpartition(".")[2])
    entry = files("voile_studio") / "static" / name
    if kind is None or "/" in name or not entry.is_file():
        raise HTTPException(404)
    return Response(entry.read_bytes(), media_type=kind, headers={"Cache-Control": "no-cache"})


def _count(number: float) -> str:
    return f"{number:,}"


def _percent(share: float | None) -> str:
    """A share as reports tell it, with a space at which lines break; empty for none."""
    return "" if share is None else percent(share).replace("\xa0", " ")


def _risk(share: float | None) -> str:
    """A risk or its limit as reports tell it; empty for none."""
    return "" if share is None else risk_told(share).replace("\xa0", " ")


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < _KIB or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= _KIB
    return ""


def _duration(seconds: float) -> str:
    """A time as people say it: to the second below a minute and a half, then to the minute."""
    if seconds < _MINUTES_FROM:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min"

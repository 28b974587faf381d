"""``voile share``: the service that shares live locations with the parties of a parcel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say, telling_what_is_done

if TYPE_CHECKING:
    from voile_share.platform import Platform
    from voile_share.service import app as service_app
    from voile_share.service import folder as service_folder
    from voile_share.service import serving as service_serving
    from voile_share.store import Company
else:
    service_app = on_demand("voile_share.service.app")
    service_folder = on_demand("voile_share.service.folder")
    service_serving = on_demand("voile_share.service.serving")

__all__: list[str] = []

_ELSEWHERE = {
    "arrivals": ("carrier", "what a company's past tours teach, and how well that held"),
    "carrier": ("carrier", "say on which truck a parcel is, in which depot, or delivered"),
    "audit": ("operator", "show what people did on the operator's page"),
    "backup": ("operator", "write a service to one file, while it runs"),
    "chain": ("chain", "keep reports on a chain instead of the store"),
    "demo": ("demo", "start everything on this machine and drive a few trucks"),
    "link": ("operator", "list, search and revoke the links of companies"),
    "party": ("party", "hold the keys of a parcel's parties, and make their links"),
    "roads": ("roads", "make the road map that the tracking page draws"),
    "restore": ("operator", "make a folder of a backup"),
    "retention": ("operator", "for how many days a company's data are kept"),
    "rotate-keys": ("operator", "seal what the store holds by another key"),
    "set-back": ("operator", "take back what a truck has published ahead of time"),
    "truck": ("truck", "perturb, encrypt and publish on the truck itself"),
    "upgrade": ("operator", "lead a store to the format of this Voile"),
    "user": ("operator", "say who may sign in to the operator's page"),
    "verify": ("chain", "check a truck's records on a chain"),
}
"""Commands by their names: the module of each, and what it does."""
_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_COMPANY = click.argument("company_number", metavar="COMPANY")


class _Commands(click.Group):
    """A group some of whose commands stand in modules of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        members = vars(import_module(f"{__package__}.{_ELSEWHERE[cmd_name][0]}")).values()
        return next(m for m in members if isinstance(m, click.Command) and m.name == cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        here = {name: one.get_short_help_str(100) for name, one in self.commands.items()}
        with formatter.section("Commands"):
            elsewhere = {name: does for name, (_, does) in _ELSEWHERE.items()}
            formatter.write_dl(sorted({**here, **elsewhere}.items()))


@click.group("share", cls=_Commands)
def _share() -> None:
    """Show the parties of a parcel where it is, and nobody else.

    A service lives in a FOLDER, which `init` makes. It is private: whoever has it reads positions.
    """


@_share.command("init", short_help="set a service up in a new folder")
@_FOLDER
@click.option(
    "--address",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="What people type: links begin with it. The port of an address of http is the one where "
    "the service listens.",
)
@json_option
def _init(folder: Path, address: str, *, as_json: bool) -> None:
    """Set a service up in FOLDER: share.toml, vault.key and share.db.

    An address of https is that of a proxy, which passes requests on to port 8080 of this machine
    unless share.toml says otherwise.

    vault.key opens what share.db keeps sealed. Keep copies of the two apart.
    """
    service_folder.create(folder, address)
    with telling_what_is_done(f"the service stands in {folder}"):
        say(f"{folder}: set up. Look through share.toml, then: voile share serve {folder}")
        if as_json:
            print_json({"folder": str(folder), "address": address})


@_share.command("company", short_help="open a company, and print its token")
@_FOLDER
@click.argument("name")
@json_option
def _company(folder: Path, name: str, *, as_json: bool) -> None:
    """Open a company named NAME and print its token, which is shown this once.

    No two open companies have one name: for a lost token see `token`.
    """
    with _platform(folder) as platform:
        _check_name_is_free(platform, name)
        opened, token = platform.open_company(name)
    _show_company(opened, token, "the company was opened", as_json=as_json)


def _check_name_is_free(platform: Platform, name: str) -> None:
    """Raise ``InputError`` where an open company has a name."""
    for known in platform.companies():
        if known.company.closed is None and known.company.name == name.strip():
            number = known.company.company
            msg = (
                f"there is an open company of this name already, number {number}: for a new token "
                f"use `voile share token`, or take another name"
            )
            raise InputError(msg)


def _show_company(opened: Company, token: str, done: str, *, as_json: bool) -> None:
    with telling_what_is_done(done):
        if as_json:
            print_json({"company": opened.company, "name": opened.name, "token": token})
        else:
            click.echo(token)
            say(f"company {opened.company}: this token is not shown again")


@_share.command("token", short_help="replace a company's token")
@_FOLDER
@_COMPANY
@click.option(
    "--overlap",
    metavar="HOURS",
    type=click.FloatRange(0, 744),
    default=0.0,
    help="For how long the old tokens still open, so that programs can change over [default: 0].",
)
@json_option
def _token_command(folder: Path, company_number: str, overlap: float, *, as_json: bool) -> None:
    """Print a new token of COMPANY, named by its number; its old ones are refused from now on.

    Trucks, trackers and links stay as they are.
    """
    with _platform(folder) as platform:
        renewed, token = platform.renew_company(company_number, overlap)
    _show_company(renewed, token, "the token was replaced", as_json=as_json)


@_share.command("list", short_help="show companies and auditors")
@_FOLDER
@json_option
def _list_command(folder: Path, *, as_json: bool) -> None:
    """Show who is let in: companies with their numbers, and auditors. Tokens are never shown.

    Trucks are those that are not retired, tokens those that are neither revoked nor expired.
    """
    with _platform(folder) as platform:
        companies, auditors = platform.companies(), platform.auditors()
    if as_json:
        print_json(
            {
                "companies": [
                    {
                        "company": one.company.company,
                        "name": one.company.name,
                        "trucks": one.trucks,
                        "opened": one.company.created,
                        "closed": one.company.closed,
                    }
                    for one in companies
                ],
                "auditors": [
                    {"name": one.name, "since": one.since, "tokens": one.tokens} for one in auditors
                ],
            }
        )
        return
    print_table(
        ("company", "name", "trucks", "opened", "closed"),
        [
            (
                one.company.company,
                one.company.name,
                one.trucks,
                _day(one.company.created),
                None if one.company.closed is None else _day(one.company.closed),
            )
            for one in companies
        ],
    )
    if auditors:
        click.echo()
        rows = [(one.name, one.tokens, _day(one.since)) for one in auditors]
        print_table(("auditor", "tokens", "since"), rows)


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


@_share.command("close", short_help="close a company with all that is its")
@_FOLDER
@_COMPANY
def _close(folder: Path, company_number: str) -> None:
    """Close COMPANY, named by its number: its tokens, devices and links are refused from now on."""
    with _platform(folder) as platform:
        platform.close_company(company_number)
    say(f"company {company_number}: closed")


@_share.command("auditor", short_help="admit an auditor, and print the token")
@_FOLDER
@click.argument("name")
@click.option("--revoke", is_flag=True, help="Refuse all tokens of NAME from now on, instead.")
@json_option
def _auditor(folder: Path, name: str, *, revoke: bool, as_json: bool) -> None:
    """Admit an auditor named NAME and print the token, which is shown this once.

    It opens the signed records of all trucks: who published when, no location and no party.
    """
    with _platform(folder) as platform:
        if revoke:
            revoked = platform.revoke_auditor(name)
        else:
            token = platform.open_auditor(name)
    if revoke:
        say(f"auditor {name}: {revoked} {'token is' if revoked == 1 else 'tokens are'} refused now")
        if as_json:
            print_json({"name": name, "revoked": revoked})
        return
    with telling_what_is_done("the auditor was admitted"):
        if as_json:
            print_json({"name": name, "token": token})
        else:
            click.echo(token)
            say("this token is not shown again")


@_share.command("forget", short_help="forget what a company's past drives have taught")
@_FOLDER
@_COMPANY
def _forget(folder: Path, company_number: str) -> None:
    """Forget the past drives of COMPANY, from which arrivals are learnt: all of it, and the table.

    Its key is deleted with it, so that copies of the store are all that is left.
    """
    with _platform(folder) as platform:
        known = [one.company for one in platform.companies()]
        found = [one for one in known if one.company == company_number]
        if not found:
            msg = f"there is no company {company_number}"
            raise InputError(msg)
        had = platform.forget_arrivals(found[0])
    say(f"company {company_number}: {'forgotten' if had else 'there was nothing to forget'}")


@_share.command("serve", short_help="run the service")
@_FOLDER
@click.option("--host", help="Where to listen [default: of share.toml, else 127.0.0.1].")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="0 takes a free one [default: of share.toml, else 8080].",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes; more than one needs PostgreSQL.",
)
@click.option(
    "--log",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="What is written to standard error: sentences, or one JSON object a line.",
)
@json_option
def _serve(
    folder: Path, host: str | None, port: int | None, workers: int, log: str, *, as_json: bool
) -> None:
    """Run the service of FOLDER until it is interrupted."""
    tell = _tell_as_json if log == "json" else _tell

    def ready(host: str, port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        tell(f"listening on http://{shown}:{port}; stop by SIGTERM or Ctrl+C")
        if as_json:
            print_json({"host": host, "port": port})

    service_serving.serve(folder, host=host, port=port, workers=workers, ready=ready, tell=tell)
    tell("stopped")


@_share.command("openapi", short_help="print the OpenAPI description")
def _openapi() -> None:
    """Print the OpenAPI description of the service, as JSON."""
    print_json(service_app.description())


def _tell(message: str) -> None:
    say(f"voile: {message}")


def _tell_as_json(message: str) -> None:
    """Without anything of a request, as all that the operator is told."""
    level = "error" if message.startswith("a fault of Voile") else "info"
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    say(json.dumps({"time": now, "level": level, "service": "voile-share", "message": message}))


@contextmanager
def _platform(folder: Path) -> Iterator[Platform]:
    """The platform of a folder; a service may run on it at the same time."""
    platform = service_folder.open_platform(folder, service_folder.Configuration.read(folder))
    try:
        yield platform
    finally:
        platform.close()

"""``voile share user`` and ``link``: who may sign in, and the links of companies.

``voile share user``: who may sign in to the operator's page.

``voile share link``: the links of a service's companies, for its operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say, telling_what_is_done

if TYPE_CHECKING:
    from voile_share import store
    from voile_share.platform import Platform
    from voile_share.service import care as service_care
    from voile_share.service import folder as service_folder
    from voile_share.service.operator import users as operator_users
    from voile_share.service.operator.users import NewCredentials, Users
    from voile_share.store import Company
else:
    service_care = on_demand("voile_share.service.care")
    service_folder = on_demand("voile_share.service.folder")
    operator_users = on_demand("voile_share.service.operator.users")
    store = on_demand("voile_share.store")

__all__: list[str] = []


_FOLDER = click.argument("folder", type=click.Path(path_type=Path))


@click.group("user", short_help="who may sign in to the operator's page")
def _user() -> None:
    """Say who may sign in to the operator's page, at /operator of the service."""


@_user.command("add", short_help="let somebody in")
@_FOLDER
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(("viewer", "dispatcher", "operator")),
    required=True,
    help="A viewer looks at one company, a dispatcher may revoke its links, an operator sees all.",
)
@click.option("--company", "company_number", metavar="COMPANY", help="The number of the company.")
@json_option
def _add(folder: Path, name: str, role: str, company_number: str | None, *, as_json: bool) -> None:
    """Let NAME in, and print a password and a second factor, which are shown this once.

    The second factor is an address (otpauth:) for an app that makes codes.
    """
    with _users(folder) as (users, who):
        admitted = users.add(name, store.UserRole(role), company_number, who)
    _show(admitted, as_json=as_json)


@_user.command("list", short_help="show who may sign in")
@_FOLDER
@json_option
def _list_users(folder: Path, *, as_json: bool) -> None:
    """Show names, roles and companies; never passwords."""
    with _users(folder) as (users, _):
        everybody = users.all()
    if as_json:
        print_json(
            [
                {
                    "name": one.name,
                    "role": one.role,
                    "company": one.company,
                    "since": one.created,
                    "disabled": one.disabled,
                }
                for one in everybody
            ]
        )
        return
    print_table(
        ("name", "role", "company", "since", "disabled"),
        [
            (one.name, str(one.role), one.company, _day(one.created), _day(one.disabled))
            for one in everybody
        ],
    )


def _day(seconds: float | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


@_user.command("disable", short_help="let somebody in no more")
@_FOLDER
@click.argument("name")
def _disable(folder: Path, name: str) -> None:
    """Let NAME in no more, and end all sessions; `reset` lets them in again."""
    with _users(folder) as (users, who):
        users.disable(name, who)
    say(f"{name}: disabled")


@_user.command("reset", short_help="give another password and second factor")
@_FOLDER
@click.argument("name")
@json_option
def _reset(folder: Path, name: str, *, as_json: bool) -> None:
    """Give NAME another password and second factor, and end all sessions.

    Who was disabled is let in again.
    """
    with _users(folder) as (users, who):
        admitted = users.reset(name, who)
    _show(admitted, as_json=as_json)


def _show(admitted: NewCredentials, *, as_json: bool) -> None:
    with telling_what_is_done("the user was admitted"):
        if as_json:
            print_json(
                {
                    "name": admitted.user.name,
                    "password": admitted.password,
                    "second_factor": admitted.uri,
                }
            )
        else:
            click.echo(f"password       {admitted.password}")
            click.echo(f"second factor  {admitted.uri}")
            say("these are not shown again")


@contextmanager
def _users(folder: Path) -> Iterator[tuple[Users, str]]:
    with service_care.users_of(folder, service_folder.Configuration.read(folder)) as users:
        yield users, operator_users.COMMAND_LINE


_COMPANY = click.option(
    "--company", "number", metavar="COMPANY", help="Its number [default: all that are open]."
)


@click.group("link", short_help="List, search and revoke the links of companies.")
def _link_group() -> None:
    """Find out whose link it is that a customer asks about, and close links.

    What opens a report is in none of this: neither the number of a link nor its keys are kept.
    """


@_link_group.command("list", short_help="list links, or search them by label")
@_FOLDER
@_COMPANY
@click.option("--search", default="", metavar="WORDS", help="Only those whose label holds WORDS.")
@json_option
def _list_command(folder: Path, number: str | None, search: str, *, as_json: bool) -> None:
    """Show the links of the service of FOLDER that have not expired, revoked ones too."""
    with _platform(folder) as platform:
        rows = [
            _row(company, one.link, one.label)
            for company in _companies(platform, number)
            for one in platform.links_of(company, search)
        ]
    if as_json:
        print_json({"links": rows})
        return
    names = ("id", "company", "label", "to", "created", "expires", "revoked")
    print_table(names, [[_shown(name, row) for name in names] for row in rows])


@_link_group.command("revoke", short_help="close a link by its id")
@_FOLDER
@click.argument("identity", metavar="ID")
def _revoke_command(folder: Path, identity: str) -> None:
    """Close the link of an ID as `list` shows it; feeds by it end within seconds.

    It stands in the log that `voile share audit` shows.
    """
    if len(identity) != 16 or not set(identity) <= set("0123456789abcdef"):
        msg = "the id of a link is 16 hexadecimal digits: voile share link list"
        raise InputError(msg)
    with _platform(folder) as platform:
        for company in _companies(platform, None):
            if any(one.link.identity == identity for one in platform.links_of(company)):
                platform.revoke_link_of(company, identity)
                _log(platform, identity, company)
                say(f"link {identity}: revoked")
                return
    msg = f"there is no link {identity} that has not expired"
    raise InputError(msg)


def _log(platform: Platform, identity: str, company: Company) -> None:
    """Write it into the audit log, as for what is done on the operator's page."""
    journal = operator_users.Journal(platform.directory, platform.clock)
    journal.write(operator_users.COMMAND_LINE, "link revoked", identity, company.company)


def _platform(folder: Path) -> closing[Platform]:
    return closing(service_folder.open_platform(folder, service_folder.Configuration.read(folder)))


def _companies(platform: Platform, number: str | None) -> list[Company]:
    known = [one.company for one in platform.companies()]
    if number is None:
        return [one for one in known if one.closed is None]
    found = [one for one in known if one.company == number]
    if not found:
        msg = f"there is no company {number}"
        raise InputError(msg)
    return found


def _row(company: Company, link: Any, label: str) -> dict[str, Any]:
    return {
        "id": link.identity,
        "company": company.name,
        "label": label,
        "to": "a parcel" if link.follows_parcel else "a truck",
        "truck": None if link.truck is None else link.truck.hex(),
        "created": link.created,
        "expires": link.expires,
        "revoked": link.revoked,
    }


def _shown(name: str, row: dict[str, Any]) -> Any:
    value = row[name]
    if name in {"created", "expires", "revoked"} and value is not None:
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M}"
    return value

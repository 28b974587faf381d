"""``voile share user``: who may sign in to the operator's page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say, telling_what_is_done

if TYPE_CHECKING:
    from voile_share.service.operator.users import NewCredentials, Users

__all__ = ["user"]

_FOLDER = click.argument("folder", type=click.Path(path_type=Path))


@click.group(short_help="who may sign in to the operator's page")
def user() -> None:
    """Say who may sign in to the operator's page, at /operator of the service."""


@user.command(short_help="let somebody in")
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
def add(folder: Path, name: str, role: str, company_number: str | None, *, as_json: bool) -> None:
    """Let NAME in, and print a password and a second factor, which are shown this once.

    The second factor is an address (otpauth:) for an app that makes codes.
    """
    with _users(folder) as (users, who):
        from voile_share.store import UserRole  # noqa: PLC0415

        admitted = users.add(name, UserRole(role), company_number, who)
    _show(admitted, as_json=as_json)


@user.command("list", short_help="show who may sign in")
@_FOLDER
@json_option
def list_users(folder: Path, *, as_json: bool) -> None:
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


@user.command(short_help="let somebody in no more")
@_FOLDER
@click.argument("name")
def disable(folder: Path, name: str) -> None:
    """Let NAME in no more, and end all sessions; `reset` lets them in again."""
    with _users(folder) as (users, who):
        users.disable(name, who)
    say(f"{name}: disabled")


@user.command(short_help="give another password and second factor")
@_FOLDER
@click.argument("name")
@json_option
def reset(folder: Path, name: str, *, as_json: bool) -> None:
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
    from voile_share.service.care import users_of  # noqa: PLC0415
    from voile_share.service.folder import Configuration  # noqa: PLC0415
    from voile_share.service.operator.journal import COMMAND_LINE  # noqa: PLC0415

    with users_of(folder, Configuration.read(folder)) as users:
        yield users, COMMAND_LINE

"""``voile share`` for its operator: users, links, backups, keys, formats, audits, retention."""

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
from voile_base.values import Json

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


def _row(company: Company, link: Any, label: str) -> Json:
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


def _shown(name: str, row: Json) -> Any:
    value = row[name]
    if name in {"created", "expires", "revoked"} and value is not None:
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M}"
    return value


@click.command("backup", short_help="write a service to one file, while it runs")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--new-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make the recovery key, which opens what backups hold sealed, in a new FILE: to be kept "
    "elsewhere. Once for a folder.",
)
@json_option
def _backup(folder: Path, file: Path | None, new_key: Path | None, *, as_json: bool) -> None:
    """Write the service of FOLDER to a new FILE, while it runs.

    The store is that of one instant, of SQLite or PostgreSQL. share.toml, keys and passwords are
    sealed for the recovery key, whose secret half this machine need not have. `voile share
    restore` makes a folder of it.
    """
    if file is None and new_key is None:
        msg = "name the file of the backup, or --new-key for a recovery key"
        raise click.UsageError(msg)
    configuration = service_folder.Configuration.read(folder)
    if new_key is not None:
        service_care.new_recovery_key(folder, new_key)
        say(f"{new_key}: the recovery key. Keep it elsewhere: without it no backup gives keys back")
    if file is None:
        return
    made = service_care.write_backup(folder, configuration, file)
    size = file.stat().st_size
    with telling_what_is_done(f"the backup stands in {file}"):
        say(f"{file}: {size / 1e6:,.1f} MB")
        if as_json:
            print_json({"file": str(file), "bytes": size, "made": made.made})


@click.command("restore", short_help="make a folder of a backup")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--key",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The recovery key.",
)
@click.option(
    "--database",
    metavar="ADDRESS",
    help="Fill this empty database in PostgreSQL, and name it in share.toml; without it the one "
    "that share.toml names, or SQLite.",
)
@json_option
def _restore(file: Path, folder: Path, key: Path, database: str | None, *, as_json: bool) -> None:
    """Make a new FOLDER of the backup in FILE, and look whether it is sound.

    What was taken after the backup was made is not in it: trucks whose keys the platform holds
    would begin their chains of records anew from there, and auditors notice. So restore where the
    newer store is lost, and never beside it.
    """
    made = service_care.restore(file, folder, key, database)
    with telling_what_is_done(f"the folder was made: {folder}"):
        found = service_care.check(folder, service_folder.Configuration.read(folder))
        when = datetime.fromtimestamp(made.made, UTC)
        say(
            f"{folder}: as of {when:%Y-%m-%d %H:%M:%S} UTC, of Voile {made.voile}; "
            f"{found.sealed} sealed values open, the records of {found.trucks} trucks are whole"
        )
        if as_json:
            print_json({"folder": str(folder), "made": made.made, "trucks": found.trucks})


@click.command("rotate-keys", short_help="seal what the store holds by another key")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--finish",
    is_flag=True,
    help="Take the old key away: when every machine has the new file, and a new backup is made.",
)
@json_option
def _rotate_keys(folder: Path, *, finish: bool, as_json: bool) -> None:
    """Draw a new key into vault.key, and seal by it all that the store of FOLDER holds sealed.

    Services may run: the new key seals, the new and the old one open, until --finish takes the old
    one away. A service on this machine takes the new key by itself; to another machine copy
    vault.key. Backups from before open by the key that they hold.
    """
    configuration = service_folder.Configuration.read(folder)
    sealed = (service_care.finish_rotation if finish else service_care.rotate)(
        folder, configuration
    )
    with telling_what_is_done("the keys were changed"):
        if finish:
            say(f"{folder}: the old key opens no more; {sealed} values were sealed anew before")
        else:
            say(
                f"{folder}: {sealed} values were sealed anew. Both keys open until: "
                f"voile share rotate-keys {folder} --finish"
            )
        if as_json:
            print_json({"sealed": sealed, "finished": finish})


@click.command("upgrade", short_help="lead a store to the format of this Voile")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--check", "only_check", is_flag=True, help="Say the formats, and change nothing.")
@json_option
def _upgrade(folder: Path, *, only_check: bool, as_json: bool) -> None:
    """Lead the store of FOLDER to the format of this Voile.

    Stop the service first, and make a backup: an older Voile refuses the store afterwards. Each
    step is whole or not at all; whoever is interrupted goes on by the same command, or by `voile
    share serve`, which upgrades, too.
    """
    configuration = service_folder.Configuration.read(folder)
    before, present = service_care.formats(folder, configuration)
    if not only_check:
        service_care.upgrade(folder, configuration)
    with telling_what_is_done("the store was upgraded"):
        match only_check, before == present:
            case _, True:
                say(f"{folder}: the store has format {present}, that of this Voile")
            case True, _:
                say(f"{folder}: the store has format {before}; this Voile writes {present}")
            case _:
                say(f"{folder}: the store had format {before}, and has {present} now")
        if as_json:
            print_json({"before": before, "format": present})


@click.command("audit", short_help="show what people did, and whether the log was changed")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def _audit(folder: Path, *, as_json: bool) -> None:
    """Show the audit log of FOLDER, and look whether an entry was changed or taken out.

    Keep the last digest elsewhere: with it, a log that was written anew is found, too.
    """
    with service_care.users_of(folder, service_folder.Configuration.read(folder)) as users:
        done = list(users.journal.all())
    if as_json:
        print_json(
            [
                {
                    "number": one.number,
                    "at": one.at,
                    "who": one.who,
                    "what": one.what,
                    "about": one.about,
                    "company": one.company,
                    "digest": one.digest.hex(),
                }
                for one in done
            ]
        )
        return
    print_table(
        ("number", "when", "who", "what", "about"),
        [
            (
                one.number,
                f"{datetime.fromtimestamp(one.at, UTC):%Y-%m-%d %H:%M}",
                one.who,
                one.what,
                one.about,
            )
            for one in done
        ],
    )
    if done:
        say(f"{len(done)} entries follow one another; the last digest is {done[-1].digest.hex()}")


@click.command("retention", short_help="for how many days a company's data are kept")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("company_number", metavar="[COMPANY]", required=False)
@click.option("--days", type=click.IntRange(1, 3_660), help="From 1 to 3660.")
@click.option("--default", "default", is_flag=True, help="As keep_days of share.toml says, again.")
@json_option
def _retention(
    folder: Path, company_number: str | None, days: int | None, *, default: bool, as_json: bool
) -> None:
    """Say for how many DAYS reports, submissions, ended parcels and links of COMPANY are kept.

    COMPANY is its number; without it, what holds for each is shown. Signed records, which say when
    trucks published, stay. A service that runs drops what is older within an hour.
    """
    if company_number is None and (days is not None or default):
        msg = "name the company; that of all others is keep_days in share.toml"
        raise click.UsageError(msg)
    if company_number is not None and (days is None) is not default:
        msg = "say either --days or --default"
        raise click.UsageError(msg)
    platform = service_folder.open_platform(folder, service_folder.Configuration.read(folder))
    try:
        if company_number is not None:
            platform.set_retention(company_number, days)
        held = platform.retentions()
    finally:
        platform.close()
    with telling_what_is_done("it was set"):
        if as_json:
            print_json([{"company": one, "name": name, "days": n} for one, name, n in held])
        elif company_number is None:
            print_table(("company", "name", "days"), held)
        else:
            kept = next(number for one, _, number in held if one == company_number)
            say(f"company {company_number}: {kept} days")


@click.command("set-back", short_help="take back what a truck has published ahead of time")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("truck")
@json_option
def _set_back(folder: Path, truck: str, *, as_json: bool) -> None:
    """Drop the reports of TRUCK, by its number, that are later than the clock of this machine.

    A report that was made while a clock was ahead silences its truck until that time. Look at the
    clock of this machine first: what is later by it is dropped. It may be used while the service
    runs, and stands in the log that `voile share audit` shows. Auditors who have read the dropped
    records find the chain broken there: tell them.
    """
    number = _number(truck)
    with closing(
        service_folder.open_platform(folder, service_folder.Configuration.read(folder))
    ) as platform:
        now = platform.clock()
        taken = platform.set_back(number)
        known = platform.directory.truck(number)
        journal = operator_users.Journal(platform.directory, platform.clock)
        company = None if known is None else known.company
        journal.write(
            operator_users.COMMAND_LINE, "truck set back", f"{truck}: {taken} reports", company
        )
    with telling_what_is_done("the truck was set back"):
        if as_json:
            print_json({"truck": truck, "reports": taken, "clock": now})
        at = datetime.fromtimestamp(now, UTC)
        say(f"truck {truck}: {taken} reports later than {at:%Y-%m-%d %H:%M} UTC were taken back")


def _number(text: str) -> bytes:
    try:
        number = bytes.fromhex(text)
    except ValueError:
        number = b""
    if len(number) != 16:
        msg = "the number of a truck is 32 hexadecimal digits: the operator's page shows it"
        raise InputError(msg)
    return number

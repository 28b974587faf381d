"""``voile share`` for a folder and its store: backups, keys, formats, the audit log, retention.

``voile share backup``: a service in one file, while it runs.

``voile share restore``: a folder, and a store, of a backup.

``voile share rotate-keys``: another key for what the store keeps sealed.

``voile share upgrade``: lead a store to the format of this Voile.

``voile share audit``: who did what on the operator's page, and whether that was changed.

``voile share retention``: for how long a company's data are kept.

``voile share set-back``: a truck whose last report is ahead of time publishes again.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say, telling_what_is_done

if TYPE_CHECKING:
    from voile_share.service import backup as service_backup
    from voile_share.service import care as service_care
    from voile_share.service import folder as service_folder
    from voile_share.service.operator import users as operator_users
else:
    service_backup = on_demand("voile_share.service.backup")
    service_care = on_demand("voile_share.service.care")
    service_folder = on_demand("voile_share.service.folder")
    operator_users = on_demand("voile_share.service.operator.users")

__all__: list[str] = []


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
        service_backup.new_recovery_key(folder, new_key)
        say(f"{new_key}: the recovery key. Keep it elsewhere: without it no backup gives keys back")
    if file is None:
        return
    made = service_backup.write_backup(folder, configuration, file)
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
    made = service_backup.restore(file, folder, key, database)
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

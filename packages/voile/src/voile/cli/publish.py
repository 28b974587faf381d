"""``voile publish``: make one release.  ``voile export``: put one into a Delta or Iceberg table."""

from __future__ import annotations

import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import engine_option, known_option, ledger_option
from voile.table.formats.registry import WRITTEN
from voile_base.errors import RefusedError, TableError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json, print_json, progress, say, telling_what_is_done
from voile_base.values import Json

if TYPE_CHECKING:
    from voile.release import recounting as releases
    from voile.release.release import Publication
    from voile.schema import numbers
    from voile.study import run
    from voile.study.run import Intervals
    from voile.table import lakes
    from voile.table.formats.registry import Format
    from voile_base import randomness
else:
    randomness = on_demand("voile_base.randomness")
    numbers = on_demand("voile.schema.numbers")
    releases = on_demand("voile.release.recounting")
    run = on_demand("voile.study.run")
    lakes = on_demand("voile.table.lakes")

__all__: list[str] = []


@click.command("publish", short_help="Make one release.")
@click.argument("source", metavar="INPUT", type=click.Path())
@click.option("--plan", required=True, type=click.Path(), help="The plan, in TOML.")
@click.option("--out", required=True, type=click.Path(), help="A folder that does not exist yet.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(WRITTEN),
    help="Format of the published rows; by default that of the input, or Parquet if it cannot be.",
)
@click.option(
    "--intervals",
    type=click.Choice(["columns", "text"]),
    default="columns",
    help="An interval as two columns, NAME.low and NAME.high, or as the text [low, high] in one.",
)
@click.option(
    "--partition-by",
    metavar="COLUMN",
    multiple=True,
    help="A published column by whose values the rows are parted in folders of Parquet files, as "
    "Hive names them. May be repeated.",
)
@ledger_option
@known_option
@click.option(
    "--seed",
    type=int,
    help="Repeatable draws, for experiments: the release is marked as unfit for publication.",
)
@engine_option
@as_json
def _publish_command(
    source: str,
    plan: str,
    out: str,
    file_format: Format | None,
    intervals: Intervals,
    partition_by: tuple[str, ...],
    ledger: str | None,
    known: tuple[Path, ...],
    seed: int | None,
    engine: str,
    as_json: bool,
) -> None:
    """Make one release of the table INPUT and write it to a new folder.

    INPUT is CSV, Parquet, Arrow IPC, GPX, JSON, GeoJSON, JSON lines, a workbook (FILE.xlsx#SHEET),
    a file of SPSS, Stata or SAS (FILE.sav#labels or #codes), a folder of Parquet files, or a table
    or a SELECT of a database (sqlite:FILE#TABLE, duckdb:FILE#SELECT ..., postgresql://HOST/NAME#TABLE).
    INPUT may stand in an object store or on the web (s3://, gs://, abfss://, https://), be a
    pattern of files, a Hive folder, a Delta or an Iceberg table (delta:PLACE,
    iceberg:CATALOGUE/NAMESPACE.TABLE), and the release may be put to s3:// and abfss://.
    """
    started = time.monotonic()
    with progress() as stage:
        publication = run.make_release(
            source,
            Path(plan),
            out,
            ledger=ledger,
            seed=seed,
            file_format=file_format,
            intervals=intervals,
            partition_by=partition_by,
            engine=engine,
            known=known,
            progress=stage,
        )
    seconds = time.monotonic() - started
    with telling_what_is_done(f"the release stands at {out}"):
        for notice in publication.private.notices:
            say(f"voile: {notice}.")
        if as_json:
            print_json(_document(publication, out, seconds))
        else:
            say(_summary(publication, out))
        if not publication.release.publishable:
            say(f"NOT fit for publication: {randomness.UNFIT}.")


def _document(publication: Publication, out: str, seconds: float) -> Json:
    private = publication.private
    return {
        "out": out,
        "rows_in": private.rows_in,
        "rows_out": private.rows_out,
        "suppressed": private.suppressed,
        "held": private.held,
        "carried": private.carried,
        "objective": numbers.json_number(Decimal(private.objective)),
        "decision": dict(private.decision),
        "seconds": round(seconds, 3),
    }


def _summary(publication: Publication, out: str) -> str:
    private, release = publication.private, publication.release
    lines = [
        f"{out}: {private.told}",
        release.guarantee.statement + ".",
    ]
    if private.suppressed:
        left_out = f"{private.suppressed:,} row{'s were' * (private.suppressed != 1) or ' was'}"
        lines.append(f'{left_out} left out, by nulls = "drop" or by the method.')
    if release.series:
        lines.append(f"This is release {release.series.version} of series {release.series.name!r}.")
    return "\n".join(lines)


@click.command("export", short_help="Put a release into a Delta or an Iceberg table.")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.argument("table", metavar="TABLE", type=click.Path())
@click.option(
    "--replace",
    "replacing",
    is_flag=True,
    help="Replace the rows that TABLE has; by default one that is there is refused.",
)
@engine_option
def _export_command(folder: str, table: str, replacing: bool, engine: str) -> None:
    """Put the rows of the release in DIR into TABLE, in one commit.

    TABLE is a Delta table by its place (delta:PATH or delta:s3://BUCKET/PATH) or an Iceberg table
    of a catalogue (iceberg:CATALOGUE/NAMESPACE.TABLE), which pyiceberg's own files or variables
    configure. The hashes of the release are compared first. Readers of TABLE see all of its rows or
    none. The id of the release stands in the commit; where the latest commit has it, nothing is
    done, so that a command that was cut off can be run again.
    """
    release = releases.read_recounted(folder, engine=engine)
    if not release.publishable:
        msg = f"{folder}: this release was made with a seed, and is not fit for publication"
        raise RefusedError(f"{msg}; make one without")
    place = lakes.LakeTable.of(table)
    statement = release.guarantee.statement
    try:
        with release.table.batches() as rows:
            put = place.put(rows, release.release_id, statement, replacing=replacing)
    except OSError as fault:
        msg = f"{tempfile.gettempdir()}: the rows cannot be written there; free room or set TMPDIR"
        raise TableError(msg) from fault
    done = f"{release.rows:,} rows of {folder} stand there" if put else "the release stands there"
    say(f"{place}: {done}{'' if put else ' already'}")

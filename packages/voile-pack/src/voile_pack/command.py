"""``voile pack``: parcels into the fewest bins, from private or published measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import TABLE, engine_option
from voile.table.places import Place
from voile_base.durable import appearing, check_new_file
from voile_base.errors import InputError, TableError
from voile_base.ondemand import dataclass, on_demand, require_plotting
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, progress, say, telling_what_is_done

if TYPE_CHECKING:
    import numpy as np

    from voile.disclosure.shown import Disclosure
    from voile.release import folder as release_folder
    from voile.release import release as release_release
    from voile.schema.numbers import ExactNumbers
    from voile.table import opening as table_opening
    from voile.table.opening import NumberColumns
    from voile_pack import distributions, drawing, instance, parcels
    from voile_pack.instance import PackingReport
    from voile_pack.parcels import Packed, Task
else:
    np = on_demand("numpy")
    drawing = on_demand("voile_pack.drawing")
    parcels = on_demand("voile_pack.parcels")
    distributions = on_demand("voile_pack.distributions")
    instance = on_demand("voile_pack.instance")
    release_folder = on_demand("voile.release.folder")
    release_release = on_demand("voile.release.release")
    table_opening = on_demand("voile.table.opening")

__all__: list[str] = []

_TABLES = (".csv", ".parquet")


def _decimal(context: click.Context, parameter: click.Parameter, text: str) -> Decimal:
    """An exact number; a percentage counts as a share."""
    share = text.endswith("%")
    try:
        number = Decimal(text.removesuffix("%"))
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise click.BadParameter(f"{text!r} is not a number", context, parameter)
    return number / 100 if share else number


def _number(context: click.Context, parameter: click.Parameter, text: str | None) -> Decimal | None:
    return None if text is None else _decimal(context, parameter, text)


def _numbers(
    context: click.Context, parameter: click.Parameter, texts: Sequence[str] | None
) -> tuple[Decimal, ...] | None:
    if texts is None:
        return None
    return tuple(_decimal(context, parameter, text) for text in texts)


def _measures(
    context: click.Context, parameter: click.Parameter, pairs: Sequence[tuple[str, str]]
) -> tuple[tuple[str, Decimal], ...]:
    return tuple((name, _decimal(context, parameter, text)) for name, text in pairs)


@dataclass(frozen=True)
class _Call:
    """What was asked for."""

    columns: tuple[tuple[str, Decimal], ...]
    """Each measure's column and capacity."""
    sides: tuple[str, str, str] | None
    box: tuple[Decimal, Decimal, Decimal] | None
    turns: str
    use: str
    margin: Decimal
    robust: Decimal | None
    skip_missing: bool
    engine: str

    @property
    def names(self) -> list[str]:
        """All columns, each once."""
        names = [name for name, _ in self.columns]
        return list(dict.fromkeys([*names, *(self.sides or ())]))


@dataclass(frozen=True, eq=False)
class _Input:
    """The numbers of the parcels, and where they come from."""

    numbers: NumberColumns
    origin: parcels.Origin
    disclosure: Disclosure | None
    """What a release says of its columns; None for a private table."""


@click.command("pack", short_help="Pack parcels, private or published.")
@click.argument("source", metavar="INPUT", type=TABLE)
@click.option(
    "--capacity", metavar="NUMBER", callback=_number, help="What a bin holds of the weight."
)
@click.option("--weight", metavar="COLUMN", help="Column of the weights.  [default: weight]")
@click.option(
    "--volume-capacity",
    metavar="NUMBER",
    callback=_number,
    help="What a bin holds of the volume.",
)
@click.option("--volume", metavar="COLUMN", help="Column of the volumes.  [default: volume]")
@click.option(
    "--measure",
    "measures",
    nargs=2,
    multiple=True,
    callback=_measures,
    metavar="COLUMN CAPACITY",
    help="One more measure and what a bin holds of it; may be repeated.",
)
@click.option(
    "--box",
    nargs=3,
    callback=_numbers,
    metavar="H W L",
    help="Height, width and length of a bin: the shape of the parcels counts.",
)
@click.option(
    "--size",
    nargs=3,
    metavar="H W L",
    help="Columns of the height, width and length of a parcel.",
)
@click.option(
    "--turns",
    type=click.Choice(["any", "upright", "none"]),
    default="any",
    show_default=True,
    help="How parcels may be turned.",
)
@click.option(
    "--use",
    default="mean",
    show_default=True,
    help="Where only an interval is known, plan with its mean, its upper end, or quantile:Q.",
)
@click.option(
    "--margin",
    callback=_number,
    default="0",
    metavar="SHARE",
    help="Share of every capacity to keep free, such as 2%.",
)
@click.option(
    "--robust",
    callback=_number,
    metavar="PROBABILITY",
    help="Most that the probability of overload of each bin may be, such as 0.05.",
)
@click.option(
    "--skip-missing", is_flag=True, help="Leave out parcels whose measures are not all known."
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0),
    help="Seconds after which the best packing found is given.  "
    "[default: 60, or none with --work-limit]",
)
@click.option(
    "--work-limit",
    type=click.FloatRange(min=0),
    help="Work after which it is given, in units of about a second: without --time-limit the "
    "packing is the same on every machine.",
)
@click.option(
    "--solver",
    type=click.Choice(["auto", "or-tools"]),
    default="auto",
    show_default=True,
    help="The best combination, or constraint programming alone.",
)
@click.option("--out", type=click.Path(), help="Which bin holds which row: a new .csv or .parquet.")
@click.option("--picture", type=click.Path(), help="A picture of the bins: a new .png or .svg.")
@engine_option
@json_option
def _pack_command(  # noqa: PLR0913 - one parameter for each option
    *,
    source: Place,
    capacity: Decimal | None,
    weight: str | None,
    volume_capacity: Decimal | None,
    volume: str | None,
    measures: tuple[tuple[str, Decimal], ...],
    box: tuple[Decimal, Decimal, Decimal] | None,
    size: tuple[str, str, str] | None,
    turns: str,
    use: str,
    margin: Decimal,
    robust: Decimal | None,
    skip_missing: bool,
    time_limit: float | None,
    work_limit: float | None,
    solver: str,
    out: str | None,
    picture: str | None,
    engine: str,
    as_json: bool,
) -> None:
    """Pack the parcels of INPUT into as few bins as can be found, and say how few are possible.

    INPUT is a private table (CSV, Parquet, Arrow IPC, or a folder of Parquet files) or the folder
    of a release.  A column NAME may have been published as an interval, NAME.low and NAME.high, or
    with noise; --use and --robust say what to make of that.
    """
    columns = _limited("weight", weight, capacity) + _limited("volume", volume, volume_capacity)
    call = _Call((*columns, *measures), size, box, turns, use, margin, robust, skip_missing, engine)
    _require_whole(call, solver)
    files = _new_files(out, picture)
    with progress() as stage:
        stage("reading")
        given = _read(source, call)
        stage("packing")
        packed = _pack(_task(given, call), _stop(time_limit, work_limit), solver, stage)
        if files:
            stage("writing")
            with appearing(list(files)) as hidden:
                for file in hidden:
                    parcels.write_packed(file, given.origin, packed)
    done = f"written: {', '.join(map(str, files))}" if files else "the parcels were packed"
    with telling_what_is_done(done):
        if as_json:
            print_json(given.origin.document(packed))
        else:
            given.origin.show(packed)
        for notice in (*given.numbers.notes, *packed.notices):
            say(f"voile: {notice}.")
        for place in files:
            say(f"voile: wrote {place}.")


def _limited(
    what: str, column: str | None, capacity: Decimal | None
) -> tuple[tuple[str, Decimal], ...]:
    """The weight or the volume with its capacity, where one is given."""
    option = "--capacity" if what == "weight" else "--volume-capacity"
    if capacity is None:
        if column is not None:
            raise InputError(f"--{what} names a column; say with {option} what a bin holds of it")
        return ()
    return ((column or what, capacity),)


def _require_whole(call: _Call, solver: str) -> None:
    """Raise ``InputError`` where options are missing or do not go together."""
    if not call.columns and call.box is None:
        raise InputError("nothing limits a bin: give --capacity, what a bin holds of the weight")
    if (call.box is None) != (call.sides is None):
        raise InputError(
            "--box H W L, the sides of a bin, and --size H W L, the columns of the parcels' sides, "
            "go together; give both or neither"
        )
    if call.robust is not None and call.margin:
        raise InputError("--robust keeps free what is needed; leave --margin out")
    if solver == "or-tools" and (call.box or call.robust is not None):
        raise InputError(
            "--solver or-tools packs weights and other sums, without --box or --robust"
        )


def _new_files(out: str | None, picture: str | None) -> list[Path]:
    """Where files are to appear: the table, the picture."""
    files = []
    if out is not None:
        files.append(check_new_file(out, _TABLES))
    if picture is not None:
        files.append(check_new_file(picture, parcels.PICTURES))
        require_plotting()
    return files


_OTHERWISE = "; --weight, --volume, --measure and --size say what columns are called"


def _read(source: Place, call: _Call) -> _Input:
    """The columns of the table or release that are asked for."""
    disclosure = None
    private = not (isinstance(source, Path) and (source / release_folder.DOCUMENT).exists())
    if private:
        numbers = table_opening.NumberColumns.read(
            source, call.names, call.engine, remedy=_OTHERWISE
        )
    else:
        assert isinstance(source, Path)
        release = release_release.read_release(source, engine=call.engine)
        numbers = table_opening.NumberColumns.of_published(
            release.table, call.names, remedy=_OTHERWISE
        )
        disclosure = release.disclosure
    missing = np.zeros(numbers.rows, np.bool_)
    for name, column in numbers.columns.items():
        missing |= column.missing
        places = np.flatnonzero(column.missing)
        if len(places) and not call.skip_missing:
            raise TableError(
                f"column {name!r} misses its value in {len(places):,} of {numbers.rows:,} rows "
                f"(first in row {places[0] + 1:,}); fill them in, or leave these parcels out with "
                "--skip-missing"
            )
    kept = np.flatnonzero(~missing)
    if not len(kept):
        raise TableError("every row misses a measure; there is nothing to pack")
    return _Input(numbers, parcels.Origin(private, numbers.rows, kept), disclosure)


def _measure(given: _Input, name: str) -> parcels.ParcelMeasure:
    """One measure of the parcels that are packed."""

    def numbers(column: str) -> ExactNumbers | None:
        found = given.numbers.columns.get(column)
        return None if found is None else found.numbers[given.origin.kept]

    shown = given.disclosure.columns.get(name) if given.disclosure else None
    return parcels.ParcelMeasure(
        name=name,
        value=numbers(name),
        low=numbers(f"{name}.low"),
        high=numbers(f"{name}.high"),
        noise=distributions.PublishedNoise.of(shown.noise) if shown and shown.noise else None,
        rows=given.origin.kept + 1,
    )


def _task(given: _Input, call: _Call) -> parcels.Task:

    boxes: parcels.Boxes | None = None
    if call.box and call.sides:
        height, width, length = (_measure(given, name) for name in call.sides)
        boxes = parcels.Boxes((height, width, length), call.box, call.turns)  # type: ignore[arg-type]
    return parcels.Task(
        measures=tuple(_measure(given, name) for name, _ in call.columns),
        limits=tuple(parcels.Limit(capacity, call.margin) for _, capacity in call.columns),
        use=parcels.Use.of(call.use),
        robust=None if call.robust is None else float(call.robust),
        boxes=boxes,
    )


def _stop(seconds: float | None, work: float | None) -> instance.Stop:
    """The limits that were given; where none was, that of a packer that is not told one."""
    if work is None:
        return instance.Stop() if seconds is None else instance.Stop(seconds)
    return instance.Stop.by_work(work) if seconds is None else instance.Stop(seconds, work=work)


def _pack(task: Task, stop: instance.Stop, solver: str, stage: Callable[[str], None]) -> Packed:

    def report(now: PackingReport) -> None:
        stage(
            f"packing: {now.bins:,} bins, at least {now.lower_bound:,} needed "
            f"({now.stage}, {now.seconds:.0f} s)"
        )

    return task.pack(stop, report, solver)  # type: ignore[arg-type]

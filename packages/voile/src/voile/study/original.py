"""The private table as adversaries and measures compare it with a release: rows, as they came in.

A publisher reads its own table, bound to a plan.  This is the same file read once more, or the same
data frame, with its columns as the file has them; it is as private.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

from voile.schema.plan import Plan
from voile.study.plans import file_of
from voile.table.arrays import from_native
from voile.table.engines import AUTO
from voile.table.opening import rows_in_memory
from voile.table.places import LaidOut, file_and_part, is_place, laid_out, place_of
from voile.table.protocol import Engine
from voile.table.reading import list_columns
from voile_base.errors import TableError
from voile_base.ondemand import dataclass

__all__ = [
    "Original",
    "fingerprint",
    "names_of_columns",
]

_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Original:
    """The rows of a private table, held in memory."""

    frame: Any
    """A data frame of the engine."""
    notes: tuple[str, ...] = ()
    """What had to be assumed to read it, a sentence each."""
    file: str = ""
    """Where they were read, as messages name it."""

    @staticmethod
    def read(source: object, plan: Plan, engine: Engine | str = AUTO) -> Original:
        """The rows of a file or a data frame, in the columns that the plan names.

        ``engine`` reads a file.  Raises ``TableError`` where there are none.
        """
        if not is_place(source):
            frame, _ = from_native(source)
            return Original(frame)
        place, names = laid_out(place_of(source), plan.input), _named(plan)
        rows = rows_in_memory(
            place, missing=plan.missing, columns=names, texts=plan.texts, engine=engine
        )
        return Original(*rows, file_of(source))


def names_of_columns(source: object, plan: Plan) -> list[str]:
    """The columns of a file or a data frame; raises ``TableError`` where there is no table."""
    if is_place(source):
        return list(list_columns(laid_out(place_of(source), plan.input)))
    frame, _ = from_native(source)
    return list(frame.columns)


def fingerprint(source: object, *, named: bool = True) -> str:
    """What tells a table from any other: a digest of the bytes of its files, or of its rows.

    ``named``: of the names of its files as well.

    Raises ``TableError`` where a file cannot be read.
    """
    digest = blake2b(digest_size=16)
    place = place_of(source) if is_place(source) else None
    if isinstance(place, LaidOut):
        digest.update(f"{place.layout}\0".encode())
        place = place.file
    if not isinstance(place, Path):
        frame = rows_in_memory(place)[0] if place else from_native(source)[0]
        stream = BytesIO()
        frame.write_ipc_stream(stream)
        digest.update(stream.getbuffer())
        return digest.hexdigest()
    path, part = file_and_part(place)
    digest.update(f"{part}\0".encode() if part else b"")
    try:
        for file in _files(path):
            name = file.relative_to(path.parent) if named else ""
            digest.update(f"{name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as stream_of_file:
                while chunk := stream_of_file.read(_CHUNK):
                    digest.update(chunk)
    except OSError as error:
        reason = (error.strerror or "input or output error").lower()
        msg = f"{path}: the table cannot be read ({reason}); check its permissions and path"
        raise TableError(msg) from None
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())
    else:
        yield path


def _named(plan: Plan) -> Sequence[str]:
    """All columns that the plan speaks of, so that it can be bound to what was read."""
    key = plan.method.parameters.get("record_key") if plan.method else None
    extra = [key] if isinstance(key, str) else []
    weight = [] if plan.roles.weight is None else [plan.roles.weight]
    return [*plan.roles.identifiers, *plan.used, *plan.columns, *extra, *weight]

"""The private list of suppressed cells, for the custodian: a CSV file that never leaves."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from voile_base.durable import write_text
from voile_base.errors import InputError

__all__ = ["refuse_place", "write_cells"]


def refuse_place(file: Path, out: Path) -> None:
    """Raise ``InputError`` where the list cannot stand, or would stand among what is published."""
    place = file.absolute()
    if file.exists() or file.is_symlink():
        msg = f"{file}: something stands there already; name a file that does not exist yet"
    elif place == out.absolute() or out.absolute() in place.parents:
        msg = f"{file}: the list of cells is private; name a file outside of {out}"
    elif not place.parent.is_dir():
        msg = f"{file}: the folder {place.parent} does not exist; make it first"
    else:
        return
    raise InputError(msg)


def write_cells(file: Path, columns: Mapping[str, Sequence[object]]) -> None:
    """Write the list, for its owner alone; raises ``InputError`` where the disk refuses."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    try:
        write_text(file, text.getvalue(), private=True, replacing=False)
    except OSError as error:
        msg = f"{file}: it cannot be written ({error.strerror}); the tables stand as they are"
        raise InputError(msg) from None

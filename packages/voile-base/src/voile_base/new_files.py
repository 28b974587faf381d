"""Single files that appear whole, by a rename, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from voile_base.durable import sync
from voile_base.errors import InputError

__all__ = ["appearing", "check_new_file"]


def check_new_file(path: str | Path, endings: Sequence[str]) -> Path:
    """A path at which a file can appear; raises ``InputError`` where none can.

    ``endings`` are the suffixes that the file may have, such as ".csv".
    """
    place = Path(path)
    if place.suffix.lower() not in endings:
        raise InputError(f"{place}: the name must end in {' or '.join(endings)}")
    parent = place.absolute().parent
    if place.exists() or place.is_symlink():
        raise InputError(
            f"{place}: something stands there already; name a file that does not exist"
        )
    if not parent.is_dir():
        raise InputError(f"{place}: the folder {parent} does not exist; make it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{place}: no permission to write in {parent}")
    return place


@contextmanager
def appearing(places: Sequence[Path]) -> Iterator[list[Path]]:
    """Hidden files beside their places, which are renamed to them at the end, or removed.

    All appear or none does, unless the disk fails between two renames.
    """
    hidden: list[Path] = []
    try:
        for place in places:
            descriptor, name = tempfile.mkstemp(
                prefix=".voile-", suffix=place.suffix, dir=place.absolute().parent
            )
            os.close(descriptor)
            hidden.append(Path(name))
        yield hidden
        for place, file in zip(places, hidden, strict=True):
            check_new_file(place, [place.suffix.lower()])
            file.chmod(0o644)
        for place, file in zip(places, hidden, strict=True):
            sync(file)
            file.rename(place)
    except OSError as error:
        reason = error.strerror or "input or output error"
        names = ", ".join(map(str, places))
        raise InputError(
            f"{names}: cannot be written ({reason}); mend the disk and try again"
        ) from None
    finally:
        for file in hidden:
            file.unlink(missing_ok=True)

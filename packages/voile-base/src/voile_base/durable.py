"""Files and folders that are whole after a crash, or not there.

What is written is flushed to the disk before it gets its name, and then the folder that holds the
name is.  Errors of the disk are ``OSError`` and name no content.

Single files that appear whole, by a rename, or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from voile_base.errors import InputError
from voile_base.operating_system import sync

__all__ = [
    "appearing",
    "check_new_file",
    "new_private_file",
    "new_private_folder",
    "replace_private_file",
    "sync",
    "write_text",
]


def write_text(path: Path, text: str, *, private: bool = False, replacing: bool = True) -> None:
    """Write a file, in UTF-8, and flush it; ``private``: a new one is for its owner alone.

    Raises ``FileExistsError`` where there is one and it is not ``replacing``.
    """
    mode = 0o600 if private else 0o666
    standing = os.O_TRUNC if replacing else os.O_EXCL
    _flush(os.open(path, os.O_WRONLY | os.O_CREAT | standing, mode), text)


def _flush(descriptor: int, text: str) -> None:
    """Write a text, wait until it is on the disk, and close the file."""
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def new_private_file(path: Path, text: str) -> None:
    """Write a file for its owner alone, in UTF-8, where there is none.

    Raises ``InputError`` where something is there already, and where it cannot be made.
    """
    unfinished: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
        unfinished = Path(name)
        _flush(descriptor, text)
        os.link(unfinished, path)  # which, unlike a change of name, never replaces
    except FileExistsError:
        msg = f"{path}: something is here already; name a new file"
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{path}: it cannot be made ({error.strerror or 'input or output error'})"
        raise InputError(msg) from None
    finally:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
    sync(path.absolute().parent)


def replace_private_file(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file in UTF-8, in the place of one that may be there: the old one or the new, whole.

    For its owner alone, unless ``mode`` says otherwise.  Raises ``InputError`` where it cannot.
    """
    unfinished: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
        unfinished = Path(name)
        _flush(descriptor, text)
        unfinished.chmod(mode)
        unfinished.replace(path)
        sync(path.absolute().parent)
    except OSError as error:
        msg = f"{path}: it cannot be written ({error.strerror or 'input or output error'})"
        raise InputError(msg) from None
    finally:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)


@contextmanager
def new_private_folder(folder: Path) -> Iterator[Path]:
    """A hidden folder for its owner alone, which gets its name at the end, or is removed.

    Raises ``InputError`` where something is there already, other than an empty folder, and where
    the folder cannot be made or filled.
    """
    unfinished: Path | None = None
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            msg = f"{folder}: something is here already; name a new folder, or an empty one"
            raise InputError(msg)
        parent = folder.resolve().parent
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=parent))
        yield unfinished
        sync(unfinished)
        unfinished.rename(folder)
        sync(parent)
    except OSError as error:
        msg = f"{folder}: it cannot be made ({error.strerror or 'input or output error'})"
        raise InputError(msg) from None
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)


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

"""Where a grid keeps the points that are done until all are: a folder that outlives the process.

    DIR.partial/              private; DIR is where the comparison will stand
        lock                  held by the process at work
        points/DIGEST.json    one file a point, whole or not there

A file is named after all that its point depends on: the plan with its hierarchies, the table, the
seed, what is measured, and the versions of Voile and its libraries.  The same command therefore
finds what an interrupted one has done, and anything that changed is done anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path

from voile.study.documents import (
    json_text,
    point_document,
    point_of_document,
    record_document,
    record_of_document,
)
from voile.study.points import PointTerms
from voile.study.record import Point
from voile.study.recording import versions
from voile.study.single import PRIVATE_FOLDER
from voile.study.sweep import GridPoint
from voile_base.durable import write_text
from voile_base.errors import InputError

__all__ = ["PointStore", "forget", "kept_points", "locked", "partial_folder"]

_KEPT = ("done", "infeasible", "refused", "wrong")
"""What would come out the same way again; a point that failed is tried anew."""


def partial_folder(out: str | Path) -> Path:
    """Where the points of a comparison are kept until it appears."""
    place = Path(out)
    return place.with_name(f"{place.name}.partial")


class PointStore:
    """The finished points of a grid; private."""

    def __init__(self, folder: Path, table: str, shared: PointTerms) -> None:
        """``table`` is the fingerprint of the table."""
        self._folder = folder / "points"
        self._folder.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
        terms = asdict(shared.terms)
        self._common = json_text({"table": table, "seed": shared.seed, **terms, **versions()})

    def digest(self, point: GridPoint) -> str:
        """The name of a point: all that its outcome depends on."""
        said = f"{self._common}\0{point.stated.digest()}"
        return blake2b(said.encode(), digest_size=16).hexdigest()

    def keep(self, digest: str, point: Point) -> None:
        """Keep a finished point, durably: whole or not at all."""
        record = None if point.record is None else record_document(point.record)
        document = {**point_document(point, None), "record": record}
        descriptor, hidden = tempfile.mkstemp(dir=self._folder, prefix=".", suffix=".partial")
        os.close(descriptor)
        try:
            write_text(Path(hidden), json_text(document))
            Path(hidden).rename(self._file(digest))
        except OSError as error:
            Path(hidden).unlink(missing_ok=True)
            reason = error.strerror or "input or output error"
            msg = f"{self._folder}: a record cannot be written ({reason}); mend the disk"
            raise InputError(msg) from None

    def kept(self, digest: str, wanted: GridPoint) -> Point | None:
        """The point of that digest under the name it has in this grid, or None."""
        point = self._read(digest)
        if point is None:
            return None
        record = point.record
        name, parameters = wanted.stated.name, dict(wanted.parameters)
        if record:
            plan = wanted.stated.document
            record = replace(record, name=name, parameters=parameters, plan=plan)
        return replace(point, name=name, parameters=parameters, record=record)

    def has(self, digest: str) -> bool:
        """Whether a point need not be studied again."""
        point = self._read(digest)
        return point is not None and point.status in _KEPT

    def _read(self, digest: str) -> Point | None:
        """The point as it was kept; None where there is none, or none that can be read."""
        try:
            document = json.loads(self._file(digest).read_text(encoding="utf-8"))
            record = document["record"] and record_of_document(document["record"])
            point = point_of_document(document, record)
            return None if point.status == "done" and not record else point
        except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError):
            return None

    def _file(self, digest: str) -> Path:
        return self._folder / f"{digest}.json"


def kept_points(folder: Path) -> int:
    """How many points a folder keeps."""
    return sum(1 for _ in folder.glob("points/[!.]*.json"))


@contextmanager
def locked(folder: Path) -> Iterator[Path]:
    """A private folder that no other process works in; it is made where it is not there.

    Raises ``InputError`` where another process is at work, or the folder cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
        lock = (folder / "lock").open("w")
    except OSError as error:
        msg = f"{folder}: the folder cannot be used ({error.strerror}); choose another --out"
        raise InputError(msg) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            msg = f"{folder}: another process is at work on this comparison; wait for it"
            raise InputError(msg) from None
        yield folder


def forget(folder: Path) -> None:
    """Remove the folder of a comparison that is no longer needed."""
    shutil.rmtree(folder, ignore_errors=True)

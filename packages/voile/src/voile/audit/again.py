"""An audit run once more on its inputs, and held against its record.

The record has a seal without a key (``study.documents``): who knows how can edit all of it and seal
it again.  Running again tells that: draws follow from the inputs (``seal``), so that all figures
are those of the record, but for rounding.

Cost: that of the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isclose
from pathlib import Path
from typing import Any

from voile.audit.examine import audit
from voile.audit.record import AuditRecord
from voile.audit.seal import Inquiry, run_of
from voile_base.errors import RefusedError
from voile_base.values.value import plain
from voile_base.version import VERSION

__all__ = ["require_same_again"]

_ROUNDING = 1e-9
"""Relative; sums in another order differ by less."""
_OF_THE_RUN = ("seconds", "versions", "run")
"""What two runs on the same inputs need not share."""
_MOST = 5
"""Differences that are named."""


def require_same_again(
    recorded: AuditRecord,
    released: Path,
    moved: Mapping[str, Path],
    progress: Callable[[str], None] = lambda stage: None,
) -> None:
    """Run an audit again; ``moved`` says where inputs are now that are not where they were.

    Raises ``RefusedError`` where an input is another, or a figure is, and a ``VoileError`` where an
    input cannot be read.
    """
    run = recorded.run
    assert run is not None, "a record without it was refused when it was read"
    places = {side: Path(place) for side, place in run["places"].items()}
    places = {**places, **moved, "released": released}
    attacks, first = run["attacks"], run["first"]
    inquiry = Inquiry(
        run["targets"],
        None if attacks is None else tuple(attacks),
        None if first is None else tuple(first),
    )
    progress("comparing inputs")
    now = run_of(places, inquiry, run["seed"])["inputs"]
    for side in dict.fromkeys((*run["inputs"], *now)):
        if now.get(side) != run["inputs"].get(side):
            msg = (
                f"{places[side]}: this is not the {side} that was audited; name that with "
                f"--{side}, or run voile audit again"
            )
            raise RefusedError(msg)
    found = audit(
        released,
        places["original"],
        places.get("control"),
        places.get("plan"),
        inquiry=inquiry,
        seed=run["seed"],
        progress=progress,
    )
    apart = list(_differences(recorded, found))
    if apart:
        more = f" and {len(apart) - _MOST} more" if len(apart) > _MOST else ""
        by = recorded.versions.get("voile")
        other = "" if by == VERSION else f" (it was made by Voile {by}, and this is {VERSION})"
        msg = (
            f"the record is not what its inputs give: {', '.join(apart[:_MOST])}{more} differ"
            f"{other}; run voile audit again"
        )
        raise RefusedError(msg)


def _differences(recorded: AuditRecord, found: AuditRecord) -> Iterator[str]:
    """Where two records of one audit differ: the keys, and no figures."""
    one, other = (
        {key: held for key, held in plain(each).items() if key not in _OF_THE_RUN}
        for each in (recorded, found)
    )
    yield from _apart(one, other, "")


def _apart(one: Any, other: Any, where: str) -> Iterator[str]:
    """Keys below which two documents differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys((*one, *other)):
            yield from _apart(one.get(key), other.get(key), f"{where}.{key}" if where else key)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            yield where
            return
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            name = left.get("risk") or left.get("attack") if isinstance(left, Mapping) else None
            yield from _apart(left, right, f"{where}[{name or place}]")
    elif isinstance(one, float) and isinstance(other, float):
        if not isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            yield where
    elif one != other:
        yield where

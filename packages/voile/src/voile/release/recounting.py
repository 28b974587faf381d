"""A release recounted from its folder alone: its files by their hashes, and each of its claims.

What a publisher measured before the release appeared (``check``) is measured again on what stands
in the folder, by whoever received it; and what ``release.json`` says in one place is held against
what it says in another.  A claim, or a part of one, that no output can show is told as such.

With the private original, more can be seen (``original_checks``): values that it does not hold,
permutations that are none, noise that is none.

Whoever mends all statements of a release alike, and the rows to fit, states a smaller promise that
holds.  Which promise was published, signatures and the ledger tell.

Cost: that of reading a release, and of ``check`` on every column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from voile.disclosure.registry import SHOWN
from voile.release.check import column_breaches
from voile.release.claims import Claim, UnknownClaim
from voile.release.document import stated_in
from voile.release.manifest import (
    DOCUMENT,
    release_document,
    require_hashes,
    verified_files,
    whole_of,
)
from voile.release.original_checks import Compared, compared
from voile.release.release import Guarantee, Release
from voile.release.stored import read_release
from voile.table.engines import AUTO
from voile.table.protocol import Engine
from voile_base.errors import InputError, RefusedError, TableError, nearest
from voile_base.registry import Registry
from voile_base.values.exact import exact_decimal

__all__ = [
    "FORMS",
    "Recount",
    "RecountedClaim",
    "ReleaseForm",
    "read_recounted",
    "recount",
    "told_breaches",
]

_REMEDY = "do not rely on this folder; take the release as it was published"
_SAME = ("k", "e", "precision", "top", "beta", "clusters")
"""Parameters of a method that its claim repeats."""


class ReleaseForm(Protocol):
    """What a folder holds that is no release of rows: ``form`` of its ``release.json``."""

    def recount(self, folder: Path, document: Mapping[str, Any], engine: Engine | str) -> Recount:
        """What the folder shows; raises as the function of this name."""


FORMS: Registry[ReleaseForm] = Registry(
    group="voile.forms",
    what="a form of release",
    own={"tables": "voile.tabular.recounting:TablesForm"},
    offers=("recount",),
    error=TableError,
)


@dataclass(frozen=True)
class RecountedClaim:
    """One claim, and what the rows show of it."""

    claim: Claim
    breaches: tuple[str, ...]
    """What contradicts it, a sentence each."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What no output shows of it, a clause each."""
        return self.claim.unseen


@dataclass(frozen=True)
class Recount:
    """What a folder shows of its release."""

    folder: Path
    files: tuple[str, ...]
    """All of which have the hashes that are listed."""
    rows: int
    claims: tuple[RecountedClaim, ...]
    others: tuple[str, ...] = ()
    """What contradicts the release otherwise, a sentence each."""
    compared: Compared | None = None
    """What the private original shows, where it was given; private."""

    @property
    def whole(self) -> Path:
        """What is read as one table: the file, or the folder of the parts."""
        return whole_of(self.folder, self.files)

    @property
    def breaches(self) -> tuple[str, ...]:
        """All that contradicts the release."""
        found = [*self.others, *(what for one in self.claims for what in one.breaches)]
        return (*found, *(self.compared.breaches if self.compared else ()))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The kinds of claims that nobody here can measure."""
        return tuple(one.claim.kind for one in self.claims if isinstance(one.claim, UnknownClaim))

    def refusal(self) -> RefusedError | None:
        """Why the release is refused; None where nothing contradicts it."""
        if not self.breaches:
            return None
        more = len(self.breaches) - 1
        further = f" (and {more} more: voile recount tells)" if more else ""
        msg = f"{self.folder}: the release is not what it claims: {self.breaches[0]}{further}"
        return RefusedError(f"{msg}; {_REMEDY}")


def recount(folder: str | Path, original: Any = None, *, engine: Engine | str = AUTO) -> Recount:
    """Recount a release from its folder; ``original`` is a data frame of the private table, if any.

    ``engine`` holds the rows, or is its name.  Raises ``TableError`` where the folder is no
    release, and ``RefusedError`` where its files are not those that it lists, or where no package
    that is installed knows how it shows a column.
    """
    place = Path(folder)
    document = release_document(place)
    if isinstance(form := document.get("form"), str):
        if original is not None:
            msg = f"{place}: it holds {form} and no rows to be compared with the original"
            raise InputError(msg)
        return FORMS.make(form, {}).recount(place, document, engine)
    _refuse_unknown_showing(place, document)
    if document.get("rows") == 0:
        return _of_no_row(place, document)
    release = read_release(place, engine=engine)
    found = _recounted(place, document, release)
    return found if original is None else replace(found, compared=compared(release, original))


def read_recounted(folder: str | Path, *, engine: Engine | str = AUTO) -> Release:
    """Read a release whose claims hold as far as its rows show.

    Raises ``RefusedError`` where one does not, and otherwise as ``recount``.
    """
    place = Path(folder)
    _refuse_unknown_showing(place, release_document(place))
    release = read_release(place, engine=engine)
    if refusal := _recounted(place, release_document(place), release).refusal():
        raise refusal
    return release


def _refuse_unknown_showing(place: Path, document: Mapping[str, Any]) -> None:
    """Raise ``RefusedError`` for a column that is shown in a kind that nothing installed adds."""
    columns = document.get("columns")
    for name, shown in columns.items() if isinstance(columns, dict) else ():
        kind = shown.get("kind") if isinstance(shown, dict) else None
        if isinstance(kind, str) and kind not in SHOWN:
            msg = (
                f"{place / DOCUMENT}: columns.{name}: unknown kind {kind!r}"
                f"{nearest(kind, SHOWN.names)}: nothing that is installed can measure it; where "
                "another package adds a kind of showing of this name, install it"
            )
            raise RefusedError(msg)


def _of_no_row(place: Path, document: Mapping[str, Any]) -> Recount:
    """A release that shows nobody: its files are compared, and its claims hold of nothing."""
    require_hashes(document, place)
    stated_in(document, place)
    files = verified_files(document, place).names
    claims = Guarantee.of_document(document["guarantee"], f"{place / DOCUMENT}: guarantee").claims
    return Recount(place, files, 0, tuple(RecountedClaim(one, ()) for one in claims))


def _recounted(place: Path, document: Mapping[str, Any], release: Release) -> Recount:
    asked = _number(release.method.get("confidence"))
    claims = release.guarantee.claims
    return Recount(
        folder=place,
        files=tuple(part["file"] for part in document["data"]),
        rows=release.rows,
        claims=tuple(
            RecountedClaim(one, told_breaches(_claim_breaches(release, one))) for one in claims
        ),
        others=(
            *told_breaches(_document_breaches(document, release)),
            *told_breaches(column_breaches(release, asked)),
        ),
    )


def told_breaches(found: Iterator[str]) -> tuple[str, ...]:
    """All that is found; what cannot be measured contradicts what is stated of it."""
    try:
        return tuple(found)
    except (
        InputError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
    ) as error:
        what = str(error).rstrip(".") if isinstance(error, InputError) else "it cannot be measured"
        return (f"a statement of release.json does not fit the rows: {what}",)


def _claim_breaches(release: Release, claim: Claim) -> Iterator[str]:
    if isinstance(claim, UnknownClaim):
        return
    yield from claim.breaches(release)
    yield from claim.contradictions(release)
    if claim is release.guarantee.claims[0]:
        stated = claim.document()
        for name in _SAME:
            asked, claimed = release.method.get(name), stated.get(name)
            if _number(asked) is not None and _number(claimed) not in {None, _number(asked)}:
                yield f"it claims {name} = {claimed}, and its method was asked for {asked}"


def _number(value: object) -> Decimal | None:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return exact_decimal(value) if is_number else None  # type: ignore[arg-type]


def _document_breaches(document: Mapping[str, Any], release: Release) -> Iterator[str]:
    if document.get("rows") != release.rows:
        yield f"its files have {release.rows:,} rows, and it states {document.get('rows')}"

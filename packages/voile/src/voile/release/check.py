"""A publisher claims; this checks.

A claim is measured again on the published output, with code that shares nothing with the
publishers; ``claims`` says what each kind lets one see there.  So is what a kind of disclosure
promises of its cells.  A claim that fails is a fault of Voile, never of the caller: it raises
``GuaranteeBrokenError``, which is no ``VoileError``, and nothing is published.

t-closeness compares with all rows of the private table, so ``check_against_counts`` measures it
before a publication leaves its publisher.

(k, e)-anonymity of persons or households is recounted on the groups that a release shows.  It
permutes the values, so that its rows do not show whose they are.  They do show which values stand
in which group; whose these values are is counted in the private table.  Nothing of it is by the
rule of the publisher: largest matchings are those of ``models.units``, and how far values of two
persons lie apart is told by the ends of what each has in a group.  That costs a count of the
published pairs of group and value, and of units by group.

What ``release.json`` says in words is derived from its claims, so that nothing stands there that
nobody checks (``wording_breaches``): each sentence is one of those in ``browser/wording.json`` for
the claims that the release makes, with their numbers and its columns, and what the promise assumes
is there in full.  Claims of another package bring their own sentences (``Claim.wording``).
``verify.html`` reads the same file.  Numbers agree to half a percent, since sentences round them.

``method`` has the parameters of its method, its decision and its steps, and no others.  A text in
it is a column or a short word; texts below its keys, such as labels of a ranking, are together no
longer than ``_ROOM``, and numbers no more than ``_EACH_ROW`` of each row beside ``_NUMBERS``.
Cost: that of reading the document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, StatedCriterion
from voile.models.ke_anonymity import atom_breaches, pairwise_breaches
from voile.models.units import GroupedUnits
from voile.release.claim_checks import PublicRelease, common_unit, criteria_against_counts
from voile.release.claims import Claim, GroupClaim, KEAnonymityClaim, UnknownClaim
from voile.release.history import Blocks, History
from voile.release.reading import Floats, Texts, floats_of, texts_of
from voile.release.release import Release
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import ExactNumbers
from voile.table.arrays import series_of
from voile.table.decisions import BlockAssignment
from voile.table.protocol import Counted
from voile.table.published import PublishedTable
from voile.table.summaries import CombinationCounts, PublishedUnits, UnitCounts, ValueCounts
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values import Document

__all__ = [
    "GuaranteeBrokenError",
    "check_against_counts",
    "check_against_history",
    "check_departures",
    "check_release",
    "check_units_of_columns",
    "check_units_of_groups",
    "check_values_of_units",
    "column_breaches",
    "departure_breaches",
    "wording_breaches",
]


class GuaranteeBrokenError(RuntimeError):
    """An output does not have what its publisher claimed."""


def check_release(release: Release) -> None:
    """Measure what a release's claims, and its statements on columns, let one see in its rows.

    Raises ``GuaranteeBrokenError``.  Cost: that of each claim, and a count of the distinct values
    of each column whose kind promises something of them.
    """
    try:
        for claim in release.guarantee.claims:
            for breach in claim.breaches(release):
                raise GuaranteeBrokenError(breach)
        for breach in column_breaches(release, published=False):
            raise GuaranteeBrokenError(breach)
    except (PlanError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        msg = f"the guarantee does not state what it promises: {error}"
        raise GuaranteeBrokenError(msg) from error


@dataclass(frozen=True, eq=False)
class _CountedCells:
    """The cells of a release that show a column, counted when a check asks for them."""

    table: PublishedTable
    name: str
    columns: tuple[str, ...]
    """Published columns that show it."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """Shape (g,): how many rows show each."""
        return self._counted.rows

    def texts(self, column: str) -> Texts:
        """What a published column shows, as texts."""
        distinct = texts_of(series_of(self._counted.values[self._place(column)]))
        return [distinct[code] for code in self._codes(column).tolist()]

    def numbers(self, column: str) -> Floats:
        """What a published column shows, as numbers."""
        return floats_of(series_of(self._counted.values[self._place(column)]))[self._codes(column)]

    def values(self, column: str) -> DistinctValues:
        """The distinct values of a published column."""
        return self.table.cells([column], column).values

    @cached_property
    def _counted(self) -> Counted:
        return self.table.count(self.columns)

    def _place(self, column: str) -> int:
        return self.columns.index(column)

    def _codes(self, column: str) -> NDArray[np.int64]:
        codes: NDArray[np.int64] = self._counted.codes[:, self._place(column)].astype(np.int64)
        return codes


def column_breaches(
    release: PublicRelease, confidence: Decimal | None = None, *, published: bool = True
) -> Iterator[str]:
    """What the cells of columns contradict of what is stated of them.

    ``confidence`` is that of intervals, where the release states it.  Of a release that is not
    ``published`` yet only those kinds are asked that promise something then, too.
    """
    for name, shown in release.disclosure.columns.items():
        if (published or shown.promises) and (columns := shown.published(name)):
            cells = _CountedCells(release.table, name, columns)
            yield from shown.breaches(cells, confidence)


def check_against_counts(
    release: Release,
    criteria: Sequence[Criterion],
    counts: CombinationCounts,
    whose: PublishedUnits | None = None,
) -> None:
    """Measure criteria on the published groups, against private counts of the whole table.

    ``counts`` has all columns that the criteria read, and names their values as the criteria do.
    ``whose`` says which persons or households the published rows are of, where these have several:
    they are counted anew, by the groups that the release shows.
    Raises ``GuaranteeBrokenError``.  Cost: that of ``check_release``.
    """
    for claim in release.guarantee.claims:
        if isinstance(claim, GroupClaim):
            for breach in criteria_against_counts(release, claim.shared, criteria, counts, whose):
                raise GuaranteeBrokenError(breach)


def check_values_of_units(
    release: Release, column: str, counts: ValueCounts, units: UnitCounts
) -> None:
    """Measure (k, e)-anonymity of persons or households, by private counts of whose values are.

    The release shows in which groups these stand, though no longer in whose rows.  Raises
    ``GuaranteeBrokenError``.
    """
    for claim in release.guarantee.claims:
        if isinstance(claim, KEAnonymityClaim):
            for breach in _ke_breaches_of_units(release, column, counts, units, claim.k, claim.e):
                raise GuaranteeBrokenError(breach)


def check_units_of_groups(whose: PublishedUnits, group: str, least: int) -> None:
    """Count the persons or households in each published group, whose number is a column.

    Raises ``GuaranteeBrokenError`` where one has fewer than ``least``.  Cost: a count.
    """
    if broken := int((whose.in_groups([group]) < least).sum()):
        msg = f"{broken} groups of the release have rows of fewer than {least} who are protected"
        raise GuaranteeBrokenError(msg)


def check_units_of_columns(whose: PublishedUnits, columns: Sequence[str], least: int) -> None:
    """Count the persons or households that show each combination of some columns.

    Raises ``GuaranteeBrokenError`` where one is shown by fewer than ``least``.  Cost: a count.
    """
    if broken := int((whose.in_groups(columns) < least).sum()):
        names = ", ".join(map(repr, columns))
        msg = f"{broken} combinations of {names} are of fewer than {least} who are protected"
        raise GuaranteeBrokenError(msg)


def check_against_history(
    counts: ValueCounts,
    assignment: BlockAssignment,
    history: History,
    k: int,
    e: Decimal,
    adversary: str,
) -> None:
    """Measure what comparing a new release with all earlier ones of its series singles out.

    By set operations on cells (rows of one value first published together), not by the rule that
    the decision followed.  Where the blocks of the series only ever grew, which is measured
    (``BlockLives.only_grow``), a few of them stand for all:

    - what singles out a row by any number of releases is the block of the release that first
      showed it, for rows that lay together there do so in each later one;
    - with "pairwise", the newest release stands for those before it.  Let a be a block of an
      earlier one, a' that of the newest in which it lies, and b that of the new one in which a'
      lies.  No other block of the new release meets a; a - b is empty, and a & b = a.  b - a is
      a' - a where b = a', which was measured when a' was new, and else has b - a' in it, which is
      measured now; and sets that have a valid one in them are valid.

    Raises ``GuaranteeBrokenError``.  Cost: O(m log m) for m cells, and O(b log b) for the b blocks
    that the series ever had; where blocks were cut, O(v m log m) for v versions.
    """
    values, range_units = common_unit(assignment.values, e)
    units = values.units[counts.value]
    find = atom_breaches if adversary == "union" else pairwise_breaches
    blocks = np.stack([*_earlier_blocks(counts, values, history, adversary), assignment.block])
    breaches = find(units, blocks, k, range_units)
    if not breaches and len(blocks) == 2 and adversary != "union" and _cuts(blocks[0], blocks[1]):
        every = _blocks_of_all(counts, values, history)
        breaches = find(units, np.stack([*every, assignment.block]), k, range_units)
    if breaches:
        msg = f"compared with earlier releases, this one gives away {len(breaches)} sets of rows"
        raise GuaranteeBrokenError(msg)


def _earlier_blocks(
    counts: ValueCounts, values: ExactNumbers, history: History, adversary: str
) -> list[NDArray[np.int64]]:
    """The blocks of each cell in the releases with which the new one must be compared."""
    lives = history.lives
    published = counts.row_class < counts.classes - 1
    if lives.only_grow and lives.blocks.low.scale <= values.scale:
        if adversary != "union":
            latest = history.versions[-1]
            return [_block_of_cells(values, latest.blocks, counts, latest.number)]
        home = np.full(len(counts.value), -1, dtype=np.int64)
        finer = replace(lives, blocks=lives.blocks.rescaled(values.scale))
        units = values.units[counts.value[published]]
        home[published] = finer.containing(counts.row_class[published] + 1, units)
        if (home[published] >= 0).all():
            return [home]
    return _blocks_of_all(counts, values, history)


def _blocks_of_all(
    counts: ValueCounts, values: ExactNumbers, history: History
) -> list[NDArray[np.int64]]:
    """The block of each cell in each earlier release."""
    return [
        _block_of_cells(values, version.blocks, counts, version.number)
        for version in history.versions
    ]


def _cuts(before: NDArray[np.int64], now: NDArray[np.int64]) -> bool:
    """Whether cells of one block lie in several now, or in none."""
    shown = before >= 0
    pairs = np.unique(np.stack((before[shown], now[shown])), axis=1)
    return len(np.unique(pairs[0])) < pairs.shape[1] or bool((pairs[1] < 0).any())


def check_departures(before: Blocks | None, now: Blocks, k: int) -> None:
    """Measure what comparing a release with the one before it tells of who came and who left.

    Raises ``GuaranteeBrokenError``.
    """
    for breach in departure_breaches(before, now, k):
        raise GuaranteeBrokenError(breach)


def departure_breaches(before: Blocks | None, now: Blocks, k: int) -> Iterator[str]:
    """Classes of which fewer than ``k`` rows stay or go, or come; their number is their border."""
    if (now.rows < k).any():
        yield f"{(now.rows < k).sum()} groups that last have fewer than k = {k} rows"
    if before is None:
        return
    there, place = np.isin(before.low.units, now.low.units), np.zeros(len(before), dtype=np.int64)
    place[there] = np.searchsorted(now.low.units, before.low.units[there])
    staying = np.where(there, now.rows[place] if len(now) else 0, 0)
    gone = before.rows - staying
    few = ((gone != 0) & (gone < k)).sum()
    if few:
        yield f"{few} groups that last lost some rows, and fewer than k = {k}, or have gained some"


def _block_of_cells(
    values: ExactNumbers, blocks: Blocks, counts: ValueCounts, version: int
) -> NDArray[np.int64]:
    """The block of each cell in an earlier version, -1 where it was absent."""
    units: NDArray[Any] = values.units[counts.value]
    birth = counts.row_class
    found = np.full(len(units), -1, dtype=np.int64)
    for batch in np.unique(blocks.batch).tolist():
        members = np.flatnonzero(blocks.batch == batch)
        low = blocks.low[members].rescaled(values.scale).units
        high = blocks.high[members].rescaled(values.scale).units
        place = np.maximum(np.searchsorted(low, units, side="right") - 1, 0)
        inside = (low[place] <= units) & (units <= high[place])
        belongs = birth == batch - 1 if batch else birth < version
        found = np.where(inside & belongs, members[place], found)
    return found


def _ke_breaches_of_units(
    published: PublicRelease,
    column: str,
    counts: ValueCounts,
    units: UnitCounts,
    k: int,
    e: Decimal,
) -> Iterator[str]:
    """Groups in which fewer than k units have as many values, or no two have values e apart."""
    groups = published.disclosure.groups
    assert groups is not None
    pairs = published.table.group_values(column, groups.column)
    numbers, member = np.unique(pairs.group, return_inverse=True)
    place = np.searchsorted(counts.values.units, pairs.values.rescaled(counts.values.scale).units)
    if len(np.unique(place)) != len(place) or len(place) != len(counts.values):
        yield "some value stands in several groups of the release, or in none"
        return
    label = np.empty(len(place), dtype=np.int64)
    label[place] = member
    grouped = GroupedUnits(units, label, len(numbers), {column: np.arange(len(label))})
    few = ~grouped.different(column, k)
    values, least = common_unit(counts.values, e)
    near = ~_apart(values.units, label, len(numbers), units, least)
    if broken := int((few | near).sum()):
        yield f"{broken} groups of the release are not ({k}, {e})-valid, counted by whose values"


def _apart(
    values: NDArray[np.generic],
    label: NDArray[np.int64],
    groups: int,
    units: UnitCounts,
    least: int,
) -> NDArray[np.bool_]:
    """Which groups hold values of two different units that lie ``least`` apart."""
    value, unit = units.some(np.arange(len(values)), 2)
    owners_of: list[set[int | None]] = [{None} if own else set() for own in units.alone.tolist()]
    for place, owner in zip(value.tolist(), unit.tolist(), strict=True):
        owners_of[place].add(owner)
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.searchsorted(label[order], np.arange(1, groups)))
    found = np.zeros(groups, dtype=np.bool_)
    for group, inside in enumerate(members):
        low, high = values[inside[0]], values[inside[-1]]
        owners = [owners_of[end] for end in inside[[0, -1]].tolist()]
        if owners[0] != owners[1] or len(owners[0]) > 1 or None in owners[0]:
            several = len(inside) > 1 or units.within[inside[0]] > 1
            found[group] = several and high - low >= least
            continue
        ends = values[inside[[owners_of[v] != owners[0] for v in inside.tolist()]]]
        found[group] = len(ends) > 0 and max(high - ends[0], ends[-1] - low) >= least
    return found


_NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?"
_MARKS = re.compile(r"(\{\{|\|\||\{[^{}]*\}|⟨|⟩\*?|\|)")
_AGREES = Fraction(1, 200)
"""Relative: sentences state numbers with three digits or more."""
_WORD, _TEXT, _ROOM = 64, 200, 16_384
"""Characters of a parameter, of a text below one, and bytes of all different texts there."""
_ROLE = re.compile("[a-z_]{1,32}")
_NUMBERS, _EACH_ROW = 4_096, 16
"""Numbers of a method, and those beside them for each row of the release."""
_CODAS = r"(?:; |\. )"


@cache
def _beginning(piece: str) -> str:
    """How each sentence of a piece begins, as it is written; what begins otherwise is none of it.

    An expression for each that may stand there would take longer than the rest of the check.
    """
    return _MARKS.split(piece, maxsplit=1)[0]


@cache
def _wording() -> Document:
    """The sentences of Voile's own claims."""
    found: Document = json.loads(
        (files("voile.release") / "browser" / "wording.json").read_text("utf-8")
    )
    return found


def wording_breaches(document: Document, claims: Sequence[Claim]) -> Iterator[str]:
    """What a document says in words that does not follow from the claims that it makes."""
    if any(isinstance(claim, UnknownClaim) for claim in claims):
        return  # none of it is a promise that anybody here can check, and it passes no check
    yield from _name_breaches(document)
    yield from _method_breaches(document, claims)
    said = _StatedWords.of(document, claims)
    used = said.promises()
    if used is None:
        yield "its statement says what does not follow from its claims"
        return
    yield from said.breaches_of_assumptions(used)


def _name_breaches(document: Document) -> Iterator[str]:
    """Roles and types of what is no column that is shown."""
    columns = document.get("columns")
    if columns is None:
        return  # tables state no roles, and their types are those of their file
    shown = {f"{name}{end}" for name in columns for end in ("", ".low", ".high", ".interval")}
    shown |= {str((document.get("groups") or {}).get("column"))}
    roles = document.get("roles") or {}
    named = {name for names in roles.values() for name in names} | set(document.get("types") or {})
    if named - shown or not all(_ROLE.fullmatch(role) for role in roles):
        yield "it states roles or types of what is no published column"


def _method_breaches(document: Document, claims: Sequence[Claim]) -> Iterator[str]:
    """What a document says of its method that is no parameter, or longer than one."""
    keys = {key: set(known) for key, known in _wording()["methods"].items()}
    for claim in claims:
        keys |= {key: set(known) for key, known in (claim.wording or {}).get("methods", {}).items()}
    method = document["method"]
    stated = [method, *(one for one in method.get("steps", ()) if "name" in one)]
    for each in stated:
        if each["name"] not in keys:
            yield f"its method {each['name']!r} is none that is known here"
            return
        if unknown := sorted(each.keys() - keys[each["name"]] - {"name", "decision", "steps"}):
            yield f"its method states {unknown[0]!r}, which is no parameter of {each['name']!r}"
            return
    names = _names_in(document, [claim.document() for claim in claims])
    words = [one for each in stated for one in each.values() if isinstance(one, str)]
    leaves = list(_leaves_and_keys(method))
    texts = {one for one in leaves if isinstance(one, str)} - names
    long = any(len(one) > _WORD for one in words if one not in names)
    long = long or any(len(one) > _TEXT for one in texts)
    numbers = len(leaves) > _NUMBERS + _EACH_ROW * document["rows"]
    if long or numbers or sum(len(one.encode()) for one in texts) > _ROOM:
        yield "its method states more than parameters and what the data show of its decision"


def _leaves_and_keys(value: object) -> Iterator[object]:
    """The texts and numbers in a value, and the keys that they stand under."""
    if isinstance(value, Mapping):
        yield from value
        for one in value.values():
            yield from _leaves_and_keys(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves_and_keys(one)
    else:
        yield value


@dataclass(frozen=True, eq=False)
class _StatedWords:
    """The sentences of a document beside those that its claims allow."""

    guarantee: Document
    claims: tuple[Document, ...]
    """As they stand in the document."""
    known: tuple[Document, ...]
    """The promises whose sentences may stand there."""
    names: str
    """A pattern of columns that the release names."""
    series: str
    """A pattern of the name of its series."""

    @classmethod
    def of(cls, document: Document, claims: Sequence[Claim]) -> _StatedWords:
        stated = tuple(claim.document() for claim in claims)
        kinds = {claim.kind for claim in claims}
        offered = (*_wording()["promises"], *(c.wording for c in claims if c.wording is not None))
        names = "|".join(re.escape(repr(name)) for name in sorted(_names_in(document, stated)))
        one = f"(?:{names or '(?!)'})"
        series = document.get("series") or {}
        return cls(
            guarantee=document["guarantee"],
            claims=stated,
            known=tuple(each for each in offered if set(each["claims"]) <= kinds),
            names=f"{one}(?:(?:, | and of | and |; ){one})*",
            series=re.escape(repr(series.get("name"))),
        )

    def promises(self) -> list[Document] | None:
        """The promises that the statement makes; None where it says something else, or less."""
        said, shared = self.guarantee["statement"], _wording()["shared"]["says"]
        for opening in shared:
            if said.startswith(_beginning(opening)):
                said = re.sub(f"^{self._pattern(opening, said)}: ", "", said)
        used = []
        for part in said.split("; and "):
            promise = next((one for one in self.known if self._states(one, part)), None)
            if promise is None:
                return None
            used.append(promise)
        covered = {kind for one in used for kind in one["claims"]}
        return used if {one["kind"] for one in self.claims} <= covered else None

    def _states(self, promise: Document, part: str) -> bool:
        """Whether a part of the statement is what a promise says, with what it may add."""
        likely = [one for one in promise["says"] if part.startswith(_beginning(one))]
        if not likely:
            return False
        first = "|".join(self._pattern(one, part) for one in likely)
        if re.fullmatch(first, part):  # what may be added is the longer pattern by far
            return True
        added = (one for one in promise.get("and", ()) if _beginning(one) in part)
        more = "|".join(self._pattern(one, part) for one in added)
        return bool(more) and re.fullmatch(f"(?:{first})(?:{_CODAS}(?:{more}))*", part) is not None

    def breaches_of_assumptions(self, used: Sequence[Document]) -> Iterator[str]:
        """Assumptions that do not belong to what is promised, and those that are missing."""
        assumes, left_open = self.guarantee["assumes"], self.guarantee.get("leaves_open", ())
        of_all = {"may": _wording()["shared"]["may"]}
        keys = ("needs", "may", "open")
        allowed = [one for each in (*used, of_all) for key in keys for one in each.get(key, ())]
        if not all(self._among(one, allowed) for one in assumes):
            yield "it assumes what does not belong to its claims"
        for need in dict.fromkeys(one for each in used for one in each.get("needs", ())):
            if not self._spared(need) and not any(self._among(one, [need]) for one in assumes):
                yield "it leaves out what its promise assumes or does not cover"
                break
        opened = [one for each in used for one in each.get("open", ())]
        if not all(one in assumes and self._among(one, opened) for one in left_open):
            yield "it says of an assumption that nobody has to make sure of it"

    def _spared(self, need: str) -> bool:
        """Whether a sentence need not be there, because the claims say more."""
        mark = re.match(r"\{-([^}]*)\}", need)
        keys = mark[1].split("|") if mark else ()
        return any(claim.get(key) is not None for claim in self.claims for key in keys)

    def _among(self, sentence: str, pieces: Sequence[str]) -> bool:
        likely = (one for one in pieces if sentence.startswith(_beginning(one)))
        return any(re.fullmatch(self._pattern(one, sentence), sentence) for one in likely)

    def _pattern(self, piece: str, said: str) -> str:
        """A regular expression of a piece, whose numbers are those that ``said`` may state."""
        marks = {"{{": r"\{", "||": r"\|", "⟨": "(?:", "⟩": ")", "⟩*": ")*", "|": "|"}
        found = []
        for part in _MARKS.split(piece):
            if part in marks:
                found.append(marks[part])
            elif part.startswith("{-"):
                continue
            elif part.startswith("{"):
                found.append(f"(?:{self._slot(part[1:-1], said)})")
            else:
                found.append(re.escape(part))
        return f"(?:{''.join(found)})"

    def _slot(self, name: str, said: str) -> str:
        if name in _wording()["parts"]:
            return self._pattern(_wording()["parts"][name], said)
        if name in {"names", "series", "*"}:
            return {"names": self.names, "series": self.series, "*": _NUMBER}[name]
        if name == "criterion":
            asked = (one for claim in self.claims for one in claim.get("criteria") or ())
            return "|".join(re.escape(StatedCriterion.of(one).words) for one in asked) or "(?!)"
        paths = [path.removesuffix("-1") for path in name.split("|")]
        known = [one for path in paths for claim in self.claims for one in _leaves(claim.get(path))]
        less = 1 if name.endswith("-1") else 0
        texts = {repr(one) for one in known if isinstance(one, str)}
        texts |= {one for one in known if isinstance(one, str)}
        numbers = {number - less for one in known if (number := _fraction(one)) is not None}
        shown = {one for one in re.findall(_NUMBER, said) if _agrees(one, numbers)}
        return "|".join(map(re.escape, sorted(texts | shown, key=len, reverse=True))) or "(?!)"


def _agrees(text: str, numbers: set[Fraction]) -> bool:
    """Whether a text states one of some numbers, as far as sentences round them."""
    stated = Fraction(text.replace(",", ""))
    return any(abs(stated - number) <= _AGREES * abs(number) for number in numbers)


def _fraction(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return None


def _leaves(value: object) -> Iterator[object]:
    """The texts and numbers in a value."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif value is not None:
        yield value


def _names_in(document: Document, claims: Sequence[Document]) -> set[str]:
    """The columns that a document names where it says how they are shown and what is claimed."""
    found = set(document.get("columns") or {}) | set(document.get("types") or {})
    found |= {name for names in (document.get("roles") or {}).values() for name in names}
    return found | {one for claim in claims for one in _leaves(claim) if isinstance(one, str)}

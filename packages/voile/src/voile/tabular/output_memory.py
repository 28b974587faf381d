"""A memory for outputs: what a new table tells together with all that left before it.

**Boxes.**  A published cell counts the rows of a box: of each column, the values that it allows.
Filters and dimensions are the same to an attacker.  Each column's values are cut where any table
cuts them, so that what a box allows of a column is a set of pieces.

**One linear system.**  Boxes that differ in one column alone are a **group**.  Its sets are cut
into the finest parts that unions of them tell apart, and each set is the sum of its parts: so a
filter ``age < 66`` is ``age < 65`` and those of 65.  A part is a box of its own, and in groups
along the other columns.  Beginning with the boxes of a new table, groups are taken up as far as
unknown boxes reach: the system holds what a new table touches, whatever else is remembered.  Unions
of a group's sets are taken up where another table has the same.  Boxes that differ in several
columns are compared in pairs.

**What is disclosed.**  A box of fewer units than the minimum that is published, or whose value
follows from the new table and earlier ones, and did not follow from the earlier ones: by
elimination in fractions, or because nothing is negative and counts are whole, by linear and integer
programs (``attacker``).  A derivation is the one of least absolute multipliers, found by a linear
program.

**The least change.**  Cells of the new table that take part in derivations are left out, those of
most derivations first, until nothing is disclosed; those that need not be are put back.

What it does not see: columns that follow from each other by no table; noise; that a sum of few
contributors narrows one of them to within p %.

Cost: reading all outputs, in the number of their cells; then in what the new table touches.  At
most ``_MOST_BOXES`` boxes are taken up, and beyond that nothing is judged.

Source: the idea that queries are judged by what follows from all of them is Chin and Ozsoyoglu's
("Auditing and inference control in statistical databases", IEEE TSE 8, 1982), for single sums.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from voile.tabular.attacker import CellSystem, FeasibilityIntervals, NoTableError, SystemPart
from voile.tabular.remembered import Box, ColumnPieces, RememberedTable, TableBoxes
from voile_base.errors import InfeasibleError, TableError
from voile_base.ondemand import dataclass

__all__ = ["OutputVerdict"]

_MOST_BOXES = 200_000
_MOST_PROGRAMS = 400
"""Unknown boxes of one part up to which intervals are looked for."""
_SLACK = 1e-6

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _DerivedCell:
    """A box of few units that follows from several tables."""

    what: str
    """Its conditions."""
    value: float
    units: int
    sources: tuple[str, ...]
    """The cells that it follows from, each with its table; the new table's first."""


@dataclass(frozen=True)
class OutputVerdict:
    """What a new table discloses together with earlier ones."""

    derived: tuple[_DerivedCell, ...]
    change: tuple[str, ...] = ()
    """Cells of the new table that would have to be suppressed, where that is enough."""
    boxes: int = 0
    """How many boxes were looked at."""

    @property
    def safe(self) -> bool:
        """Whether nothing is disclosed."""
        return not self.derived

    @staticmethod
    def judge(
        earlier: Sequence[RememberedTable], new: Sequence[RememberedTable], minimum: int
    ) -> OutputVerdict:
        """What follows from new tables and earlier ones of the same data set.

        ``minimum`` is the fewest units that may be known exactly.  Raises ``TableError`` where the
        values of a table are not understood or contradict earlier ones.
        """
        names = dict.fromkeys(name for table in new for name in table.measures)
        found = OutputVerdict(())
        columns = ColumnPieces.of([*earlier, *new])
        for measure in names:
            judge = _Judge(columns, [t for t in earlier if measure in t.measures], measure, minimum)
            one = judge.of([table for table in new if measure in table.measures])
            found = OutputVerdict(
                found.derived + one.derived, found.change + one.change, found.boxes + one.boxes
            )
        return found


# -- the system -----------------------------------------------------------------------------------


class _BoxIndex:
    """All boxes, by what they restrict but one column."""

    def __init__(self, columns: ColumnPieces) -> None:
        self.columns = columns
        self.boxes: dict[Box, int] = {}
        self.listed: list[Box] = []
        self.of_rest: dict[tuple[int, Box], list[int]] = defaultdict(list)
        self.places_of: dict[Box, list[int]] = defaultdict(list)
        """Columns in which other boxes restrict more than a box does."""

    def add(self, box: Box) -> int:
        """The number of a box, which may be new."""
        number = self.boxes.get(box)
        if number is None:
            number = len(self.listed)
            self.boxes[box] = number
            self.listed.append(box)
            for place, mask in box:
                rest = _without(box, place)
                group = self.of_rest[place, rest]
                if not group:
                    self.places_of[rest].append(place)
                group.append(mask)
        return number

    def group(self, place: int, rest: Box) -> list[int]:
        """The sets of a group along a column."""
        found = list(self.of_rest.get((place, rest), ()))
        return [*found, self.columns.full[place]] if rest in self.boxes else found

    def with_mask(self, place: int, rest: Box, mask: int) -> Box:
        """A box of a group."""
        if mask == self.columns.full[place]:
            return rest
        return tuple(sorted((*rest, (place, mask))))


def _boxes_of(columns: ColumnPieces, table: RememberedTable) -> TableBoxes:
    """The boxes of a table's cells, and those that its dimensions show to be empty."""
    restricted: dict[int, int] = {}
    for one in table.conditions:
        place, met = columns.condition(one)
        restricted[place] = restricted.get(place, columns.full[place]) & met
    families: dict[int, tuple[int, ...]] = {p: (mask,) for p, mask in restricted.items()}
    masks: list[tuple[int, tuple[int, ...]]] = []
    absent: list[tuple[int, int]] = []
    for dimension in table.dimensions:
        place, own = columns.dimension(dimension)
        within = restricted.get(place, columns.full[place])
        held = 0
        for mask in own:
            held |= mask
        if dimension.complete:
            totals = [mask == held for mask in own]
            own = tuple(within if total else mask for mask, total in zip(own, totals, strict=True))
            if within & ~held:
                absent.append((place, within & ~held))
        masks.append((place, tuple(mask & within for mask in own)))
        families[place] = tuple(dict.fromkeys(mask & within for mask in own))
    base = {p: m for p, m in restricted.items() if p not in {place for place, _ in masks}}
    boxes = []
    for codes in table.codes.tolist():
        chosen = dict(base)
        for (place, own), code in zip(masks, codes, strict=True):
            chosen[place] = chosen.get(place, own[code]) & own[code]
        boxes.append(_box(columns, chosen))
    return TableBoxes(table, families, tuple(boxes), tuple(_absent(columns, boxes, absent)))


def _box(columns: ColumnPieces, chosen: Mapping[int, int]) -> Box | None:
    if not all(chosen.values()):
        return None
    return tuple(
        (place, mask) for place, mask in sorted(chosen.items()) if mask != columns.full[place]
    )


def _dividing_sets(columns: ColumnPieces, tables: Iterable[TableBoxes]) -> list[set[int]]:
    """For each column, all of its pieces, and the sets in which tables divide it."""
    found = [{full} for full in columns.full]
    for table in tables:
        for place, masks in table.families.items():
            found[place].update(mask for mask in masks if mask)
    return found


def _absent(
    columns: ColumnPieces, boxes: Iterable[Box | None], absent: Sequence[tuple[int, int]]
) -> Iterator[Box]:
    for place, mask in absent:
        for rest in dict.fromkeys(_without(box, place) for box in boxes if box is not None):
            yield tuple(sorted((*rest, (place, mask))))


def _without(box: Box, place: int) -> Box:
    """A box that allows all of a column."""
    return tuple(one for one in box if one[0] != place)


def _parts(masks: Sequence[int]) -> list[int]:
    """The finest parts that unions of some sets tell apart."""
    parts = [masks[0]]
    rest = masks[0]
    for mask in masks[1:]:
        cut = [piece for part in parts for piece in (part & mask, part & ~mask) if piece]
        new = mask & ~rest
        parts = [*cut, new] if new else cut
        rest |= mask
    return parts


@dataclass(frozen=True, eq=False)
class _Known:
    """What is published of boxes, in all tables so far."""

    value: dict[int, int]
    units: dict[int, int]
    source: dict[int, str]

    def add(self, number: int, value: int, units: int, source: str) -> None:
        """One cell; raises ``TableError`` where another table gives the same box another value."""
        if self.value.setdefault(number, value) != value:
            msg = (
                f"{source}: an earlier table shows another value of the same cell "
                f"({self.source[number]}); name what tells the tables' rows apart in a condition"
            )
            raise TableError(msg)
        self.source.setdefault(number, source)
        if units >= 0:
            self.units.setdefault(number, units)


class _Judge:
    """One measure: all earlier tables, and what new ones add to them."""

    def __init__(
        self, columns: ColumnPieces, earlier: Sequence[RememberedTable], measure: str, minimum: int
    ) -> None:
        self._columns, self._measure, self._minimum = columns, measure, minimum
        self._index = _BoxIndex(columns)
        self._old = _Known({}, {}, {})
        self._tables = [_boxes_of(columns, table) for table in earlier]
        self._scale = max((t.measures[measure].decimals for t in earlier), default=0)
        for number, table in enumerate(self._tables, 1):
            self._take(table, f"output {number}", self._old)

    def _take(self, table: TableBoxes, named: str, into: _Known) -> list[int]:
        """Enter the cells of a table; their boxes."""
        measure = table.table.measures[self._measure]
        unit = 10 ** max(self._scale - measure.decimals, 0)
        numbers = []
        units, values = table.table.units.tolist(), (measure.values * unit).tolist()
        for cell, (box, shown) in enumerate(zip(table.boxes, measure.shown.tolist(), strict=True)):
            if box is None:
                continue
            number = self._index.add(box)
            numbers.append(number)
            if shown:
                source = f"{named} {table.table.name!r}: {table.table.text_of(cell)}"
                into.add(number, values[cell], units[cell], source)
        for box in table.absent:
            number = self._index.add(box)
            into.add(number, 0, 0, f"{named} {table.table.name!r}: no such rows")
        return numbers

    def of(self, new: Sequence[RememberedTable]) -> OutputVerdict:
        """What new tables disclose together with the earlier ones."""
        self._scale = max([self._scale, *(t.measures[self._measure].decimals for t in new)])
        tables = [_boxes_of(self._columns, table) for table in new]
        known = _Known(dict(self._old.value), dict(self._old.units), dict(self._old.source))
        touched: list[int] = []
        for table in tables:
            touched += self._take(table, "the new table", known)
        touched += self._unions(tables, touched)
        rows = self._closure(touched, known)
        system = _BoxSystem(self._index, rows, self._measure_counts(new))
        added = set(known.value) - set(self._old.value)
        before = set(system.small(self._old, self._minimum))
        derived = self._disclosed(system, known, before, added)
        change = self._change(system, known, before, added) if derived else ()
        return OutputVerdict(tuple(derived), change, len(self._index.listed))

    def _measure_counts(self, tables: Sequence[RememberedTable]) -> bool:
        return all(table.measures[self._measure].counts for table in tables)

    def _unions(self, new: Sequence[TableBoxes], touched: Sequence[int]) -> list[int]:
        """Boxes that are unions of others in a group, where another table has such sets.

        Sets of new tables are looked for in all groups, those of earlier ones in groups of new
        boxes, and all values of a column in each.
        """
        index = self._index
        of_new = _dividing_sets(self._columns, new)
        of_all = _dividing_sets(self._columns, (*self._tables, *new))
        own = {(p, _without(index.listed[n], p)) for n in touched for p, _ in index.listed[n]}
        waiting, found = deque(index.of_rest), []
        while waiting:
            place, rest = waiting.popleft()
            masks = index.group(place, rest)
            wanted = of_all[place] if (place, rest) in own else of_new[place]
            for mask in wanted.difference(masks):
                held = 0
                for one in masks:
                    held |= one if not one & ~mask else 0
                if held != mask:
                    continue
                box = index.with_mask(place, rest, mask)
                found.append(index.add(box))
                waiting.extend((p, _without(box, p)) for p, _ in box if p != place)
                if len(index.listed) > _MOST_BOXES:
                    raise _too_many()
        return found

    def _closure(self, touched: Iterable[int], known: _Known) -> list[tuple[int, tuple[int, ...]]]:
        """Sums of boxes, as far as unknown boxes reach: a box, and those it is the sum of."""
        index, rows = self._index, []
        waiting, seen = deque(dict.fromkeys(touched)), set(touched)
        done: set[tuple[int, Box]] = set()
        while waiting:
            box = index.listed[waiting.popleft()]
            groups = [(place, _without(box, place)) for place, _ in box]
            groups += [(place, box) for place in index.places_of.get(box, ())]
            for place, rest in groups:
                if (place, rest) in done:
                    continue
                done.add((place, rest))
                masks = index.group(place, rest)
                if len(masks) == 1:
                    continue
                number = {m: index.add(index.with_mask(place, rest, m)) for m in masks}
                parts = _parts(masks)
                number |= {
                    part: index.add(index.with_mask(place, rest, part))
                    for part in parts
                    if part not in number
                }
                if len(index.listed) > _MOST_BOXES:
                    raise _too_many()
                for mask in masks:
                    if mask not in parts:
                        inner = tuple(number[part] for part in parts if part & mask)
                        rows.append((number[mask], inner))
                more = [n for n in number.values() if n not in known.value and n not in seen]
                seen.update(more)
                waiting.extend(more)
        return rows

    def _disclosed(
        self, system: _BoxSystem, known: _Known, before: set[int], added: set[int]
    ) -> list[_DerivedCell]:
        found = []
        for number in sorted(added):
            value, units = known.value[number], known.units.get(number, self._minimum)
            if value and 0 < units < self._minimum:
                text = self._columns.text(self._index.listed[number]) or "all rows"
                own = (known.source[number],)
                found.append(_DerivedCell(text, value / 10**self._scale, units, own))
        for number, exact in system.small(known, self._minimum).items():
            if number in before:
                continue
            used = system.derivation(number, known)
            units = self._units(used, known, exact, counts=system.whole)
            if not 0 < units < self._minimum:
                continue
            ordered = sorted(used, key=lambda one: (one not in added, one))
            sources = tuple(known.source[one] for one in ordered)
            text = self._columns.text(self._index.listed[number]) or "all rows"
            found.append(_DerivedCell(text, exact / 10**self._scale, units, sources))
        pairs = _NestedBoxes(self._index, known, self._minimum)
        for outer, inner, value in pairs.differences(added) if system.whole else ():
            text = self._columns.text(self._index.listed[outer]) or "all rows"
            without = " and ".join(self._columns.text(self._index.listed[one]) for one in inner)
            sources = tuple(known.source[one] for one in (outer, *inner))
            found.append(_DerivedCell(f"{text}, but not {without}", value, value, sources))
        return found

    def _units(
        self, used: Mapping[int, Fraction], known: _Known, value: float, *, counts: bool
    ) -> int:
        """The units of a box: its value, if units are counted; else by the same derivation."""
        if counts:
            return round(value)
        if any(one not in known.units for one in used):
            return self._minimum - 1  # unknown: taken as few
        # A company in several cells is counted in each: what is left over may seem to have none.
        return max(round(float(sum(m * known.units[one] for one, m in used.items()))), 1)

    def _change(
        self, system: _BoxSystem, known: _Known, before: set[int], added: set[int]
    ) -> tuple[str, ...]:
        """Cells of the new table without which nothing is disclosed."""
        hidden: list[int] = []

        def left(without: Sequence[int]) -> list[dict[int, Fraction]]:
            fewer = _Known(
                {n: v for n, v in known.value.items() if n not in without},
                known.units,
                known.source,
            )
            still = set(added).difference(without)
            few = (n for n in still if 0 < known.units.get(n, 0) < self._minimum)
            found = [{n: Fraction(1)} for n in few if known.value[n]]
            small = (n for n in system.small(fewer, self._minimum) if n not in before)
            found += [system.derivation(n, fewer) for n in small]
            pairs = _NestedBoxes(self._index, fewer, self._minimum)
            nested = pairs.differences(still) if system.whole else ()
            return found + [dict.fromkeys((o, *i), Fraction(1)) for o, i, _ in nested]

        while open_ := left(hidden):
            counted: dict[int, int] = defaultdict(int)
            for used in open_:
                for one in used:
                    counted[one] += one in added and known.source[one].startswith("the new")
            best = max(counted, key=lambda one: (counted[one], -known.value[one]), default=None)
            if best is None or not counted[best]:
                return ()
            hidden.append(best)
        for one in list(hidden):
            fewer = [each for each in hidden if each != one]
            if not left(fewer):
                hidden = fewer
        return tuple(known.source[one].partition(": ")[2] for one in hidden)


def _too_many() -> InfeasibleError:
    msg = (
        f"the table and the earlier outputs have more than {_MOST_BOXES:,} cells together that "
        "must be looked at; nothing was judged. Ask for a table of fewer dimensions"
    )
    return InfeasibleError(msg)


# -- what follows ---------------------------------------------------------------------------------


class _BoxSystem:
    """Sums of boxes, and what follows from those that are known."""

    def __init__(
        self, index: _BoxIndex, rows: Sequence[tuple[int, tuple[int, ...]]], whole: bool
    ) -> None:
        self.whole = whole
        self._numbers = np.array(
            sorted({n for total, parts in rows for n in (total, *parts)}), dtype=np.int64
        )
        at = {number: place for place, number in enumerate(self._numbers.tolist())}
        self._at = at
        first = [at[n] for total, parts in rows for n in (total, *parts)]
        signs = [s for _, parts in rows for s in (1, *[-1] * len(parts))]
        lengths = [1 + len(parts) for _, parts in rows]
        row = np.repeat(np.arange(len(rows)), lengths)
        self._matrix = csr_matrix(
            (np.array(signs, dtype=np.int64), (row, np.array(first, dtype=np.int64))),
            shape=(len(rows), len(at)),
            dtype=np.int64,
        )

    def _system(self, known: _Known) -> CellSystem:
        numbers = self._numbers.tolist()
        values = np.array([known.value.get(n, 0) for n in numbers], dtype=np.int64)
        hidden = np.array([n not in known.value for n in numbers], dtype=np.bool_)
        return CellSystem(self._matrix, values, hidden, self.whole)

    def small(self, known: _Known, minimum: int) -> dict[int, float]:
        """Unknown boxes of few units whose values follow, with these; of sums, all that follow."""
        if not len(self._numbers):
            return {}
        system = self._system(known)
        try:
            exact = system.recomputed()
            found = {cell: float(value) for cell, value in exact.items()}
            if self.whole:
                found |= self._narrowed(system, set(exact), minimum)
        except NoTableError:
            msg = (
                "the values of the table contradict those of earlier outputs: no rows can have "
                "both; check its conditions, and that all are of one data set at one time"
            )
            raise TableError(msg) from None
        numbers = self._numbers.tolist()
        return {
            numbers[cell]: value
            for cell, value in sorted(found.items())
            if value > 0 and (value < minimum or not self.whole)
        }

    @staticmethod
    def _narrowed(system: CellSystem, exact: set[int], minimum: int) -> dict[int, float]:
        """Boxes that inequalities narrow to one small value."""
        found = {}
        for part in system.parts():
            asked = [cell for cell in part.cells.tolist() if cell not in exact]
            if not asked or len(asked) > _MOST_PROGRAMS or part.sums.min(initial=0) < 0:
                continue
            bounds = _quick_upper(part)
            asked = [cell for cell in asked if bounds[np.searchsorted(part.cells, cell)] > 0]
            intervals = FeasibilityIntervals.of(system, asked)
            for cell, low, high in zip(
                intervals.cells.tolist(), intervals.lower, intervals.upper, strict=True
            ):
                if high - low < 1 - _SLACK and 0 < high < minimum:
                    found[cell] = float(high)
        return found

    def derivation(self, number: int, known: _Known) -> dict[int, Fraction]:
        """Known boxes with multipliers, whose sum is a box; the least in absolute multipliers.

        Where only inequalities narrow it, all known boxes of its part with a multiplier of 1.
        """
        system = self._system(known)
        cell = self._at[number]
        part = next(one for one in system.parts() if cell in one.cells)
        rows, size = part.matrix.shape
        goal = np.zeros(size)
        goal[int(np.searchsorted(part.cells, cell))] = 1.0
        both = csr_matrix(np.hstack((part.matrix.toarray().T, -part.matrix.toarray().T)))
        result = linprog(np.ones(2 * rows), A_eq=both, b_eq=goal, method="highs-ds")
        numbers = self._numbers
        if result.status:
            shown = abs(self._matrix[part.rows]).sum(axis=0).A1 * ~system.suppressed
            return {int(numbers[one]): Fraction(1) for one in np.flatnonzero(shown)}
        times = result.x[:rows] - result.x[rows:]
        sums = -(self._matrix[part.rows].T @ times) * ~system.suppressed
        return {
            int(numbers[one]): Fraction(float(sums[one])).limit_denominator(1_000)
            for one in np.flatnonzero(np.abs(sums) > _SLACK)
        }


def _quick_upper(part: SystemPart) -> NDArray[np.float64]:
    """Shape (cells,): no cell is larger than a sum of which it is a part."""
    upper = np.full(len(part.cells), np.inf)
    matrix = part.matrix
    for row in range(matrix.shape[0]):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        data, columns = matrix.data[span], matrix.indices[span]
        if (data == data[0]).all():
            upper[columns] = np.minimum(upper[columns], part.sums[row] / data[0])
    return upper


class _NestedBoxes:
    """Published boxes within others, of which few units are left over."""

    def __init__(self, index: _BoxIndex, known: _Known, minimum: int) -> None:
        self._index, self._minimum = index, minimum
        numbers = sorted(known.value)
        self._numbers = np.array(numbers, dtype=np.int64)
        self._values = np.array([known.value[n] for n in numbers], dtype=np.int64)
        self._full = index.columns.full

    def differences(self, added: set[int]) -> Iterator[tuple[int, tuple[int, ...], int]]:
        """A box, one within it, and what is left; of boxes that differ in several columns.

        At least one of them is among those added.
        """
        new = np.flatnonzero(np.isin(self._numbers, list(added)))
        order = np.argsort(self._values, kind="stable")
        sorted_values = self._values[order]
        for at in new.tolist():
            value = int(self._values[at])
            low, high = value - self._minimum + 1, value + self._minimum
            span = order[slice(*np.searchsorted(sorted_values, [low, high]))]
            for other in span.tolist():
                left = int(self._values[other]) - value
                outer, inner = (other, at) if left > 0 else (at, other)
                if left and self._holds(outer, inner) and self._apart(outer, inner) > 1:
                    yield int(self._numbers[outer]), (int(self._numbers[inner]),), abs(left)

    def _box(self, at: int) -> Box:
        return self._index.listed[int(self._numbers[at])]

    def _holds(self, outer: int, inner: int) -> bool:
        held = dict(self._box(inner))
        return all(
            held.get(place, self._full[place]) & ~mask == 0 for place, mask in self._box(outer)
        )

    def _apart(self, one: int, two: int) -> int:
        return len({place for place, _ in set(self._box(one)) ^ set(self._box(two))})

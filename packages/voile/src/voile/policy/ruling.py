"""What a criterion of a policy finds, and when that is a pass; private.

A figure comes with an interval, of confidence 95 % where it was estimated and of no width where it
was counted.  It passes where the whole interval does: one that straddles the limit is no pass, and
neither is a figure that is missing.

``assumptions.toml``: what a human must make sure of, and who has.

    [[assumption]]
    says = "each row is another person"
    ticked = true
    by = "data protection officer"

    [[waiver]]
    criterion = "copying was assessed as the policy asks"
    reason = "no control exists: all people of the region are in the data"
    by = "data protection officer"

A role that ticks what it knows to be otherwise says so, and the statement is accepted, not
confirmed: by = "data protection officer, knowing that 5 plans were tried on these rows".

A waiver lets a criterion pass of which there is no figure, by its words, and stands in the verdict
and on the dossier with its reason; none lets a figure pass that is beyond a limit.

``voile check`` writes the file with nothing ticked, and adds what another policy asks at its end; a
line that somebody wrote is never changed.  Statements count by their words: where a promise comes
to assume something else, it is not confirmed.

k, l and t of published rows, whoever made them: counted, from what everybody sees.

Rows form a group where they show the same in all quasi-identifiers, and have one group's number
where the release numbers groups.  Where a sensitive column was permuted within groups, its values
belong to the group and to no row, so that its groups are those of the numbers alone.

Cost: a count of the distinct combinations.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from voile.audit.record import DOES_NOT_APPLY
from voile.models.criteria import Groups, SensitiveCells
from voile.models.t_closeness import EqualCloseness, OrderedCloseness
from voile.table.published import PublishedTable
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, TableError, place_in_toml
from voile_base.ondemand import dataclass
from voile_base.values.toml import toml_text
from voile_base.values.value import Several, Value, checked, read

__all__ = [
    "ASSUMPTIONS",
    "CONFIRMED",
    "KNOWING",
    "SINGLING_OUT",
    "UNPUBLISHED",
    "MeasuredFigure",
    "NotCounted",
    "Ruling",
    "ShownRows",
    "Tick",
    "Waiver",
    "read_ticks",
    "read_waivers",
    "tally_of",
    "ticked",
    "with_form",
]


Limit = Annotated[float, Field(allow_inf_nan=False)]

CONFIRMED = frozenset({"assumptions", "question", "unexamined", "recipient"})
"""Kinds of criteria that a person confirms with a tick."""
SINGLING_OUT = "singling out"
"""The risk whose columns are its predicates, and then those that no group hides."""


UNPUBLISHED = "no other published data is derived from"
"""In the words of what promises assume of other releases."""


class NotCounted(str):
    """Why there is no figure, with the command that counts one."""

    __slots__ = ()


@dataclass(frozen=True)
class MeasuredFigure:
    """A figure, and how it came about."""

    value: float
    low: float
    high: float
    why: str
    """A clause: "of 12 groups of rows that show the same, the smallest"."""
    of_original: bool = True
    """Whether it was computed with the private original."""
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """Those of the table that it is about; none where it is about no single ones."""

    @classmethod
    def exactly(
        cls,
        value: float,
        why: str,
        *notes: str,
        of_original: bool = False,
        columns: Sequence[str] = (),
    ) -> MeasuredFigure:
        """A figure that was counted."""
        return cls(value, value, value, why, of_original, notes, tuple(columns))


@checked(InputError)
@dataclass(frozen=True)
class Ruling:
    """One criterion, with its figure and whether it is met."""

    kind: str
    asks: str
    """What is asked, as a clause."""
    passed: bool
    why: str
    """How the figure came about, or why there is none; a clause."""
    value: Limit | None = None
    low: Limit | None = None
    high: Limit | None = None
    limit: Limit | None = None
    side: Literal["least", "most"] | None = None
    """On which side of the limit a figure passes."""
    of_original: bool = True
    """Whether it was computed with the private original, and must stay private."""
    notes: Several[str] = ()
    subject: str = field(default="", compare=False)
    """The attack or the risk that it is about; empty where its kind says all."""
    columns: Several[str] = field(default=(), compare=False)
    """Columns of the table or of the file that it is about; empty where it is about no single
    ones.  Like the next, it follows from the rest."""
    countable: bool = field(default=False, compare=False)
    """Whether a command counts the figure that is missing, which ``why`` names."""
    waived: str = ""
    """Who lets it pass though there is no figure, and why; empty where nobody does."""
    accepted: str = field(default="", compare=False)
    """What is against a statement that a person ticked all the same; empty: it is confirmed.

    It follows from the rest and the promise, so that verdicts without it are the same verdicts.
    """

    @property
    def told(
        self,
    ) -> Literal[
        "pass",
        "accepted",
        "not applicable",
        "waived",
        "FAIL",
        "STRADDLES",
        "MISSING",
        "not confirmed",
    ]:
        """The ruling in a word or two."""
        if self.waived:
            return "waived"
        if self.accepted:
            return "accepted"
        if self.passed:
            return "not applicable" if self.why.startswith(DOES_NOT_APPLY) else "pass"
        if self.value is None:
            if self.limit is not None:
                return "MISSING"
            return "not confirmed" if self.kind in CONFIRMED else "FAIL"
        return "STRADDLES" if self._keeps_limit(self.value) else "FAIL"

    @property
    def is_undecided(self) -> bool:
        """Whether the limit that is missed lies within the interval of the figure."""
        return not self.passed and self._keeps_limit(self.low if self.side == "most" else self.high)

    def _keeps_limit(self, figure: float | None) -> bool:
        if figure is None or self.limit is None:
            return False
        return figure <= self.limit if self.side == "most" else figure >= self.limit

    @property
    def unhidden(self) -> tuple[str, ...]:
        """Columns by which people are singled out whatever their groups are; see ``Case``."""
        return self.columns[1:] if self.subject == SINGLING_OUT else ()

    @property
    def figure(self) -> str:
        """The figure with its interval; empty where there is none."""
        if self.value is None or self.low is None or self.high is None:
            return ""
        value, ends = f"{self.value:.4g}", (self.low, self.high)
        limit = self.limit
        exact = any(one != limit and float(f"{one:.3g}") == limit for one in ends)
        low, high = (f"{one:.6g}" if exact else f"{one:.3g}" for one in ends)
        return value if self.low == self.high else f"{value} ({low} to {high})"

    @property
    def label(self) -> str:
        """What it rests on, as ``tally_of`` counts it."""
        if self.kind in CONFIRMED and self.told in {"pass", "not confirmed"}:
            return "confirmed" if self.passed else "not confirmed"
        return "met" if self.told == "pass" else self.told if self.passed else "not met"

    @staticmethod
    def at_most(
        kind: str, asks: str, found: MeasuredFigure | str, limit: float, subject: str = ""
    ) -> Ruling:
        """A figure that must not lie above a limit, or why there is none."""
        return replace(_held(kind, asks, found, limit, "most"), subject=subject)

    @staticmethod
    def at_least(kind: str, asks: str, found: MeasuredFigure | str, limit: float) -> Ruling:
        """A figure that must not lie below a limit, or why there is none."""
        return _held(kind, asks, found, limit, "least")


def _held(
    kind: str, asks: str, found: MeasuredFigure | str, limit: float, side: Literal["least", "most"]
) -> Ruling:
    if isinstance(found, str):
        counts = isinstance(found, NotCounted)
        return Ruling(
            kind, asks, passed=False, why=str(found), limit=limit, side=side, countable=counts
        )
    return Ruling(
        kind,
        asks,
        passed=found.high <= limit if side == "most" else found.low >= limit,
        why=found.why,
        value=found.value,
        low=found.low,
        high=found.high,
        limit=limit,
        side=side,
        of_original=found.of_original,
        notes=found.notes,
        columns=found.columns,
    )


_OPEN = ("not met", "contradicted", "not confirmed", "not accepted")


def tally_of(labels: Sequence[str]) -> str:
    """How many rulings rest on what, in sentences."""
    count = {one: labels.count(one) for one in labels}
    void = count.pop("not applicable", 0)
    unmet = [f"{count.pop(one)} {one}" for one in _OPEN if one in count]
    measured, waived = count.pop("met", 0), count.pop("waived", 0)
    parts = [f"{measured} measured"] if measured else []
    if count:
        by_label = sorted(count.items(), reverse=True)
        told = " and ".join(f"{number} {label}" for label, number in by_label)
        parts.append(f"{told} by a person alone, not measured")
    parts += [f"{waived} waived"] if waived else []
    met = len(labels) - void - sum(map(labels.count, _OPEN))
    of = "; ".join(one for one in (", ".join(parts), ", ".join(unmet)) if one)
    total = f"{met} of {len(labels) - void} criteria that apply are met"
    apart = f" {void} {'does' if void == 1 else 'do'} not apply." if void else ""
    return f"{total}{': ' if of else ''}{of}.{apart}"


ASSUMPTIONS = "assumptions.toml"
KNOWING = ", knowing that "
"""What stands between a role and what was known against the statement that it ticked."""
_HEAD = """\
# What no machine can see. Say ticked = true, and by whom (a role), of what somebody has made sure.
"""


class Tick(Value):
    """One statement, and whether somebody has made sure of it."""

    says: str
    ticked: bool = False
    by: str | None = None
    """A role, where it is ticked."""

    @model_validator(mode="after")
    def _by_somebody(self) -> Self:
        if self.ticked and not (self.by and self.by.strip()):
            msg = 'what is ticked says by whom: by = "data protection officer"'
            raise ValueError(msg)
        return self


class Waiver(Value):
    """A criterion that somebody lets pass of which there is no figure."""

    criterion: Annotated[str, Field(min_length=1)]
    """What is asked, in the words of the verdict."""
    reason: Annotated[str, Field(min_length=1)]
    by: Annotated[str, Field(min_length=1)]
    """A name or a role."""

    def of(self, ruling: Ruling) -> Ruling:
        """The ruling, passed where it is the one that is waived and has no figure."""
        if ruling.asks != self.criterion or ruling.told != "MISSING":
            return ruling
        return replace(ruling, passed=True, waived=f"waived by {self.by}: {self.reason}")


class _Form(Value):
    assumption: tuple[Tick, ...] = ()
    waiver: tuple[Waiver, ...] = ()


def ticked(says: str, ticks: Sequence[Tick]) -> str | None:
    """The role that has made sure of a statement; None where nobody has."""
    return next((one.by for one in ticks if one.says == says and one.ticked), None)


def read_ticks(path: Path) -> tuple[Tick, ...]:
    """What stands in the file, nothing where there is none; raises ``InputError``."""
    return _parsed(path)[1].assumption


def read_waivers(path: Path) -> tuple[Waiver, ...]:
    """The waivers in the file, nothing where there is none; raises ``InputError``."""
    return _parsed(path)[1].waiver


def with_form(path: Path, statements: Sequence[str]) -> tuple[Tick, ...]:
    """What stands in the file, to which statements that are missing are added, unticked.

    Raises ``InputError`` where it cannot be read or written.
    """
    text, form = _parsed(path)
    found = form.assumption
    known = {one.says for one in found}
    new = [Tick(says=says) for says in dict.fromkeys(statements) if says not in known]
    if new:
        document = [toml_text({"says": one.says, "ticked": False, "by": ""}) for one in new]
        added = "".join(f"\n[[assumption]]\n{one}" for one in document)
        replace_private_file(path, (text or _HEAD).rstrip("\n") + "\n" + added)
    return (*found, *new)


def _parsed(path: Path) -> tuple[str, _Form]:
    try:
        text = path.read_text(encoding="utf-8")
        form: _Form = read(_Form, tomllib.loads(text), str(path), public=True, tables=True)
    except FileNotFoundError:
        return "", _Form()
    except tomllib.TOMLDecodeError as error:
        msg = f"{path}: this is not valid TOML at {place_in_toml(error)}"
        raise InputError(msg) from None
    except (OSError, UnicodeDecodeError):
        msg = f"{path}: it cannot be read as a UTF-8 text file"
        raise InputError(msg) from None
    return text, form


@dataclass(frozen=True, eq=False)
class ShownRows:
    """The rows of a release or of a file of another make."""

    table: PublishedTable
    roles: Mapping[str, tuple[str, ...]]
    """Published columns by role."""
    group: str | None
    """The column with the numbers of groups."""
    permuted: frozenset[str]
    """Columns whose values belong to groups and not to rows."""
    numbered: frozenset[str] = frozenset()
    """Columns whose ids a release has replaced by numbers of its own."""

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The published sensitive columns."""
        return tuple(self.roles.get("sensitive", ()))

    def smallest_group(self) -> MeasuredFigure | str:
        """The fewest rows that show the same."""
        columns = self._shared()
        if not columns:
            return "no published column is a quasi-identifier, so that nothing tells groups"
        sizes = self.table.group_sizes(columns)
        if not len(sizes):
            return "there are no published rows"
        least = int(sizes.min())
        return MeasuredFigure.exactly(
            least, f"rows of the smallest of {len(sizes):,} groups that show the same"
        )

    def least_diverse(self, column: str) -> MeasuredFigure | str:
        """The fewest different values of a sensitive column in a group."""
        cells = self._cells(column)
        if isinstance(cells, str):
            return cells
        values = np.bincount(cells.group)
        return MeasuredFigure.exactly(
            int(values.min()), f"values of {column!r} in the poorest of {len(values):,} groups"
        )

    def furthest(self, column: str) -> MeasuredFigure | str:
        """The largest distance of a sensitive column in a group from that in all published rows."""
        cells = self._cells(column)
        if isinstance(cells, str):
            return cells
        numbers = self.table.kinds()[column] in {"integer", "decimal", "single"}
        distance = (OrderedCloseness if numbers else EqualCloseness)(1, column)
        groups = Groups(np.bincount(cells.group, cells.rows).astype(np.int64), {column: cells})
        far = float(distance.distances(groups).max())
        ground = "ordered" if numbers else "equal"
        why = f"{ground} distance of {column!r} in the furthest of {len(groups.rows):,} groups"
        return MeasuredFigure.exactly(far, f"{why} from all published rows")

    def _cells(self, column: str) -> SensitiveCells | str:
        if column not in self.table.columns:
            return f"no published column is {column!r}"
        own = column in self.permuted and self.group is not None
        shared = [self.group] if own and self.group else self._shared(without=column)
        if not shared:
            return "no published column is a quasi-identifier, so that nothing tells groups"
        try:
            cells = self.table.cells(shared, column)
        except TableError as error:
            return str(error)
        if not len(cells.rows):
            return "there are no published rows"
        return SensitiveCells(cells.group, cells.value, cells.rows, cells.total)

    def _shared(self, without: str | None = None) -> list[str]:
        names = [one for one in self.roles.get("quasi_identifiers", ()) if one != without]
        return [*names, *([self.group] if names and self.group else [])]

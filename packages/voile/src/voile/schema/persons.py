"""Who is protected: persons with several rows, households, or rows that are a person each.

``[roles] person`` names the column that tells persons apart, ``household`` the one that tells apart
those who are protected together; where both are given, each person is of one household, and the
household is what counts.  ``person = "row"`` says that each row is another person.  What is
protected as one is called a **unit**: everything that counts, counts units.  The column of units is
read as texts are, misses no value, and is in no release, message or log.  Ids that differ only in
form would make two units of one: ``table.looking`` says which are refused, and which are told.

**Counts.**  A group has as many units as there are different ones among its rows.  That is no sum:
the units of a union are at least those of each part and at most those of all parts together.  It
never falls when groups are joined, so searches by merging stay right; and it is at most the number
of rows, or the sum over the combinations of values in it, by which most groups are ruled out before
anybody counts.  ``table.summaries`` says how the kernel counts, and what that costs.

**Criteria.**  A unit counts once in every criterion, whatever the number of its rows:

- k-anonymity, boxes and clusters: k units.  So a group of one unit's rows is never valid.
- l-diversity, of each kind: at least l values come from l different units, that is, l units can be
  named who have l different values, one each (a matching; Hall).  One unit with ten values and
  another with one make two such values, not eleven.  Joining groups only adds choices, so a valid
  group stays valid.  The entropy and recursive kinds hold besides of the shares below.
- Shares of values (entropy, recursive, t-closeness, and any criterion that compares how often
  values stand in a group): each unit weighs one in each group in which it has a row, and the rows
  that it has there share that evenly: with flu, flu and hiv a unit weighs 2/3 and 1/3.  So somebody
  who learns that a person is in the group believes, as any of its units may be that person.
  t-closeness compares that with the whole table as one group: what was believed before.  How many
  rows a unit has elsewhere makes it no lighter: else a hundred with flu and one with hiv were even
  where each of the hundred has 99 other rows.  A unit that stands in two groups weighs one in each,
  and one in their union, whose shares are then no mixture of those of its parts: these criteria are
  monotone of rows and not of units, and searches spread none of their verdicts (``models.units``).

Small cases that show why each is needed stand in its tests, ``models/test_units.py``.  Where each
unit has one row, every count and criterion is what it is of rows; duplicating all rows changes
none.

**Adversaries.**  There are two: who knows one row of a person, and who knows all of them.  Counts
of units hold against the first: the row that is known is one of k persons'.  They do not hold
against the second, who finds a group for each row that he knows and intersects them on what stays
the same for the person; the guarantee says so.

**Methods** say whether they count units (``Capabilities.persons``), and all others refuse a plan
that names units: no promise about rows passes for one about persons.  What counts mean in a method,
or are to mean once it counts:

- Rankings: the best are units by their best rows; rows of a unit that agree in all ranking
  attributes count once in precision and recall.
- M-Shuffle: each unit weighs one in what is chosen by, and a cluster has rows of two units or more.
- (k, e): k values that come from k different units, and two different units whose values are at
  least e apart.  A unit that holds both ends of the range alone stretches nothing: whoever is not
  that unit stands among the values of the others.
- A series of (k, e): refused where a unit has several rows, because no rule is proved for what
  later rows of a unit tell about the earlier ones.
- Differential privacy: at most ``rows_per_person`` rows of a unit take part, drawn by the keyed
  function, and neighbouring tables differ in a unit with all its rows; that holds against both
  adversaries (``publish.contribution``, ``table.private``).

**Silence.**  Promises that count rows are about persons where each person is one row, and where no
row can be pointed at from outside.  A plan that says nothing of it is therefore held against three
counts, which every door to a table takes, whatever the method (``voile.table.opening``):

- A column under ``identifiers`` **repeats** where a value of it, other than a missing one, stands
  in more than one row of the input.  k rows that look alike may then be one person's.  The ways out
  are ``person = "that column"``, and ``person = "row"``, as people share names.
- A column under ``keep`` **singles out rows** where, of its distinct values, more than half stand
  in one row only.  Who knows the value finds the row, however alike the rest is.
  ``keep_unique = ["it"]`` says that the column may be kept.  Counted are the rows that may be
  published, after the plan's treatment of missing values; that a value is missing counts as one
  value.  Where units are named, what counts is whether a value stands with one unit only.  A
  constant singles out nobody; there is no smallest table: of one row, each column does.

More than half of the distinct values, and not of the rows: a few common values beside a long tail
of values that stand once are no less a list of people.

- A column under ``sensitive`` **looks like an id** where it has more than 20 different values and
  nearly every row has its own (nine of ten), if they are no amounts; or where there are so many as
  one to ten rows, and a program made them (long hexadecimal numbers), or the column's name says
  that it tells persons or things apart (``names``); or whole numbers are counted up or equally
  long, and nearly every row has its own.  A release would publish it as it is.  A diagnosis or a
  salary has many values too, and is no id: amounts are told by their name alone.
- A column under ``sensitive`` or ``keep`` **is recognised** (``voile.recognisers``) as holding
  names, addresses, numbers of persons and documents, or positions, however often values repeat.

A method that shows quasi-identifiers exactly (``exact_quasi_identifiers``: (k, e), M-Shuffle) has
these held against the last two alike.

The way out of the last two is ``keep_unique``, too: that each row is another person says nothing
of what its columns show.

A record key is left out of the first count, because a series requires of every version that it
is unique.  Trips and their reports have columns of their own (``schema.trajectory``), which are
not identifiers and repeat; they are protected by trip and by vehicle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from voile.schema.names import named
from voile.schema.plan import Plan
from voile.schema.roles import EACH_ROW, Protected, Roles
from voile_base.errors import PlanError, TableError
from voile_base.ondemand import dataclass

__all__ = [
    "ALONE",
    "FEW_PERSONS",
    "TELLING",
    "Occurrences",
    "columns_to_keep",
    "figure_told",
    "identifying_columns",
    "looks_like_an_id",
    "many_tell_rows",
    "others_told",
    "refuse_divided_persons",
    "refuse_forms",
    "refuse_missing_unit",
    "refuse_repeating",
    "refuse_singling_out",
    "targets_told",
    "told_of_published_id",
    "uncounted",
    "units_told",
]

FEW_PERSONS = 20
"""So few different values tell no persons apart."""
TELLING = 0.1
"""The share of rows from which on different values of an id tell things apart."""
ALONE = 0.9
"""The share of rows from which on nearly every row has its own value."""

_TAKEN_FOR = {
    False: (
        "a person may have several rows, and what is promised of rows is then not promised of "
        "persons. If the column tells persons apart, say person = {column} in [roles]; if each row "
        "is another person all the same, as people share a name"
    ),
    True: (
        "a person may have several reports or trips, and what is promised of a report and of a "
        "trip is then not promised of persons. If that is what you mean to promise"
    ),
}
"""What a repeated identifier means, and the ways out: of a table, and of trajectories."""


@dataclass(frozen=True)
class Occurrences:
    """How often the values of a column stand in it."""

    rows: int
    """Rows that were counted."""
    values: int
    """Distinct values in them."""
    once: int
    """Values that stand in one row only."""
    of: Protected = "row"
    """What was counted: rows, or persons or households that have a row with the value."""

    @property
    def repeat(self) -> bool:
        """Whether some value stands in more than one row."""
        return self.values < self.rows

    @property
    def single_out(self) -> bool:
        """Whether more than half of the values stand in one row only."""
        return 2 * self.once > self.values

    def told_of_identifier(self, column: str) -> str:
        """That an identifier repeats, as a clause."""
        return f"column {column!r} repeats ({self.rows:,} rows, {self.values:,} different values)"

    def told_of_kept(self, column: str) -> str:
        """That a column singles out rows, as a clause."""
        return (
            f"column {column!r} singles out {self.of}s ({self.once:,} of its {self.values:,} "
            f"different values stand {'in one row' if self.of == 'row' else f'with one {self.of}'} "
            "only)"
        )


def identifying_columns(roles: Roles, record_key: str | None = None) -> tuple[str, ...]:
    """The columns that must not repeat: none where the plan says who is a person."""
    if roles.person == EACH_ROW or roles.unit is not None:
        return ()
    return tuple(name for name in roles.identifiers if name != record_key)


def columns_to_keep(roles: Roles) -> tuple[str, ...]:
    """The columns that must not single out rows."""
    return tuple(name for name in roles.keep if name not in roles.keep_unique)


def refuse_repeating(plan: Plan, column: str, found: Occurrences) -> None:
    """Raise ``PlanError`` where an identifier repeats; missing values were not counted."""
    if not found.repeat:
        return
    meant = _TAKEN_FOR[plan.trajectory is not None].format(
        column=json.dumps(column, ensure_ascii=False)
    )
    msg = (
        f"[roles] identifiers: {found.told_of_identifier(column)}, so {meant}, say "
        f'person = "{EACH_ROW}" in [roles]'
    )
    raise plan.error(msg)


def refuse_singling_out(plan: Plan, found: Mapping[str, Occurrences]) -> None:
    """Raise ``PlanError`` where columns that are kept single out rows; names all that do."""
    bad = {name: counts for name, counts in found.items() if counts.single_out}
    if not bad:
        return
    told = "; ".join(counts.told_of_kept(name) for name, counts in bad.items())
    unique = json.dumps([*plan.roles.keep_unique, *bad], ensure_ascii=False)
    msg = (
        f"[roles] keep: {told}. More than half is too many: whoever knows the value finds the "
        f"{plan.roles.protected}. Leave such a column out; or, if that may be, say keep_unique = "
        f"{unique} in [roles]"
    )
    raise plan.error(msg)


def many_tell_rows(distinct: int, rows: int) -> bool:
    """Whether many of some rows have a value of their own, by how many different ones there are."""
    return distinct > max(FEW_PERSONS, TELLING * rows)


def looks_like_an_id(column: str, found: Occurrences, *, texts: bool, machine_made: bool) -> bool:
    """Whether a column that is published tells persons or things apart, as the module says.

    ``found`` counts its values without missing ones; ``texts`` says that they are no amounts.
    """
    if found.values <= FEW_PERSONS:
        return False
    telling = found.values > TELLING * found.rows
    alone = texts and found.values > ALONE * found.rows
    return alone or (telling and (machine_made or named(column) is not None))


def told_of_published_id(column: str, found: Occurrences) -> str:
    """That a column which is published looks like an id, as a clause."""
    return (
        f"column {column!r} looks like an id, which would be published as it is ({found.rows:,} "
        f"rows, {found.values:,} different values)"
    )


def refuse_missing_unit(
    plan: Plan, key: str, column: str, missing: int, rows: int, first: int | None
) -> None:
    """Raise ``TableError`` where rows do not say whose they are; ``first`` is the first of them."""
    if not missing:
        return
    where = f", first in row {first}" if first is not None else ""
    msg = (
        f"[roles] {key}: column {column!r} misses its value in {missing:,} of {rows:,} rows"
        f"{where}; a row of which nobody knows whose it is cannot be counted. Give each such row "
        f"the id of its {key}, or one of its own, or leave these rows out of the table"
    )
    raise TableError(f"{plan.source}: {msg}" if plan.source else msg)


def refuse_forms(plan: Plan, key: str, told: str) -> None:
    """Raise ``TableError`` for ids that differ only in form, which ``told`` says as a clause."""
    msg = (
        f"[roles] {key}: {told}, so that fewer {key}s stand in a group than are counted. Write "
        "each id in one form in the table"
    )
    raise TableError(f"{plan.source}: {msg}" if plan.source else msg)


def refuse_divided_persons(plan: Plan, persons: int, divided: int, first: int | None) -> None:
    """Raise ``TableError`` where persons stand in several households.

    ``divided`` of the ``persons`` do; ``first`` is the first row of one of them.
    """
    where = f", first in row {first}" if first is not None else ""
    stand = "person stands" if divided == 1 else "persons stand"
    msg = (
        f"[roles] household: {divided:,} {stand} in several households{where}, of {persons:,} "
        f"persons, by columns {plan.roles.person!r} and {plan.roles.household!r}; a household "
        "holds all rows of its persons. Give each person one household, or leave household out"
    )
    raise TableError(f"{plan.source}: {msg}" if plan.source else msg)


def uncounted(plan: Plan, why: str) -> PlanError:
    """That a plan names persons or households, and something does not count them."""
    key = plan.roles.protected
    msg = (
        f"[roles] {key} names a column, and {why}, so nothing would be promised of {key}s. Choose "
        f'a method that counts them, or say person = "{EACH_ROW}", if a promise about rows is what '
        "you mean"
    )
    return plan.error(msg)


def figure_told(figure: str, *, upper_bound: bool) -> str:
    """A figure in words, marked where it bounds what it is of: "at most 12.5 %"."""
    return f"at most {figure}" if upper_bound else figure


def targets_told(targets: int, drawn_from: int | None, protected: Protected | None) -> str:
    """At whom an attack was aimed: "all 48,842 rows", "1,000 drawn of 71,518 persons".

    "1,000 targets" where it is not known of how many, or of what, they were drawn.
    """
    if protected is None or drawn_from is None:
        return f"{targets:,} target" if targets == 1 else f"{targets:,} targets"
    if targets < drawn_from:
        return f"{targets:,} drawn of {units_told(protected, drawn_from)}"
    told = units_told(protected, drawn_from)
    return told if drawn_from == 1 else f"all {told}"


def units_told(protected: Protected, number: int | None = None) -> str:
    """Persons, or so many of them, in words: "5 persons", "1 household", "rows"."""
    word = protected if number == 1 else f"{protected}s"
    return word if number is None else f"{number:,} {word}"


def others_told(protected: Protected, number: int) -> str:
    """So many others, in words: "4 others" of rows, "1 other person"."""
    if protected == "row":
        return f"{number:,} other{'' if number == 1 else 's'}"
    return f"{number:,} other {protected}{'' if number == 1 else 's'}"

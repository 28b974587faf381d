"""Columns that a released file shows and its plan does not let out; private.

What holds for a release of Voile holds for a file of another make: only a column with a role
leaves, a kept one only where its values single out nobody, or the plan says that they may
(``keep_unique``), a sensitive one only where it is no id, and neither where the recognisers know
names, addresses, numbers of persons or positions in it.  See ``schema.persons`` for the counts.
Nobody is asked to tick it: a plan that names the column, and another audit, mend it.

Without a plan the proposed roles count, and a column without any has to be named in one.

Cost: a count of the values of each such column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from voile.audit.recognition import Recognised
from voile.recognisers.looks import ColumnLook
from voile.recognisers.recognition import recognised
from voile.release.reading.rows import People, distinct_texts_of
from voile.schema.names import named
from voile.schema.persons import looks_like_an_id, told_of_published_id
from voile.schema.roles import Roles
from voile.table.looking import MACHINE_MADE, count_occurrences
from voile.table.profile import Inspected

__all__ = ["unfit_columns"]


def unfit_columns(
    columns: Iterable[Recognised], original: People, private: Collection[str], *, proposed: bool
) -> dict[str, str]:
    """Why each shown column that must not leave must not, as a clause; by the original's name.

    ``private`` are identifiers, which other rules look at; ``proposed`` says that no plan was
    given.
    """
    shown = [one for one in columns if one.columns and one.name not in private]
    reasons = {one.name: _reason(one, original, proposed=proposed) for one in shown}
    return {name: why for name, why in reasons.items() if why is not None}


def _reason(one: Recognised, original: People, *, proposed: bool) -> str | None:
    assert original.plan is not None
    roles, trips = original.plan.roles, original.plan.trajectory
    if one.name not in (*roles.published, *(trips.names if trips else ())):
        if proposed:
            return "no plan says what it is; name it in a plan, under keep if it is harmless"
        return "it has no role in the plan; name it under keep if it is harmless, or leave it out"
    if one.how not in {"exact", "permuted"} or one.name in roles.keep_unique:
        return None
    return _shown_as_it_is(one, original, roles)


def _shown_as_it_is(one: Recognised, original: People, roles: Roles) -> str | None:
    """Why a column that is kept or sensitive must not be shown as it is."""
    if one.name in roles.keep:
        counts = count_occurrences(one.columns[0])
        if counts.single_out:
            told = counts.told_of_kept(one.name)
            return f"{told}; leave it out, or name it under keep_unique, too"
    if one.name not in (*roles.keep, *roles.sensitive):
        return None
    known = recognised(_look(one.name, original))
    if known is not None:
        return f"column {one.name!r} holds {known.title} ({known.reason}); leave it out"
    if one.name in roles.sensitive:
        return _as_an_id(one, texts=str(original.column(one.name).dtype) == "String")
    return None


def _look(name: str, original: People) -> ColumnLook:
    """What recognisers see of a column of the original."""
    beside = [other for other in original.frame.columns if other != name]
    return Inspected(original.frame.select([name])).details(name).look(beside)


def _as_an_id(one: Recognised, *, texts: bool) -> str | None:
    """That a sensitive column tells persons or things apart."""
    if not texts and named(one.name) is None:
        return None
    cells = one.columns[0].drop_nulls()
    counts = count_occurrences(cells)
    made = texts and all(re.match(MACHINE_MADE, text or "") for text in distinct_texts_of(cells)[0])
    if not looks_like_an_id(one.name, counts, texts=texts, machine_made=made):
        return None
    return f"{told_of_published_id(one.name, counts)}; name it under identifiers, or leave it out"

"""What an audit decides before it counts: ids, roles, how many rows it looks at, what it asks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.audit import examine
from voile.audit.common_rows import CommonRows, _told_by, _uncertainty
from voile.audit.counting import ROWS, risks_of_rehearsal
from voile.audit.examine import _as_an_id
from voile.audit.foreign import as_release
from voile.audit.recognition import Recognised, _is_suppressed
from voile.audit.record import Inquiry
from voile.audit.risk import Question, Setting
from voile.audit.scenarios import THE_HOLDER, THE_PLAN
from voile.audit.sides import Sides, _proposed
from voile.disclosure.exact import Exact, Permuted
from voile.disclosure.foreign import Altered
from voile.release.reading import People
from voile.table.profile import Inspected
from voile_base.randomness import Randomness


def column(name: str, values: list[Any]) -> Any:
    """A sensitive column."""
    return SimpleNamespace(name=name, columns=(pl.Series(name, values),))


@pytest.mark.parametrize(
    ("name", "values", "texts", "told"),
    [
        ("customer_id", list(range(100)), False, True),
        ("amount", list(range(100)), False, False),
        ("remark", [f"said {number} and more" for number in range(100)], True, True),
        ("customer_id", [f"c{number}" for number in range(100)], True, True),
        ("remark", ["yes", "no"] * 50, True, False),
        ("customer_id", [1, 2] * 50, False, False),
        ("customer_id", [None, *range(99)], False, True),
    ],
)
def test_a_sensitive_column_is_an_id_by_its_name_or_by_its_texts(name, values, texts, told) -> None:
    """Numbers without the name of one are amounts; what many rows share tells nobody apart."""
    found = _as_an_id(column(name, values), texts=texts)
    assert (found is not None) == told
    if told:
        assert found.startswith(f"column {name!r} looks like an id, which would be published")
        assert found.endswith("; name it under identifiers, or leave it out")


def test_roles_are_proposed_with_missing_values_as_a_category() -> None:
    """Where no column is proposed as a quasi-identifier, all but the others are."""
    frame = pl.DataFrame(
        {
            "name": [f"Anna {chr(65 + number % 26)}{number}" for number in range(60)],
            "age": [20 + number % 40 for number in range(60)],
            "diagnosis": ["flu", "gout", "none"] * 20,
        }
    )
    table = Inspected(frame, ())
    plan = _proposed(frame.columns, [table.details(name) for name in table.columns])
    assert plan.nulls == "category"
    assert "age" in plan.roles.quasi_identifiers
    assert "name" not in plan.roles.quasi_identifiers
    nothing = _proposed(["a", "b"], [])
    assert nothing.roles.quasi_identifiers == ("a", "b")


class Looked(Exception):  # noqa: N818 - no error, but what is waited for
    """The rows were looked at."""


class Rehearsed:
    """A rehearsal of so many rows, of which nothing can be read."""

    link = None
    of = None

    def __init__(self, rows: int) -> None:
        self.release = SimpleNamespace(rows=rows, table=SimpleNamespace(to_arrow=self._read))

    @staticmethod
    def _read() -> None:
        raise Looked

    def comparison(self, randomness: Randomness) -> Any:
        """With rows that were left out."""
        del randomness
        return SimpleNamespace(held_out=(), original=None)


def test_a_rehearsal_is_looked_at_up_to_the_stated_number_of_rows() -> None:
    """One row more, and nothing is counted, which is said with what to do."""
    stages: list[str] = []
    more = Rehearsed(ROWS + 1)
    (skipped,) = risks_of_rehearsal(more, 9, Randomness.seeded(1), stages.append)
    told = "the rehearsal has more than 200,000 rows; run voile audit on the release"
    assert (skipped.name, skipped.reason) == ("three risks", told)
    assert stages == ["three risks"]
    with pytest.raises(Looked):
        risks_of_rehearsal(Rehearsed(ROWS), 9, Randomness.seeded(1), stages.append)


def test_a_risk_says_what_was_asked_and_who_answered_best() -> None:
    """With the rates of the best adversary, and the largest excess that any may have."""
    question = Question("linkability", "pairs of columns", "the same person")
    ones, halves = np.ones(40), np.tile([1.0, 0.0], 20)
    guess = np.tile([1.0, 0.0, 0.0, 0.0], 10)
    risk = question.answered(
        [{"weak": halves, "strong": ones}, {"weak": halves, "strong": halves}], guess
    )
    assert (risk.name, risk.of, risk.goal) == ("linkability", "pairs of columns", "the same person")
    assert risk.targets == 40
    assert (risk.main.value, risk.control.value, risk.guess.value) == (1, 0.5, 0.25)
    assert risk.notes == ("the best of 2 adversaries: strong",)
    assert risk.at_most >= 0.5
    alone = question.answered([{"weak": halves}], guess)
    assert (alone.main.value, alone.control, alone.notes) == (0.5, None, ())


def recognised(name: str, how: str, values: list[Any]) -> Recognised:
    """A column of the original as a file shows it."""
    kinds = {"permuted": Permuted(), "synthetic": Altered(share=1.0), "exact": Exact()}
    return Recognised(name, how, "by hand", kinds[how], (pl.Series(name, values),), (name,))


def test_two_columns_may_tell_a_person_who_was_copied() -> None:
    """One column tells nobody from the others; of rows that are people's nothing is told."""
    original = People(pl.DataFrame({"age": [1, 2, 2, 3], "town": ["a", "b", "b", "c"]}))
    released = pl.DataFrame({"age": [1, 2, 9], "town": ["a", "b", "z"]})

    def told(*how: str) -> list[str]:
        found = [
            recognised(name, one, released[name].to_list())
            for name, one in zip(released.columns, how, strict=False)
        ]
        return as_release(released, found, {}).copy_notices(original, None)

    (notice,) = told("synthetic", "synthetic")
    assert notice.startswith("1 person of the original, whom these 2 columns tell from everybody")
    assert told("synthetic") == []
    assert told("exact", "exact") == []
    assert len(told("exact", "synthetic")) == 1


def test_the_risks_are_asked_with_what_the_holder_of_a_second_table_knows(monkeypatch) -> None:
    """Those of its columns that the file shows; the draws are those of the risks alone."""
    table = pl.DataFrame({"age": [1, 2, 2, 3], "town": [*"abbc"], "pay": [1.5, 2.5, 3.5, 4.5]})
    people = People(table)
    found = [recognised(name, "exact", table[name].to_list()) for name in table.columns]
    sides = SimpleNamespace(
        released=table,
        original=people,
        control=None,
        plan=people.plan,
        roles={"sensitive": ("pay",), "quasi_identifiers": ("age",)},
        identifiers=(),
        auxiliary=pl.DataFrame({"town": [*"ab"], "party": [1, 2]}),
    )
    asked: list[Any] = []

    def counted(setting: Setting, only: Any) -> list[Any]:
        asked.extend([setting, only])
        return []

    monkeypatch.setattr(examine, "counted", counted)
    draws = Randomness.seeded(1)
    file = examine._AuditedFile(sides, as_release(table, found, {}), draws)
    assert list(file.risks(Inquiry(targets=2), lambda stage: None)) == []
    setting, only = asked
    assert (setting.sensitive, setting.targets, only) == (("pay",), 2, None)
    assert setting.known[THE_PLAN] == ("age",)
    assert setting.known[THE_HOLDER] == ("town",)
    assert setting.randomness.key("a draw").secret == draws.within("risks").key("a draw").secret


def test_an_audited_file_lets_go_of_rows_that_only_the_risks_look_at() -> None:
    """Its rows as they stand, those looked at, and codes; not what they showed, nor people."""
    table = pl.DataFrame({"age": [1, 2, 2, 3]})
    sides = Sides(
        table,
        People(table),
        People(table),
        _proposed(["age"], []),
        {"sensitive": ()},
        (),
        "plan",
        (),
        void=False,
    )
    release = as_release(table, [recognised("age", "exact", table["age"].to_list())], {})
    file = examine._AuditedFile(sides, release, Randomness.seeded(1))
    assert len(file.looked_at.people) == 2
    codes = sides.original.coded("age")
    file.forget_examined_rows()
    assert (file.sides.released.height, file.looked_at.people) == (0, ())
    for people in (file.sides.original, file.sides.control):
        assert people is not None
        assert people.frame is table
        assert people.coded("age") is not codes
    assert (file.foreign.release.rows, file.notices) == (4, [])


def test_groups_of_permuted_values_are_those_that_the_file_numbers() -> None:
    """All rows are one where it has no numbers, or where these are a column of the original."""
    rows = pl.DataFrame({"group": [7, 7, 9], "pay": [1, 2, 3]})

    def groups(released: pl.DataFrame, *names: str) -> tuple[str, list[int], str | None]:
        found = [recognised(name, "permuted", released[name].to_list()) for name in names]
        release = as_release(released, found, {}).release
        column = release.disclosure.groups.column
        shown = pl.DataFrame(release.table.to_arrow())[column].to_list()
        return column, shown, release.disclosure.columns["pay"].within

    assert groups(rows, "pay") == ("group", [1, 1, 2], None)
    assert groups(rows.drop("group"), "pay") == ("group", [1, 1, 1], "file")
    assert groups(rows, "pay", "group") == ("group'", [1, 1, 1], "file")


@pytest.mark.parametrize(
    ("own", "missing", "suppressed"), [(50, 69, False), (50, 71, True), (0, 0, False), (0, 1, True)]
)
def test_cells_are_suppressed_where_more_are_missing_than_chance_explains(
    own: int, missing: int, *, suppressed: bool
) -> None:
    """Four deviations above what is missing in the original, of which half is: 50 + 4 * 5."""
    sides = (
        pl.Series([None] * count + list(range(100 - count)), dtype=pl.Int64)
        for count in (missing, own)
    )
    assert _is_suppressed(*sides) == suppressed


def test_a_distance_is_told_where_it_is_larger_than_chance_explains() -> None:
    """Of a hundred rows (2 / .25)^2 / 100 and, of other rows, 4 sqrt((7 / 3 - 1) / 100) more."""
    known = np.array([0.0, 0.0, 0.0, 4.0])  # of variance 3 and fourth moment 21
    assert _uncertainty(known, 100, same=True) == pytest.approx(0.64)
    assert _uncertainty(known, 100, same=False) == pytest.approx(0.64 + 4 * 0.1154701)
    assert _uncertainty(known, 0, same=True) == 64


@pytest.mark.parametrize(("parts", "told"), [(50, True), (51, True), (52, False)])
def test_a_column_is_told_by_groups_of_which_one_in_fifty_shows_a_second_value(
    parts: int, *, told: bool
) -> None:
    """Counted are the different rows of the file, with the column and without."""
    groups, more = np.arange(50), np.arange(parts - 50)
    age = np.concatenate([groups, groups, more])
    town = np.repeat([0, 1], [100, parts - 50])
    rows = CommonRows({"age": (age, 50), "town": (town, 2)}, 50, {}, {})
    assert (_told_by(rows, ["town"], ["age"]) == ["town"]) == told

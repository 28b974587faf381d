"""Edits of a hierarchy keep it nested, lose no value, and do what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile_base.errors import InputError
from voile_studio.screens.column import (
    _edited,
    _EditedLevels,
    _LevelGroup,
    _levels_of_paths,
    _levels_of_values,
)

VALUES = ("red", "blue", "green", "grey", "black")


def nested(levels: _EditedLevels) -> bool:
    """Whether each group lies in one group of the next level."""
    for level in range(levels.height):
        above: dict[str, str] = {}
        for path in levels.paths:
            if above.setdefault(path[level], path[level + 1]) != path[level + 1]:
                return False
    return True


def test_merging_values_makes_a_group():
    """Which the tree shows with its rows."""
    levels = _levels_of_values(dict.fromkeys(VALUES, 2)).merged(0, ["grey", "black"], "dull")
    assert levels.height == 2
    (dull,) = [group for group in levels.tree() if group.name == "dull"]
    assert (dull.level, dull.rows) == (1, 4)
    assert [one.name for one in dull.groups] == ["grey", "black"]


def test_merging_and_splitting_is_as_before():
    """For groups too."""
    levels = _levels_of_values(dict.fromkeys(VALUES, 1)).merged(0, ["grey", "black"], "dull")
    larger = levels.widened().merged(2, ["red", "blue"], "bright")
    assert {path[2] for path in larger.split(2, "bright").paths} == {"red", "blue", "green", "dull"}


def test_a_group_is_renamed_where_it_stands():
    """Values keep their names."""
    levels = _levels_of_values(dict.fromkeys(VALUES, 1)).merged(0, ["red", "blue"], "x")
    assert levels.renamed(1, "x", "y").tree()[0].name == "y"
    with pytest.raises(InputError, match="values keep their names"):
        levels.renamed(0, "red", "rouge")


def test_order_is_changed_among_neighbours():
    """Not across groups."""
    levels = _levels_of_values(dict.fromkeys(VALUES, 1))
    assert [path[0] for path in levels.moved(0, "blue", -1).paths][:2] == ["blue", "red"]
    grouped = levels.merged(0, ["red", "blue"], "x")
    assert grouped.moved(0, "blue", 1) is grouped


@pytest.mark.parametrize("called", ["", "  ", "*", "x" * 300])
def test_a_group_needs_a_name(called: str):
    """That is not that of everything."""
    with pytest.raises(InputError, match="name"):
        _levels_of_values(dict.fromkeys(VALUES, 1)).merged(0, ["red", "blue"], called)


def test_a_name_is_taken_once_in_a_level():
    """Else two groups would become one without a word."""
    levels = _levels_of_values(dict.fromkeys(VALUES, 1)).merged(0, ["red", "blue"], "x")
    with pytest.raises(InputError, match="already"):
        levels.merged(0, ["grey", "black"], "green")


def test_a_file_that_lacks_values_gets_them():
    """Each alone below everything."""
    levels = _levels_of_paths([("red", "bright", "*")], {"red": 1, "ash": 4})
    assert levels.paths == (("red", "bright", "*"), ("ash", "ash", "*"))


@pytest.mark.slow
def test_levels_of_many_values_are_previewed(tmp_path: Path):
    """Days of birth and postcodes are counted in the table; what is masked is not."""
    days = [f"{1940 + n // 12}-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(600)]
    lines = [f"P{n:04},{day},LS{n % 9} {n % 7}AB,{n}" for n, day in enumerate(days)]
    (tmp_path / "people.csv").write_text("\n".join(["patient_id,born,postcode,stay", *lines]))
    visitor = Visitor(tmp_path)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    plan = (
        '[roles]\nidentifiers = ["patient_id"]\nquasi_identifiers = ["born", "postcode"]\n'
        '[columns.born]\ndates = ["year", "decade"]\n'
    )
    visitor.post("/p/people/plan/text", text=plan, digest=visitor.digest("/p/people/plan"))
    page = visitor.get("/p/people/plan/column/1").text
    for cells in ("0 as it is", "1 year", "2 decade", "3 everything alike", "<bdi>1940s</bdi>"):
        assert cells in page
    assert "No preview" not in page
    masked = visitor.get("/p/people/plan/column/0").text
    assert "No preview of the levels" in masked
    assert "P0001" not in masked


edit = st.tuples(
    st.sampled_from(["merged", "split", "renamed", "moved", "widened", "narrowed"]),
    st.integers(0, 4),
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.sampled_from(["a", "b", "c", "red"]),
)


@given(st.lists(edit, max_size=8))
def test_any_edits_leave_a_hierarchy_that_a_plan_takes(edits: list[tuple[str, Any, Any, str]]):
    """All values, nested levels, everything on top."""
    levels = _levels_of_values(dict.fromkeys(VALUES, 1))
    for deed, level, picked, called in edits:
        names = list(dict.fromkeys(path[min(level, levels.height)] for path in levels.paths))
        chosen = [names[each % len(names)] for each in picked]
        try:
            match deed:
                case "merged":
                    levels = levels.merged(min(level, levels.height - 1), chosen, called)
                case "split":
                    levels = levels.split(level, chosen[0])
                case "renamed":
                    levels = levels.renamed(level, chosen[0], called)
                case "moved":
                    levels = levels.moved(min(level, levels.height - 1), chosen[0], -1)
                case "widened":
                    levels = levels.widened() if levels.height < 5 else levels
                case _:
                    levels = levels.narrowed(level)
        except InputError:
            continue
    assert sorted(path[0] for path in levels.paths) == sorted(VALUES)
    assert nested(levels)
    assert {path[-1] for path in levels.paths} == {"*"}
    Taxonomy(levels.paths)
    assert _leaves(levels.tree()) == [path[0] for path in levels.paths]


def _leaves(groups: tuple[_LevelGroup, ...]) -> list[str]:
    return [
        leaf
        for group in groups
        for leaf in (_leaves(group.groups) if group.groups else [group.name])
    ]


def test_a_value_that_is_its_own_group_stands_once_in_the_tree():
    """And is merged with values of any group, as if its group were not there."""
    levels = _levels_of_values(dict.fromkeys(VALUES, 1)).merged(0, ["grey", "black"], "dull")
    (red,) = (one for one in levels.tree() if one.name == "red")
    assert (red.level, red.groups) == (1, ())
    said = {"group": ["1:red", "0:grey"], "called": ["mixed"]}
    assert {path[0]: path[1] for path in _edited(levels, "merge", said).paths}["red"] == "mixed"
    with pytest.raises(InputError, match="groups of one level"):
        _edited(levels, "merge", {"group": ["1:dull", "0:red"], "called": ["mixed"]})

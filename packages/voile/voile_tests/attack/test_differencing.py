"""What the differencing adversary finds in releases whose secrets are known."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from voile.attack import inference
from voile.attack.differencing import DifferencingAttack, Narrowing
from voile.disclosure.exact import Exact
from voile.disclosure.shown import Disclosure
from voile.publish.ke_anonymity.searches import optimal_blocks
from voile.table.opening import published_rows
from voile_base.errors import InputError, TableError

EVERYBODY = DifferencingAttack(k=1000, most=None)


def candidates(result):
    """Values left to each person, by quasi-identifier."""
    return {v.quasi_identifiers["person"]: [int(x) for x in v.values] for v in result.victims}


def test_story_of_the_man_of_52_whose_salary_is_the_difference(make_release):
    """One group grew by one man; subtracting the old values leaves his salary, and only his."""
    old = make_release(
        {
            "group": [1, 1, 1, 2, 2, 2],
            "age": [23, 35, 41, 29, 47, 60],
            "sex": ["F", "M", "F", "M", "F", "M"],
            "salary": [4100, 3000, 3600, 8000, 6900, 7500],
        },
        e=1000,
    )
    new = make_release(
        {
            "group": [1, 1, 1, 1, 2, 2, 2],
            "age": [23, 35, 41, 52, 29, 47, 60],
            "sex": ["F", "M", "F", "M", "M", "F", "M"],
            "salary": [3600, 4100, 3850, 3000, 7500, 8000, 6900],
        },
        e=1000,
    )
    result = DifferencingAttack().run(new, [old], ["march", "february"])
    assert (result.people, result.exposed, result.exposed_alone) == (7, 1, 0)
    (man,) = result.victims
    assert man is result.worst
    assert man.quasi_identifiers == {"age": 52, "sex": "M"}
    assert man.values == (Decimal(3850),)
    assert man.left == Narrowing(1, Decimal(0))
    assert man.alone == Narrowing(4, Decimal(1100))
    assert man.reason == "in group 1 of march; not in february: group 1 subtracted"


def test_union_of_two_old_groups_is_subtracted_from_one_new_group(publish):
    """Seven people in one group minus two old groups of three leave the one value 6."""
    first = [("a", 1, 1), ("b", 2, 1), ("c", 3, 1), ("d", 10, 2), ("e", 11, 2), ("f", 12, 2)]
    second = [(person, value, 1) for person, value, _ in first] + [("g", 6, 1)]
    result = DifferencingAttack().run(publish(second), [publish(first)], ["new", "old"])
    (victim,) = result.victims
    assert victim.quasi_identifiers == {"person": "g"}
    assert victim.values == (Decimal(6),)
    assert victim.reason == "in group 1 of new; not in old: groups 1 and 2 subtracted"


def test_comparing_with_the_latest_release_only_misses_what_the_first_one_gives_away(publish):
    """{3, 6, 6, 8}, {9, 12} is safe against {3, 6, 9, 12} and leaks 6 and 9 against {6, 9}."""
    releases = [
        publish([("a", 6, 1), ("b", 9, 1)]),
        publish([("a", 6, 1), ("b", 9, 1), ("c", 3, 1), ("d", 12, 1)]),
        publish(
            [("a", 6, 1), ("c", 3, 1), ("e", 6, 1), ("f", 8, 1), ("b", 9, 2), ("d", 12, 2)],
            k=2,
            e=2,
        ),
    ]
    attack = DifferencingAttack()
    assert attack.run(releases[2], releases[1:2]).exposed == 0
    for earlier in (releases[:2], releases[1::-1]):
        found = attack.run(releases[2], earlier)
        assert candidates(found) == {"a": [6], "b": [9], "c": [3], "d": [12]}


def test_two_releases_without_a_series_expose_people(publish):
    """Optimal blocks made anew for a grown table cut old blocks; each claim is the truth or near.

    Every release by itself is (k,e)-valid, so all exposure comes from the comparison.
    """
    values = np.random.default_rng(5).integers(0, 400, 150).tolist()

    def blocks_of(published):
        levels = np.unique(published)
        starts = levels[optimal_blocks(levels, 4, 10)[:, 0]]
        groups = np.searchsorted(starts, published, side="right").tolist()
        rows = zip(range(len(published)), published, groups, strict=True)
        return publish(list(rows), k=4, e=10)

    attack = DifferencingAttack(most=None)
    result = attack.run(blocks_of(values), [blocks_of(values[:75])])
    assert result.exposed_alone == 0
    assert result.exposed > 20
    assert result.exposed == len(result.victims)
    for person, left in candidates(result).items():
        assert values[person] in left
        assert len(left) < 4 or max(left) - min(left) < 10
    worst = [(v.left.distinct, v.left.spread) for v in result.victims]
    assert worst == sorted(worst)


def test_sealed_batches_expose_nobody(publish):
    """Old groups that stay as they were, beside new ones with overlapping ranges, tell nothing."""
    old = [("a", 1, 1), ("b", 5, 1), ("c", 9, 1)]
    new = [*old, ("d", 1, 2), ("e", 4, 2), ("f", 9, 2)]
    result = DifferencingAttack().run(publish(new), [publish(old)])
    assert (result.exposed, result.people) == (0, 6)
    assert result.worst is None
    assert candidates(EVERYBODY.run(publish(new), [publish(old)])) == {
        **{key: [1, 5, 9] for key in "abc"},
        **{key: [1, 4, 9] for key in "def"},
    }


def test_one_release_is_held_to_its_own_promise(publish):
    """Without an earlier release the candidates are the values of the group."""
    rows = [("a", 1, 1), ("b", 1, 1), ("c", 9, 1), ("d", 10, 2), ("e", 11, 2), ("f", 30, 2)]
    result = DifferencingAttack(most=None).run(publish(rows))
    assert candidates(result) == {key: [1, 9] for key in "abc"}
    assert result.exposed == result.exposed_alone == 3
    assert len(result.assumptions) == 1
    assert DifferencingAttack(k=2).run(publish(rows)).exposed == 0
    assert DifferencingAttack(e=Decimal(20)).run(publish(rows)).exposed == 3
    assert DifferencingAttack(e=Decimal("20.01")).run(publish(rows)).exposed == 6


def test_range_is_compared_exactly(publish):
    """0.3 - 0.1 is not below 0.2, although it is in binary floating point."""
    rows = [("a", 0.1, 1), ("b", 0.2, 1), ("c", 0.3, 1)]
    assert DifferencingAttack(e=Decimal("0.2")).run(publish(rows)).exposed == 0
    assert DifferencingAttack(e=Decimal("0.2000000000001")).run(publish(rows)).exposed == 3


def test_people_who_look_the_same_share_their_candidates(publish):
    """Of two people called x only one is new; nobody can tell which, so both values remain."""
    old = [("x", 1, 1), ("b", 5, 1), ("c", 9, 1)]
    new = [*old, ("x", 7, 1)]
    result = EVERYBODY.run(publish(new), [publish(old)])
    assert candidates(result)["x"] == [1, 5, 7, 9]
    twins = EVERYBODY.run(publish([*new, ("y", 8, 1), ("y", 8, 1)]), [publish(new)])
    (victims,) = [v for v in twins.victims if v.quasi_identifiers["person"] == "y"]
    assert (victims.people, victims.values) == (2, (Decimal(8),))
    assert twins.people == sum(v.people for v in twins.victims) == 6


def test_nobody_is_in_an_older_release_who_is_missing_in_a_later_one(publish):
    """The first two releases give y the value 1, so no x has it, whoever the newest are."""
    first = [("y", 1, 1), ("x", 4, 1)]
    second = [("y", 1, 1), ("x", 2, 1), ("x", 4, 2)]
    third = [("y", 1, 1), ("x", 2, 1), ("x", 4, 1), ("y", 2, 1), ("x", 4, 1)]
    result = EVERYBODY.run(publish(third), [publish(first), publish(second)])
    assert candidates(result) == {"x": [2, 4], "y": [1, 2, 4]}


def test_a_release_too_common_to_compare_is_left_out_and_named(publish, monkeypatch):
    """Where memory would not do, less is claimed; the other releases are still used."""
    old = [("x", value, group) for value in (1, 2, 3) for group in (1, 2, 3)]
    new = [*old, ("y", 9, 1), *[("x", value, 4) for value in (1, 2, 3)]]
    releases = [publish(new), [publish(old), publish(new[:-3])]]
    full = EVERYBODY.run(*releases, ["new", "first", "second"])
    assert (full.releases, full.notes) == (("new", "second", "first"), ())
    monkeypatch.setattr(inference, "_MOST_PAIRS", 0)
    less = EVERYBODY.run(*releases, ["new", "first", "second"])
    assert less.releases == ("new",)
    assert [note[:15] for note in less.notes] == ["second is left ", "first is left o"]
    assert candidates(less) == {"x": [1, 2, 3, 9], "y": [1, 2, 3, 9]}
    assert candidates(full) == {"x": [1, 2, 3], "y": [9]}


def test_a_kept_column_tells_people_apart_who_share_quasi_identifiers(make_release):
    """What is published beside the quasi-identifiers links rows of two releases, too."""
    old = {"group": [1, 1], "age": [30, 40], "town": ["A", "A"], "salary": [1, 5]}
    new = {"group": [1, 1, 2], "age": [30, 40, 30], "town": ["A", "A", "B"], "salary": [5, 1, 9]}
    linked = EVERYBODY.run(make_release(new, keep=["town"]), [make_release(old, keep=["town"])])
    by_age = {v.quasi_identifiers["age"]: [int(x) for x in v.values] for v in linked.victims}
    assert by_age == {30: [1, 5, 9], 40: [1, 5]}


def test_a_person_who_left_is_exposed_by_the_difference(publish):
    """Old minus new is the value of the one who left; the loss is told."""
    old = [("a", 1, 1), ("b", 5, 1), ("c", 9, 1), ("d", 12, 1)]
    new = [("a", 1, 1), ("b", 5, 1), ("d", 12, 1), ("z", 30, 1)]
    result = EVERYBODY.run(publish(new), [publish(old)], ["new", "old"])
    assert candidates(result) == {"c": [9], "z": [30], **{key: [1, 5, 12] for key in "abd"}}
    assert result.people == 5
    assert "1 and 1 are missing in new" in result.notes[0]
    assert "may have left" in result.assumptions[-1]
    gone = next(v for v in result.victims if v.quasi_identifiers["person"] == "c")
    assert gone.reason == "not in new: group 1 subtracted; in group 1 of old"
    assert gone.alone.distinct == 4


def test_a_release_that_contradicts_the_new_one_is_left_out(publish):
    """Values that changed make a comparison worthless; what the others tell remains."""
    first = [("a", 1, 1), ("b", 5, 1), ("c", 9, 1)]
    new = [*first, ("d", 12, 1)]
    changed = [("a", 100, 1), ("b", 200, 1), ("c", 300, 1)]
    attack = DifferencingAttack()
    result = attack.run(publish(new), [publish(changed), publish(first)], ["n", "c", "f"])
    assert result.releases == ("n", "f")
    assert candidates(result) == {"d": [12]}
    assert result.notes[0].startswith("c is left out")
    alone = attack.run(publish(new), [publish(changed)])
    assert alone.exposed == 0
    assert len(alone.assumptions) == 1


def test_column_types_may_differ_between_files(make_release):
    """A column that one file holds as whole numbers and another as decimals or text is one."""
    old = {"group": [1, 1, 1], "age": [30, 40, 50], "salary": [1, 5, 9]}
    new = {"group": [1] * 4, "age": [30.0, 40.0, 50.0, 52.0], "salary": [1.0, 9.0, 5.0, 2.5]}
    texts = {**new, "age": ["30", "40", "50", "52"]}
    for grown, age in ((new, 52), (texts, "52")):
        result = DifferencingAttack().run(make_release(grown), [make_release(old)])
        assert result.worst.values == (Decimal("2.5"),)
        assert result.worst.quasi_identifiers == {"age": age}


def test_missing_quasi_identifiers_are_a_value(make_release):
    """People whose quasi-identifier is missing in all releases are the same people."""
    old = {"group": [1, 1, 1], "age": [None, 40, 50], "salary": [1, 5, 9]}
    new = {"group": [1] * 4, "age": [40, None, 50, 52], "salary": [1, 9, 5, 3]}
    result = DifferencingAttack().run(make_release(new), [make_release(old)])
    assert result.notes == ()
    assert [v.quasi_identifiers for v in result.victims] == [{"age": 52}]


def without_groups(release):
    """The same rows as if nothing were permuted, and without the numbers of groups."""
    columns = {**release.disclosure.columns, "salary": Exact()}
    table = published_rows(release.table.to_native().drop("group"))
    return replace(release, table=table, disclosure=Disclosure(columns=columns))


def test_wrong_calls_say_what_to_do(make_release, publish):
    """Parameters and releases that cannot be attacked are refused with a remedy."""
    for terms in ({"k": 0}, {"e": Decimal("nan")}, {"e": Decimal(-1)}, {"most": -1}):
        with pytest.raises(InputError, match="must"):
            DifferencingAttack(**terms)
    release = publish([("a", 1, 1)])
    nameless = make_release({"group": [1], "age": [5], "salary": [1]}, k=None)
    with pytest.raises(InputError, match="say which"):
        DifferencingAttack().run(nameless)
    with pytest.raises(TableError, match="quasi-identifier in common"):
        DifferencingAttack().run(release, [nameless])
    bare = without_groups(release)
    with pytest.raises(TableError, match="has no groups"):
        DifferencingAttack().run(bare)


def test_document_holds_the_result_as_json_needs_it(publish):
    """Counts, and each victim with values as exact text."""
    old = [("a", 0.1, 1), ("b", 5, 1), ("c", 9, 1)]
    result = DifferencingAttack().run(publish([*old, ("d", 0.3, 1)]), [publish(old)], ["n", "o"])
    document = result.document()
    assert document["exposed"] == 1
    assert document["share"] == 0.25
    assert document["releases"] == ["n", "o"]
    assert document["victims"] == [
        {
            "quasi_identifiers": {"person": "d"},
            "people": 1,
            "values": ["0.3"],
            "distinct": 1,
            "range": "0",
            "alone": {"distinct": 4, "range": "8.9"},
            "reason": "in group 1 of n; not in o: group 1 subtracted",
        }
    ]

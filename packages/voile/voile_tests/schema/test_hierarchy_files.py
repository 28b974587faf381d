"""Hierarchies that list every value: files, trees, what they cover, and what is wrong with them."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues, and_others
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.numbers import ExactNumbers
from voile_base.errors import PlanError

WORK = (
    ("Federal-gov", "Government", "*"),
    ("Local-gov", "Government", "*"),
    ("Private", "Non-Government", "*"),
)


def texts(*values: str | None, kind: str = "text") -> DistinctValues:
    """Distinct values that are no numbers."""
    return DistinctValues(kind, values)


def numbers(*values: str) -> DistinctValues:
    """Distinct numbers."""
    exact = ExactNumbers.of([Decimal(value) for value in values])
    return DistinctValues("number", tuple(exact.texts()), exact)


def shown(bound: BoundHierarchy, level: int) -> list[str | None]:
    """What each distinct value becomes at a level."""
    read = bound.values[level].texts
    assert read is not None
    return [read[code] for code in bound.codes[level]]


def shares(bound: BoundHierarchy, level: int) -> list[float]:
    """The share that what each distinct value becomes covers."""
    return [float(bound.values[level].share[code]) for code in bound.codes[level]]


def file(folder: Path, content: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "work.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        "Federal-gov;Government;*\nLocal-gov;Government;*\nPrivate;Non-Government;*",
        "Federal-gov;Government;*\r\nLocal-gov;Government;*\r\n\r\nPrivate;Non-Government;*\r\n\r\n",
        "Federal-gov;Government;*\rLocal-gov;Government;*\rPrivate;Non-Government;*\r",
        "\ufeffFederal-gov,Government,*\nLocal-gov,Government,*\nPrivate,Non-Government,*\n",
        "Federal-gov\tGovernment\t*\nLocal-gov\tGovernment\t*\nPrivate\tNon-Government\t*\n",
        "Federal-gov|Government|*\nLocal-gov|Government|*\nPrivate|Non-Government|*\n",
        '"Federal-gov","Government",*\n"Local-gov","Government",*\n"Private",Non-Government,*\n',
    ],
)
def test_files_are_read_in_any_usual_form(tmp_path, content):
    """Separators, quotes, ends of lines, blank lines and byte-order marks make no difference."""
    assert Taxonomy.read(file(tmp_path, content)) == Taxonomy(WORK)


def test_the_separator_is_the_one_in_every_line(tmp_path):
    """Other separators may stand within fields, quoted or not."""
    path = file(tmp_path, 'Doe, Ann;"The Does; all";*\nRoe;"The Roes";*\n')
    assert Taxonomy.read(path).paths == (
        ("Doe, Ann", "The Does; all", "*"),
        ("Roe", "The Roes", "*"),
    )
    path = file(tmp_path, '"Doe; Ann","a ""b""",*\nRoe,c,*\n')
    assert Taxonomy.read(path).paths == (("Doe; Ann", 'a "b"', "*"), ("Roe", "c", "*"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["work.csv", "empty", "Paris;France;*"]),
        ("\n\n", ["work.csv", "empty"]),
        ("a;b;*\nc;*\n", ["work.csv", "line 2 has 2 fields", "line 1 has 3", "`tree`"]),
        ("a;*\nc;d;*\n", ["work.csv", "line 2 has 3 fields", "line 1 has 2"]),
        ("a;*\n\nc\n", ["work.csv", "line 3 has one field only", "separator"]),
        ("a\nb\n", ["work.csv", "line 1 has one field only"]),
        ("a;b;*\nc;d;*\na;d;*\n", ["work.csv", "line 3 repeats the value 'a' of line 1"]),
        ("a;;*\n", ["work.csv", "line 1 has an empty field"]),
        ('a;b;*\n"c;d;*\n', ["work.csv", "line 2 cannot be split into fields"]),
        ('a;b;*\n"c"d;e;*\n', ["work.csv", "line 2 cannot be split into fields"]),
        (b"a;b;*\nb\xe9;b;*\n", ["work.csv", "line 2 is not UTF-8", "save the file as UTF-8"]),
        ("a;*\nb;*\n".encode("utf-16"), ["work.csv", "line 1 is not UTF-8"]),
        (b"a;b;*\nc\0;b;*\n", ["work.csv", "line 2 is not UTF-8"]),
        ("a;*\nb;*\n".encode("utf-16-le"), ["work.csv", "line 1 is not UTF-8"]),
        (
            "3;0-4;0-9;*\n4;0-4;0-8;*\n",
            [
                "work.csv",
                "level 2 is no coarsening of level 1",
                "'0-4' becomes '0-9' for the value '3' and '0-8' for '4'",
            ],
        ),
        (
            "3;0-4;0-9;*\n7;5-9;0-9;x\n",
            ["level 3 is no coarsening of level 2", "'0-9' becomes '*' for the value '3' and 'x'"],
        ),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path, content, words):
    """The message names the file, the line or the level, and what would be right."""
    with pytest.raises(PlanError) as caught:
        Taxonomy.read(file(tmp_path, content))
    for word in words:
        assert word in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    """A file that is not there, a folder, and a name that no file has."""
    with pytest.raises(PlanError, match=r"absent\.csv: there is no such file"):
        Taxonomy.read(tmp_path / "absent.csv")
    with pytest.raises(PlanError, match=r"cannot be read: Is a directory"):
        Taxonomy.read(tmp_path)
    with pytest.raises(PlanError, match="cannot be read"):
        Taxonomy.read(tmp_path / "a\0b")


def test_a_share_is_that_of_the_listed_values():
    """What a group covers is how many listed values lie below it, present in the table or not."""
    bound = Taxonomy(WORK).bind("work", texts("Federal-gov", "Private"))
    assert bound.height == 2
    assert shown(bound, 1) == ["Government", "Non-Government"]
    assert shares(bound, 0) == [1 / 3, 1 / 3]
    assert shares(bound, 1) == [2 / 3, 1 / 3]
    assert shares(bound, 2) == [1, 1]


def test_a_missing_value_joins_the_others_in_a_single_top_group():
    """Below, it stays missing; a top level of several groups leaves it missing too."""
    bound = Taxonomy(WORK).bind("work", texts(None, "Local-gov"))
    assert shown(bound, 1) == [None, "Government"]
    assert shares(bound, 1) == [1 / 3, 2 / 3]
    assert shown(bound, 2) == ["*", "*"]
    two = Taxonomy(tuple(path[:2] for path in WORK)).bind("work", texts(None, "Local-gov"))
    assert two.height == 1
    assert shown(two, 1) == [None, "Government"]


def test_a_missing_value_alone_is_a_column_too():
    """Where no row has a value there is a hierarchy all the same."""
    bound = Taxonomy(WORK).bind("work", texts(None))
    assert [codes.tolist() for codes in bound.codes] == [[0], [0], [0]]
    assert [shown(bound, level) for level in (1, 2)] == [[None], ["*"]]
    assert shares(bound, 2) == [1]


def test_a_value_that_is_not_listed_is_named():
    """The first one is named, the others are counted."""
    with pytest.raises(PlanError) as caught:
        Taxonomy(WORK, "work.csv").bind("work", texts("?", "Local-gov", "Never", "Without"))
    for word in ("column 'work'", "work.csv misses the value '?' and 2 other values", "`missing`"):
        assert word in str(caught.value)


def test_numbers_are_compared_as_numbers():
    """The file may write 1.50 and the table 1.5; what is no number matches none."""
    listed = Taxonomy((("1.50", "few", "*"), ("2", "few", "*"), ("unknown", "none", "*")))
    assert shown(listed.bind("x", numbers("1.5", "2")), 1) == ["few", "few"]
    with pytest.raises(PlanError, match="misses the value '3'"):
        listed.bind("x", numbers("1.5", "3"))
    with pytest.raises(PlanError, match=r"'2' and '2\.0' are the same value"):
        Taxonomy((("2", "a"), ("2.0", "a"), ("3.0", "a"))).bind("x", numbers("2", "3"))


def test_texts_are_compared_as_texts():
    """Zip codes differ by their zeros, and spaces and case count."""
    listed = Taxonomy((("01", "a"), ("1", "b")))
    assert shown(listed.bind("x", texts("01", "1")), 1) == ["a", "b"]
    with pytest.raises(PlanError, match="misses the value '1 '"):
        listed.bind("x", texts("1 "))


def test_truth_values_are_compared_in_any_case():
    """True in a file is true in a table."""
    listed = Taxonomy((("True", "*"), ("FALSE", "*")))
    assert shown(listed.bind("x", texts("false", "true", kind="boolean")), 1) == ["*", "*"]


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ((), "at least one group"),
        ((("a",),), "at least one group"),
        ((("a", "*"), ("b", "c", "*")), "same length"),
        ((("a", "*"), ("a", "*")), "'a' is repeated"),
    ],
)
def test_paths_that_make_no_hierarchy_are_refused(paths, words):
    """A hierarchy made in Python is checked as one from a file."""
    with pytest.raises(PlanError, match=words):
        Taxonomy(paths)


def test_a_short_branch_repeats_its_value(tmp_path):
    """A level is a cut at one depth from the root; what ends above it stays as it is."""
    path = file(tmp_path, "Private;*\nFederal-gov;Government;*\nLocal-gov;Government;*\n")
    expected = Taxonomy(
        (
            ("Private", "Private", "*"),
            ("Federal-gov", "Government", "*"),
            ("Local-gov", "Government", "*"),
        )
    )
    assert Taxonomy.read_tree(path) == expected
    assert Taxonomy.of_tree({"Private": [], "Government": ["Federal-gov", "Local-gov"]}) == expected


def test_a_nested_tree_reads_from_the_root():
    """Tables hold groups of groups, lists hold values, numbers too."""
    tree = Taxonomy.of_tree({"low": {"lowest": [1, 2], "lower": [Decimal("2.5")]}, "high": [9]})
    assert tree.paths == (
        ("1", "lowest", "low", "*"),
        ("2", "lowest", "low", "*"),
        ("2.5", "lower", "low", "*"),
        ("9", "9", "high", "*"),
    )


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({}, "empty"),
        ({"a": "b"}, "'a' must hold a list of values"),
        ({"a": {}}, "'a' must hold a list of values"),
        ({"a": [True]}, "'a' must list values as texts or numbers"),
        ({"a": [["b"]]}, "'a' must list values as texts or numbers"),
        ({"a": ["b"], "c": ["b"]}, "'b' is repeated"),
        ({"a": {"g": ["b"]}, "c": {"g": ["d"]}}, "'g' becomes 'a' for the value 'b' and 'c'"),
    ],
)
def test_a_mistake_in_a_tree_is_named(tree, words):
    """The message names the group."""
    with pytest.raises(PlanError, match=words):
        Taxonomy.of_tree(tree)


LEVELS = {
    "age": 5,
    "education": 4,
    "marital-status": 3,
    "native-country": 3,
    "occupation": 3,
    "workclass": 3,
    "race": 2,
    "sex": 2,
    "salary-class": 2,
}


@pytest.mark.parametrize("column", LEVELS)
def test_the_hierarchies_of_adult_cover_it(shared_data: Path, column: str) -> None:
    """All nine files of ARX cover their column, with the levels that their readme tells."""
    census = shared_data / "census"
    with (census / "adult-arx.csv").open(newline="") as rows:
        held = sorted({row[column] for row in csv.DictReader(rows, delimiter=";")})
    hierarchy = Taxonomy.read(census / "hierarchies" / "adult-arx" / f"{column}.csv")
    values = numbers(*sorted(held, key=int)) if column == "age" else texts(*held)
    bound = hierarchy.bind(column, values)
    assert bound.height + 1 == LEVELS[column]
    assert set(shown(bound, bound.height)) == {"*"}
    assert set(shares(bound, 0)) == {1 / len(hierarchy.paths)}


@pytest.mark.parametrize(
    ("column", "height"),
    [
        ("marital-status", 2),
        ("native-country", 1),
        ("occupation", 1),
        ("race", 1),
        ("relationship", 1),
        ("sex", 1),
        ("workclass", 2),
    ],
)
def test_ragged_trees_cover_adult(shared_data: Path, column: str, height: int) -> None:
    """All seven trees of unequal depth cover their column of Adult, its question marks aside."""
    census = shared_data / "census"
    with (census / "adult.csv").open(newline="") as rows:
        held = sorted({row[column] for row in csv.DictReader(rows)} - {"?"})
    tree = Taxonomy.read_tree(census / "hierarchies" / "adult-trees" / f"{column}.txt")
    bound = tree.bind(column, texts(*held))
    assert bound.height == height
    assert set(shown(bound, height)) == {"*"}


def test_ten_thousand_zip_codes_lose_a_digit_a_level(shared_data: Path) -> None:
    """The large file binds, and says what masking the last digits says."""
    path = shared_data / "census" / "hierarchies" / "zipcode-80000-89999.csv"
    zips = [str(number) for number in range(80_000, 90_000)]
    bound = Taxonomy.read(path).bind("zip", texts(*zips))
    assert bound.height == 5
    for level in range(1, 5):
        assert shown(bound, level) == [code[: 5 - level] + "*" * level for code in zips]
        assert set(shares(bound, level)) == {10.0 ** (level - 4)}
    assert set(shown(bound, 5)) == {"*"}


def test_the_levels_of_patients_are_read(shared_data: Path) -> None:
    """A hierarchy whose last level is one group of another name than an asterisk is whole too."""
    folder = shared_data / "census" / "hierarchies" / "patients-tcloseness"
    disease = Taxonomy.read(folder / "disease.csv")
    bound = disease.bind("disease", texts(None, *sorted(path[0] for path in disease.paths)))
    assert bound.height == 3
    assert set(shown(bound, 3)) == {"respiratory&digestive disease"}


@pytest.mark.parametrize(
    ("count", "words"), [(0, ""), (1, " and 1 other value"), (2, " and 2 other values")]
)
def test_how_many_other_values_are_missed_is_told(count, words):
    """One value is one value."""
    assert and_others(count) == words

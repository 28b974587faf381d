"""Tables of anybody: read from five formats, recognised, and attacked like tables of ours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from voile.cli.attack import _attack
from voile.cli.table import audit_table_command
from voile.schema.plan import parse_plan
from voile.tabular import table_files
from voile.tabular.attacker import CellSystem, FeasibilityIntervals
from voile.tabular.auditing import AuditRules, TableAudit
from voile.tabular.publishing import make_tables
from voile.tabular.recognised import RecognisedTable
from voile.tabular.table_files import TableGrid, read_grids
from voile_base.errors import InputError, TableError

HEADS = ["Region", "young", "old", "All"]
ROWS = [
    ["North", "*", "12", "20"],
    ["South", "*", "9", "30"],
    ["East", "5", "4", "9"],
    ["Total", "34", "25", "59"],
]


def _csv(rows):
    return "\n".join(";".join(row) for row in rows)


def _markdown(rows):
    head, *body = [
        "| " + " | ".join(text.replace("*", r"\*") for text in row) + " |" for row in rows
    ]
    return "\n".join(["# A title", "", head, "|---" * len(rows[0]) + "|", *body, "", "Text below."])


def _latex(rows):
    body = " \\\\\n".join(" & ".join(row) for row in rows)
    return (
        f"\\begin{{tabular}}{{l{'r' * 3}}}\n\\toprule\n{body} \\\\\n\\bottomrule\n\\end{{tabular}}"
    )


def _html(rows):
    lines = ("".join(f"<td>{text}</td>" for text in row) for row in rows)
    return "<p>x<table><caption>A</caption>" + "".join(f"<tr>{one}</tr>" for one in lines)


FORMATS = {"csv": _csv, "md": _markdown, "tex": _latex, "html": _html}


def written(folder: Path, ending: str, rows: list[list[str]]) -> Path:
    file = folder / f"table.{ending}"
    if ending == "xlsx":
        frame = pl.DataFrame(rows[1:], schema=rows[0], orient="row")
        frame.write_excel(file)
    else:
        file.write_text(FORMATS[ending](rows), encoding="utf-8")
    return file


@pytest.mark.parametrize("ending", [*FORMATS, "xlsx"])
def test_every_format_gives_the_same_table(tmp_path: Path, ending: str) -> None:
    """Totals by rows and by columns are recognised, and what follows from them."""
    (grid,) = read_grids(written(tmp_path, ending, [HEADS, *ROWS]))
    audit = TableAudit.of_recognised(
        RecognisedTable.recognise(grid, ["region", "age"]), AuditRules()
    )
    found = {one.cell: one.lower for one in audit.findings if one.kind == "recomputable"}
    assert found == {"region = North, age = young": 8, "region = South, age = young": 21}
    assert (audit.cells, audit.suppressed, audit.contradictions) == (12, 2, ())


def test_headings_over_several_rows_and_merged_cells_are_dimensions(tmp_path: Path) -> None:
    """A table by county and region, over years and sexes, has four of them."""
    file = tmp_path / "staff.html"
    file.write_text(
        "<table><tr><th rowspan=2>County<th rowspan=2>Region<th colspan=3>2024<th colspan=3>2025"
        "<tr><th>M<th>F<th>All<th>M<th>F<th>All"
        "<tr><td rowspan=3>A<td>Total<td>10<td>11<td>21<td>12<td>13<td>25"
        "<tr><td>a1<td>c<td>6<td>c<td>7<td>7<td>14<tr><td>a2<td>c<td>5<td>9<td>5<td>6<td>11"
        "<tr><td rowspan=2>B<td>Total<td>3<td>4<td>7<td>2<td>1<td>3"
        "<tr><td>b1<td>3<td>4<td>7<td>2<td>1<td>3"
        "<tr><td>Total<td>Total<td>13<td>15<td>28<td>14<td>14<td>28</table>"
    )
    (grid,) = read_grids(file)
    table = RecognisedTable.recognise(grid)
    assert table.dimensions == ("County", "Region", "columns 1", "columns 2")
    assert [(one.total, one.parts) for one in table.relations] == [
        ("Total", ("A", "B")),
        ("Total", ("a1", "a2", "b1")),
        ("All", ("M", "F")),
    ]
    audit = TableAudit.of_recognised(table, AuditRules())
    assert audit.count("recomputable") == 3
    assert audit.count("small") == 4


def random_table(seed: int) -> tuple[list[list[str]], CellSystem]:
    """A table with a hierarchy of rows and cells hidden at random, and its system."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(2, 4, 2)
    finest = draw.integers(1, 60, (int(sizes.sum()), 7))
    group = np.repeat(np.arange(2), sizes)
    labels, parts, lines = [], [], []
    for one in range(2):
        own = np.flatnonzero(group == one)
        lines.append(finest[own].sum(axis=0))
        labels.append(f"group {one}")
        parts.append(len(labels) + np.arange(len(own)))
        lines += list(finest[own])
        labels += [f"region {each}" for each in own]
    labels.append("Total")
    lines.append(finest.sum(axis=0))
    values = np.column_stack((np.array(lines), np.array(lines).sum(axis=1)))
    hidden = draw.random(values.shape) < 0.15
    hidden[[0, len(parts[0]) + 1, -1], :] = False
    texts = np.where(hidden, "x", values.astype(str))
    rows = [["", *"pqrstuv", "Total"]]
    rows += [[label, *line] for label, line in zip(labels, texts.tolist(), strict=True)]
    number = np.arange(values.size).reshape(values.shape)
    sums = [(number[row, 7], number[row, :7]) for row in range(len(labels))]
    for column in range(8):
        sums += [
            (number[0, column], number[parts[0], column]),
            (number[len(parts[0]) + 1, column], number[parts[1], column]),
            (number[-1, column], number[[0, len(parts[0]) + 1], column]),
        ]
    matrix = np.zeros((len(sums), values.size), dtype=np.int64)
    for row, (total, below) in enumerate(sums):
        matrix[row, total] = 1
        matrix[row, below] = -1
    return rows, CellSystem(csr_matrix(matrix), values.ravel(), hidden.ravel(), whole=True)


@pytest.mark.parametrize("seed", range(12))
def test_the_attacker_on_a_recognised_table_finds_what_the_true_system_gives(seed: int) -> None:
    """Hierarchies are recognised by their numbers although a seventh of the cells is hidden."""
    rows, truth = random_table(seed)
    table = RecognisedTable.recognise(TableGrid("random", tuple(map(tuple, rows))))
    cells = np.flatnonzero(truth.suppressed)
    expected = FeasibilityIntervals.of(truth, cells)
    found = FeasibilityIntervals.of(table.system, cells, table.knowledge)
    assert table.system.suppressed.tolist() == truth.suppressed.tolist()
    assert found.lower.tolist() == expected.lower.tolist()
    assert found.upper.tolist() == expected.upper.tolist()


def test_a_total_that_noise_contradicts_is_reported_and_no_constraint() -> None:
    """Rounded tables do not add up; nothing is recomputed from them."""
    rows = [
        ["a", "n", "m"],
        ["x", "10", "5"],
        ["y", "20", "*"],
        ["z", "5", "15"],
        ["Total", "40", "25"],
    ]
    table = RecognisedTable.recognise(TableGrid("rounded", tuple(map(tuple, rows))))
    audit = TableAudit.of_recognised(table, AuditRules())
    assert audit.count("recomputable") == 0
    assert "'Total' is not the sum" in " ".join(audit.contradictions)


@pytest.mark.parametrize(
    ("texts", "bounds"),
    [
        (["1.234,5", "<5"], [(1234.5, 1234.5), (0, 4)]),
        (["1,234", "1-4"], [(1234, 1234), (1, 4)]),
        (["2 000", "≥10"], [(2000, 2000), (10, None)]),
        (["7*", "n.a."], [(7, 7), (0, None)]),
    ],
)
def test_numbers_and_marks_are_read_as_they_are_written(texts, bounds) -> None:
    """Of two ways to write numbers the one that fits; a mark may say where a cell lies."""
    rows = (("a", "n"), ("x", texts[0]), ("y", texts[1]))
    table = RecognisedTable.recognise(TableGrid("numbers", rows))
    unit = 10.0**-table.decimals
    for cell, (low, high) in enumerate(bounds):
        upper = table.knowledge.upper[cell]
        assert table.knowledge.lower[cell] * unit == low
        assert (None if np.isinf(upper) else upper * unit) == high


def test_the_original_tells_the_truth_beside_each_interval(tmp_path: Path, capsys) -> None:
    """The rows are counted by the same columns; what differs is said."""
    table, rows = tmp_path / "t.csv", tmp_path / "rows.csv"
    table.write_text(
        "region,age,n\na,30,4\na,31,*\na,Total,9\nb,30,*\nb,31,2\nb,Total,7\n"
        "Total,30,9\nTotal,31,7\nTotal,Total,16\n"
    )
    people = ["a,30"] * 4 + ["a,31"] * 5 + ["b,30"] * 5 + ["b,31"] * 2
    rows.write_text("\n".join(["region,age", *people]) + "\n")
    audit_table_command([str(table), "--original", str(rows), "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert found["private"]
    (one,) = found["tables"]
    assert {each["truth"] for each in one["findings"] if each["kind"] == "recomputable"} == {5}
    assert "0 differ from it" in one["notes"][-1]


def test_the_attacker_reads_a_release_of_tables(tmp_path: Path, capsys) -> None:
    """`voile attack` works out suppressed cells, and finds none that is known."""
    people = ["p"] * 4 + ["q"] * 5 + ["q"] * 5 + ["p"] * 2
    frame = pl.DataFrame({"a": ["x"] * 9 + ["y"] * 7, "b": people})
    plan = parse_plan({"tables": [{"dimensions": ["a", "b"]}], "protection": {"minimum": 3}})
    make_tables(frame, plan, tmp_path / "out")
    _attack([str(tmp_path / "out"), "--json"], standalone_mode=False)
    (one,) = json.loads(capsys.readouterr().out)["tables"]
    assert (one["suppressed"], one["recomputable"], one["narrowed"]) == (4, 0, 0)


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("t.pdf", "", InputError, "tables are read from"),
        ("t.md", "No table.", TableError, "no table with headings"),
        ("t.csv", "a,n\nx,many\ny,3\n", TableError, "'many' is no number"),
        ("t.csv", "a,n\nx,1\nx,2\n", TableError, "two cells have the labels 'x'"),
        ("t.csv", "a,n\nx,12345678901234567\ny,2\n", TableError, "more than 15 digits"),
        ("none.csv", None, InputError, "cannot be read"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, name, text, error, message) -> None:
    """Where it stands and what to do is said."""
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(error, match=message):
        list(map(RecognisedTable.recognise, read_grids(file)))


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    """It is refused by its size alone, whatever stands in it."""
    file = tmp_path / "table.csv"
    file.write_bytes(b"\xff" * 100)
    monkeypatch.setattr(table_files, "_MOST_BYTES", 99)
    with pytest.raises(InputError, match="more than 99 bytes; audit one table at a time"):
        read_grids(file)


def test_means_beside_counts_are_no_part_of_totals():
    """The counts are attacked all the same, and what was left aside is named."""
    rows = (
        ("region", "sector", "count", "mean(pay)"),
        ("north", "a", "10", "100"),
        ("north", "b", "x", "200"),
        ("north", "total", "30", "150"),
        ("south", "a", "5", "80"),
        ("south", "b", "7", "90"),
        ("south", "total", "12", "86"),
        ("total", "a", "15", "93"),
        ("total", "b", "27", "150"),
        ("total", "total", "42", "130"),
    )
    audit = TableAudit.of_recognised(
        RecognisedTable.recognise(TableGrid("means", rows)), AuditRules()
    )
    (found,) = (one for one in audit.findings if one.kind == "recomputable")
    assert (found.lower, found.upper) == (20, 20)
    assert audit.contradictions == ()
    assert any("'mean(pay)': by their labels no sums" in note for note in audit.notes)


def test_a_category_that_sounds_like_a_rate_is_attacked():
    """Where all numbers add up, no label takes a cell out of a total."""
    rows = (
        ("work", "count"),
        ("at a piece rate", "12"),
        ("by the hour", "x"),
        ("none", "7"),
        ("total", "30"),
    )
    audit = TableAudit.of_recognised(
        RecognisedTable.recognise(TableGrid("rates", rows)), AuditRules()
    )
    (found,) = (one for one in audit.findings if one.kind == "recomputable")
    assert found.lower == 11

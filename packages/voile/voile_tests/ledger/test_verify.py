"""Verification finds what was changed, and what contradicts the promises of a series."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from voile.ledger import Ledger
from voile.ledger.audit import _broken_promises
from voile.release.history import Blocks
from voile.schema.numbers import ExactNumbers
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile_base.errors import InputError, LedgerError
from voile_tests.ledger.conftest import grown
from voile_tests.marks import marks_of_arrays
from voile_tests.release.listing import write_listed

PART = (
    "(SELECT part.id FROM part JOIN version ON version.id = version "
    "WHERE number = {} AND name = '{}')"
)
ZEROS = f"UPDATE chunk SET bytes = zeroblob(length(bytes)) WHERE part = {PART}"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder with a sound ledger with three versions."""
    folder = tmp_path_factory.mktemp("sound")
    ledger = Ledger(folder / "ledger.db")
    history = None
    for _ in range(3):
        longer = grown(history)
        ledger.commit(history, longer)
        history = longer
    assert ledger.verify() == []
    return folder


@pytest.fixture
def ledger(tmp_path, sound):
    """A copy of the sound ledger, to be damaged."""
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    return Ledger(tmp_path / "ledger.db")


def tamper(ledger: Ledger, *statements: str) -> None:
    """Edit the ledger as somebody with another SQLite client might."""
    with closing(sqlite3.connect(ledger.path)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount != 0, "the edit must hit something"
        connection.commit()


def _swap(one: str, other: str) -> tuple[str, ...]:
    return tuple(
        f"UPDATE chunk SET part = {new} WHERE part = {old}"
        for old, new in ((one, "-1"), (other, one), ("-1", other))
    )


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        pytest.param(
            [ZEROS.format(2, part)],
            f"version 2: the record '{part}' was changed",
            id=f"changed {part}",
        )
        for part in ("low", "high", "rows", "distinct")
    ]
    + [
        pytest.param(
            ["UPDATE row_set SET rows = rows + 1 WHERE version = 2 AND role = 'published'"],
            "version 2: the marks of its published rows were changed",
            id="changed number of marks",
        ),
        pytest.param(
            ["UPDATE row_set SET seal = zeroblob(32) WHERE version = 3 AND role = 'held'"],
            "version 3: the marks of its held rows were changed",
            id="changed held rows",
        ),
        pytest.param(
            ["UPDATE row_set SET name = '../../ledger' WHERE version = 1"],
            "a record names no folder of rows",
            id="a path in place of a name",
        ),
        pytest.param(
            [f"UPDATE part SET scale = 3 WHERE id = {PART.format(1, 'low')}"],
            "version 1: the record 'low' was changed",
            id="changed scale",
        ),
        pytest.param(
            _swap(PART.format(1, "low"), PART.format(2, "rows")),
            "version 1: the record 'low' was changed",
            id="arrays of two versions swapped",
        ),
        pytest.param(
            [
                "UPDATE row_set SET version = -1 WHERE role = 'published' AND version = 1",
                "UPDATE row_set SET version = 1 WHERE role = 'published' AND version = 2",
                "UPDATE row_set SET version = 2 WHERE role = 'published' AND version = -1",
            ],
            "version 1: its seal does not match it and the versions before it",
            id="marks of two versions swapped",
        ),
        pytest.param(
            [
                "UPDATE part SET version = -1 WHERE name = 'low' AND version = 1",
                "UPDATE part SET version = 1 WHERE name = 'low' AND version = 2",
                "UPDATE part SET version = 2 WHERE name = 'low' AND version = -1",
                "UPDATE part SET version = -1 WHERE name = 'rows' AND version = 1",
                "UPDATE part SET version = 1 WHERE name = 'rows' AND version = 2",
                "UPDATE part SET version = 2 WHERE name = 'rows' AND version = -1",
            ],
            "version 1: its seal does not match it and the versions before it",
            id="sealed records of two versions swapped",
        ),
        pytest.param(
            ["DELETE FROM version WHERE number = 3"],
            "the head of the series does not match its newest version",
            id="newest version deleted",
        ),
        pytest.param(
            [
                "DELETE FROM version WHERE number = 3",
                "UPDATE row_set SET version = 2 WHERE role = 'held'",
                "DELETE FROM part WHERE version = 3",
            ],
            "the head of the series does not match its newest version",
            id="newest version deleted without a trace",
        ),
        pytest.param(
            ["DELETE FROM version WHERE number = 2"],
            "version 3: its seal does not match it and the versions before it",
            id="middle version deleted",
        ),
        pytest.param(
            ["DELETE FROM version WHERE number = 2"],
            "version 3: it follows version 1: versions are missing between them",
            id="gap in the numbering",
        ),
        pytest.param(
            ["DELETE FROM version WHERE number = 1"],
            "records of 'part' have lost their 'version'",
            id="orphans",
        ),
        pytest.param(
            ["UPDATE version SET release_id = 'another' WHERE number = 2"],
            "version 2: its seal does not match it and the versions before it",
            id="changed release id",
        ),
        pytest.param(
            ["UPDATE version SET created = '1970-01-01' WHERE number = 1"],
            "version 1: its seal does not match it and the versions before it",
            id="changed date",
        ),
        pytest.param(
            ["""UPDATE series SET terms = replace(terms, '"k": "2"', '"k": "1"')"""],
            "version 1: its seal does not match it and the versions before it",
            id="changed terms",
        ),
        pytest.param(
            ["UPDATE series SET key = zeroblob(32)"],
            "version 1: its seal does not match it and the versions before it",
            id="changed key",
        ),
        pytest.param(
            ["UPDATE series SET terms = '{}'"],
            "the terms of the series cannot be read",
            id="unreadable terms",
        ),
        pytest.param(
            ["DELETE FROM row_set WHERE role = 'held'"],
            "the head of the series does not match its newest version",
            id="held rows deleted",
        ),
        pytest.param(
            ["DELETE FROM row_set WHERE version = 1"],
            "version 1: its seal does not match it and the versions before it",
            id="marks deleted",
        ),
        pytest.param(
            [f"DELETE FROM chunk WHERE part = {PART.format(1, 'low')}"],
            "version 1: the record 'low' is incomplete",
            id="blocks deleted",
        ),
        pytest.param(
            [
                "INSERT INTO row_set (version, role, name, rows, seal) SELECT id, 'held', "
                f"'{'0' * 16}-{'0' * 32}', 1, x'' FROM version WHERE number = 1"
            ],
            "version 1: its held rows were not forgotten",
            id="held rows of an earlier version",
        ),
    ],
)
def test_each_edit_is_found(ledger, edit, found):
    """An edited, exchanged or removed record is found and named, and no publisher uses it."""
    tamper(ledger, *edit)
    findings = [str(finding) for finding in ledger.verify()]
    assert any(found in finding for finding in findings), findings
    if "forgotten" not in found:
        with pytest.raises(LedgerError, match=r"cannot vouch for series 'salaries'.*[Rr]estore"):
            ledger.load("salaries")


def test_an_emptied_series_is_found(ledger):
    """Removing all versions but not the series leaves a head without a version."""
    tamper(
        ledger,
        "DELETE FROM chunk",
        "DELETE FROM part",
        "DELETE FROM row_set",
        "DELETE FROM version",
    )
    assert "newest version" in str(ledger.verify()[0])


@pytest.mark.slow
def test_a_lost_table_is_found(ledger):
    """A ledger without one of its tables is damaged, for readers and for verification."""
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute("DROP TABLE chunk")
    assert any("it is damaged" in str(finding) for finding in ledger.verify())
    with pytest.raises(LedgerError, match="the ledger is damaged"):
        ledger.load("salaries")


@pytest.mark.slow
def test_flipped_bytes_are_found(ledger, grown):
    """A byte flipped anywhere that matters is found: in a border, or in SQLite's structures."""
    content = ledger.path.read_bytes()
    history = ledger.load("salaries")
    borders = history.versions[1].blocks.high.units.tobytes()
    inside = content.index(borders) + len(borders) // 2
    root_page = 65536 + 3  # the number of cells of the first table's page
    for position in (inside, root_page, root_page + 1):
        changed = bytearray(content)
        changed[position] ^= 0x55
        ledger.path.write_bytes(changed)
        assert ledger.verify(), position
    ledger.path.write_bytes(content)
    assert ledger.verify() == []


def files_of(ledger: Ledger, role: str) -> list[Path]:
    """The files of the rows that the newest version has in a role."""
    with closing(sqlite3.connect(ledger.path)) as connection:
        query = "SELECT name FROM row_set WHERE role = ? ORDER BY version DESC LIMIT 1"
        (name,) = connection.execute(query, (role,)).fetchone()
    return sorted((ledger.path.with_name("ledger.db.rows") / name).iterdir())


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("role", ["published", "held"])
@pytest.mark.parametrize(
    ("damage", "found"),
    [
        pytest.param(_flip, "the marks of its {} rows were changed", id="a flipped bit"),
        pytest.param(
            lambda file: os.truncate(file, file.stat().st_size // 2),
            "the marks of its {} rows were changed",
            id="half a file",
        ),
        pytest.param(Path.unlink, "the marks of its {} rows were changed", id="a lost file"),
        pytest.param(
            lambda file: file.with_name("more.parquet").write_bytes(file.read_bytes()),
            "the marks of its {} rows were changed",
            id="one file more",
        ),
        pytest.param(
            lambda file: shutil.rmtree(file.parent),
            "the folder ledger.db.rows belongs to the ledger and goes where it goes",
            id="a lost data set",
        ),
        pytest.param(
            lambda file: shutil.rmtree(file.parent.parent),
            "the folder ledger.db.rows belongs to the ledger and goes where it goes",
            id="a ledger without its folder",
        ),
    ],
)
def test_rows_beside_the_ledger_are_missed(ledger, grown, role, damage, found):
    """Marks that were lost or changed are found and named, and no publisher goes on."""
    history = ledger.load("salaries")
    damage(files_of(ledger, role)[0])
    findings = [str(finding) for finding in ledger.verify()]
    assert any(found.format(role) in finding for finding in findings), findings
    with pytest.raises(LedgerError, match=r"with its folder ledger\.db\.rows") as caught:
        ledger.load("salaries")
    assert caught.value.exit_status == 4
    with pytest.raises(LedgerError, match="cannot vouch for series 'salaries'"):
        ledger.lose("salaries", history.latest.release_id)


@pytest.mark.slow
def test_rows_that_go_while_they_are_needed(ledger):
    """Who loaded a history that somebody else changes meanwhile is told to run again."""
    history = ledger.load("salaries")
    shutil.rmtree(files_of(ledger, "held")[0].parent)
    with pytest.raises(LedgerError, match=r"cannot be read, or are gone.*Run again"):
        history.latest.held.open(engine_of(AUTO))


@pytest.mark.parametrize("mode", [0o750, 0o705])
def test_a_folder_of_rows_open_to_others_is_refused(ledger, grown, mode):
    """Rows that others may have read are refused like the ledger itself."""
    history = ledger.load("salaries")
    ledger.path.with_name("ledger.db.rows").chmod(mode)
    for ask in (
        ledger.verify,
        lambda: ledger.load("salaries"),
        lambda: ledger.commit(history, grown(history)),
    ):
        with pytest.raises(LedgerError, match=rf"{mode:04o}.*chmod 700"):
            ask()


@pytest.mark.parametrize("kept", [0.3, 0.7])
def test_a_truncated_file_is_found(ledger, kept):
    """A file that lost its end is not sound."""
    os.truncate(ledger.path, int(ledger.path.stat().st_size * kept))
    try:
        assert ledger.verify()
    except LedgerError as error:
        assert "restore" in str(error)  # noqa: PT017 - either way to learn of it will do


def _last(history, **changes):
    """The history with its newest version changed."""
    *earlier, last = history.versions
    return replace(history, versions=(*earlier, replace(last, **changes)))


def _with_blocks(history, **changes):
    return _last(history, blocks=replace(history.latest.blocks, **changes))


def _numbers(*units: int) -> ExactNumbers:
    return ExactNumbers(np.array(units, dtype=np.int64), 2)


def _marks(identities: list[int], contents: list[int]) -> KeptRows:
    words = (np.array(each, dtype=np.uint64) for each in (identities, contents))
    return marks_of_arrays(*words, version=2)


def _counts(*counts: int):
    return np.array(counts, dtype=np.int64)


@pytest.fixture
def history(grown):
    """Two versions that keep their promises; blocks [0, .5], [1, 1.5], [2, 2.5], [3, 3.5]."""
    history = grown(grown(None))
    assert _broken_promises(history) == []
    return history


@pytest.mark.parametrize(
    ("break_it", "found"),
    [
        (
            lambda h: _with_blocks(h, high=_numbers(49, 150, 250, 350)),
            ["1 blocks span less than e = 0.5", "it cuts 1 blocks"],
        ),
        (
            lambda h: _with_blocks(h, distinct=_counts(2, 1, 2, 1)),
            ["2 blocks have fewer than k = 2 distinct values"],
        ),
        (
            lambda h: _with_blocks(h, distinct=_counts(2, 7, 2, 2)),
            ["blocks have more distinct values than rows"],
        ),
        (
            lambda h: _with_blocks(h, high=_numbers(50, 200, 250, 350)),
            ["1 blocks overlap or do not ascend"],
        ),
        (
            lambda h: _with_blocks(h, low=_numbers(60, 100, 200, 300)),
            ["1 blocks end before they begin"],
        ),
        (
            lambda h: _with_blocks(h, rows=_counts(6, 6, 6, 7)),
            ["its blocks hold 25 rows, and 24 were published so far"],
        ),
        (
            lambda h: _with_blocks(h, rows=_counts(2, 10, 6, 6)),
            ["blocks have lost rows since the version before"],
        ),
        (
            lambda h: _with_blocks(h, rows=_counts(4, 8, 6, 6)),
            ["1 blocks gained some rows, and fewer than k"],
        ),
        (
            lambda h: _with_blocks(
                h, low=_numbers(0, 110, 200, 300), high=_numbers(50, 160, 250, 350)
            ),
            ["it cuts 1 blocks of the version before"],
        ),
        (
            lambda h: _last(h, number=4),
            ["it follows version 1"],
        ),
        (
            lambda h: _last(h, held=h.versions[0].published),
            ["12 held rows are published"],
        ),
        (
            lambda h: _last(h, published=h.versions[0].published),
            ["12 rows were published twice"],
        ),
        (
            lambda h: _last(h, published=_marks([5, 7, 5], [1, 2, 3])),
            ["1 rows were published twice"],
        ),
        (
            lambda h: _last(h, held=_marks([5, 7], [])),
            ["version 2: the marks of its held rows lack or exceed those of their contents"],
        ),
        (
            lambda h: _with_blocks(h, batch=_counts(1, 0, 0, 0)),
            ["its batches are not in order"],
        ),
    ],
)
def test_each_broken_promise_is_found(history, break_it, found):
    """A history that contradicts its terms or itself is told how."""
    broken = _broken_promises(break_it(history))
    for what in found:
        assert any(what in message for message in broken), broken


def test_verification_finds_broken_promises_behind_intact_seals(tmp_path, history):
    """A promise that was already broken when it was committed is found in the ledger."""
    ledger = Ledger(tmp_path / "ledger.db")
    bad = _with_blocks(history, distinct=_counts(2, 2, 2, 1))
    ledger.commit(None, replace(bad, versions=bad.versions[:1]))
    ledger.commit(replace(bad, versions=bad.versions[:1]), bad)
    assert [str(finding) for finding in ledger.verify()] == [
        "series 'salaries': version 2: 1 blocks have fewer than k = 2 distinct values"
    ]


def test_blocks_may_merge(history):
    """Covering old blocks whole is no cut, and many rows may join them."""
    merged = Blocks(
        low=_numbers(0, 200),
        high=_numbers(150, 350),
        rows=_counts(12, 12),
        distinct=_counts(4, 4),
        batch=_counts(0, 0),
    )
    assert _broken_promises(_last(history, blocks=merged)) == []


def test_pairwise_adversary_allows_few_rows_in_a_merged_block(history):
    """One row that joins two merged blocks is a breach for unions of blocks only."""
    merged = Blocks(
        low=_numbers(0, 200),
        high=_numbers(150, 350),
        rows=_counts(7, 17),
        distinct=_counts(4, 4),
        batch=_counts(0, 0),
    )
    changed = _last(history, blocks=merged)
    assert _broken_promises(changed) == ["version 2: 1 blocks gained some rows, and fewer than k"]
    method = {**history.terms.method, "adversary": "pairwise"}
    assert _broken_promises(replace(changed, terms=replace(history.terms, method=method))) == []


def test_other_searches_may_cut(history):
    """Only the full-cover rule forbids cuts inside earlier blocks."""
    changed = _with_blocks(
        history, low=_numbers(0, 110, 200, 300), high=_numbers(50, 160, 250, 350)
    )
    method = {**history.terms.method, "search": "exact"}
    assert _broken_promises(replace(changed, terms=replace(history.terms, method=method))) == []


def _sealed(history):
    """The history with its second version published as a batch of its own."""
    first, second = history.versions
    one = replace(first.blocks, batch=_counts(1, 1, 1, 1))
    both = Blocks(
        low=_numbers(0, 100, 200, 300, 20, 120),
        high=_numbers(50, 150, 250, 350, 110, 180),
        rows=_counts(3, 3, 3, 3, 6, 6),
        distinct=_counts(2, 2, 2, 2, 2, 2),
        batch=_counts(1, 1, 1, 1, 2, 2),
    )
    return replace(history, versions=(replace(first, blocks=one), replace(second, blocks=both)))


def test_sealed_batches_may_overlap_each_other(history):
    """Blocks of different batches are independent."""
    assert _broken_promises(_sealed(history)) == []


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (
            {"high": _numbers(60, 150, 250, 350, 110, 180)},
            "sealed blocks of earlier versions changed",
        ),
        ({"rows": _counts(3, 3, 3, 4, 5, 6)}, "the blocks of batch 2 do not hold the rows"),
    ],
)
def test_sealed_blocks_never_change(history, changes, found):
    """An old batch is published again as it was."""
    broken = _broken_promises(_with_blocks(_sealed(history), **changes))
    assert any(found in message for message in broken), broken


def test_ranges_are_compared_exactly(history):
    """0.1 to 0.3 spans 0.2, in decimals of any length."""
    far = 10**40
    blocks = replace(
        history.latest.blocks,
        low=ExactNumbers(np.array([1, 100, 200, far + 1], dtype=object), 1),
        high=ExactNumbers(np.array([3, 102, 202, far + 3], dtype=object), 1),
    )
    changed = _last(
        replace(history, versions=()).appended(
            replace(history.versions[0], blocks=replace(blocks, rows=_counts(3, 3, 3, 3)))
        )
    )
    for e, expected in (("0.2", []), ("0.20000000000000000001", ["version 1: 4 blocks span less"])):
        terms = replace(history.terms, method={**history.terms.method, "e": e})
        broken = _broken_promises(replace(changed, terms=terms))
        assert [message[: len("version 1: 4 blocks span less")] for message in broken] == expected


@pytest.fixture
def release(tmp_path, ledger):
    """The folder of the second release of the ledger's series."""
    folder = tmp_path / "release"
    folder.mkdir()
    version = ledger.load("salaries").versions[1]
    document = {
        "release_id": version.release_id,
        "series": {"name": "salaries", "version": 2},
        "rows": 24,
    }
    write_listed(folder, document)
    return folder


def test_a_known_release(ledger, release):
    """A release that the ledger committed is no finding."""
    assert ledger.verify_release(release) == []


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"release_id": "0" * 32}, "the ledger does not know this release"),
        ({"release_id": None}, "the ledger does not know this release"),
        ({"series": None}, "published without a series"),
        ({"series": {"name": "salaries", "version": 3}}, "as version 2 of series 'salaries'"),
        ({"series": {"name": "other", "version": 2}}, "as version 2 of series 'salaries'"),
        ({"rows": 23}, "with 24 rows"),
    ],
)
def test_an_unknown_release(ledger, release, changes, found):
    """A release that the ledger does not know, or knows otherwise, is a finding."""
    path = release / "release.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    (finding,) = ledger.verify_release(release)
    assert found in str(finding)
    assert str(release) in str(finding)


@pytest.fixture
def charged_release(tmp_path, ledger, charged):
    """The folder of a release without a series that a data set was charged for, and the charge."""
    folder = tmp_path / "charged"
    folder.mkdir()
    charge = charged(None, "1", rows=2)
    ledger.commit(None, None, charge)
    write_listed(folder, {"release_id": charge.release_id, "rows": 5})
    return folder, charge


@pytest.mark.slow
def test_a_charged_release_is_known(ledger, charged_release):
    """A release whose data set was charged needs no series to be vouched for."""
    folder, charge = charged_release
    assert ledger.verify_release(folder) == []
    ledger.settle("parcels", charge.release_id)
    assert ledger.verify_release(folder) == []


@pytest.mark.slow
def test_a_release_that_was_taken_back_and_stands_is_found(ledger, charged_release):
    """Rows of a release that exists are not to wait in the pool once more."""
    folder, charge = charged_release
    ledger.take_back("parcels", charge.release_id)
    (finding,) = ledger.verify_release(folder)
    assert "went back into the pool of data set 'parcels'" in str(finding)


@pytest.mark.slow
def test_an_uncharged_release_is_found(ledger, charged_release):
    """A release that no data set was charged for is not vouched for."""
    folder, _ = charged_release
    write_listed(folder, {"release_id": "0" * 32})
    (finding,) = ledger.verify_release(folder)
    assert "no data set was charged for it" in str(finding)


@pytest.mark.slow
def test_an_older_copy_of_the_ledger_is_found_by_its_releases(ledger, grown, tmp_path):
    """A ledger replaced by its backup is sound, and does not know the release made since."""
    backup = ledger.path.read_bytes()
    rows = ledger.path.with_name("ledger.db.rows")
    shutil.copytree(rows, tmp_path / "backup")
    before = ledger.load("salaries")
    after = grown(before)
    ledger.commit(before, after)
    document = {
        "release_id": after.latest.release_id,
        "series": {"name": "salaries", "version": 4},
    }
    release = tmp_path / "release"
    write_listed(release, document)
    assert ledger.verify_release(release) == []
    ledger.path.write_bytes(backup)
    assert "belongs to the ledger" in str(ledger.verify()[0])  # its rows were not restored with it
    shutil.rmtree(rows)
    shutil.copytree(tmp_path / "backup", rows)
    assert ledger.verify() == []
    assert len(ledger.verify_release(release)) == 1


@pytest.mark.parametrize("content", [None, "not JSON", "[]", "\udcff"])
def test_a_folder_that_is_no_release(ledger, tmp_path, content):
    """A folder without a readable description is a mistake of the call."""
    if content is not None:
        (tmp_path / "release.json").write_text(content, errors="surrogateescape")
    with pytest.raises(InputError, match="name the folder of a release"):
        ledger.verify_release(tmp_path)

"""A store in one file: the contract, and what is particular to SQLite."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from share_tests.store.contract import COMPANY, TRUCK, StoreContract, device, link, parcel, token
from share_tests.store.processes import raced
from share_tests.store.reports import all_reports, audited, chain, next_entry, number_of
from voile_base.errors import InputError
from voile_share.store import Appended, Mail, SQLiteStore, StoreError
from voile_share.store import schema as schemas
from voile_share.store import sqlite as engine

HERE = Path(__file__).parent


@pytest.fixture
def path(tmp_path):
    return tmp_path / "voile ?#.db"


class TestSQLiteStore(StoreContract):
    examples = 50

    @pytest.fixture
    def logs(self, tmp_path):
        numbers = itertools.count()
        return lambda: SQLiteStore.open(tmp_path / f"{next(numbers)}.db")


def test_a_store_is_private_and_stays(path):
    """The file is its owner's alone, and another store on it goes on where the first ended."""
    first, second = chain(1, 2)
    with closing(SQLiteStore.open(path)) as store:
        store.append([first])
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        assert modes == {0o600}
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with closing(SQLiteStore.open(str(path))) as store:
        assert list(store.append([first, second])) == [Appended.KNOWN, Appended.NEW]


def test_a_store_tells_writes_of_others_from_its_own(path):
    """What it writes and what others read changes nothing; what others write does."""
    with closing(SQLiteStore.open(path)) as store, closing(SQLiteStore.open(path)) as other:
        store.add_company(COMPANY, token("mine"))
        before = store.foreign_writes()
        store.add_truck(TRUCK)
        assert other.truck(TRUCK.truck) == TRUCK
        assert store.foreign_writes() == before
        other.retire_truck(TRUCK.truck, 1.0)
        assert store.foreign_writes() != before


def test_many_may_create_one_store(path):
    """Threads that open the same new path get one store, and leave nothing else behind."""
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: SQLiteStore.open(path), range(6)))
    outcomes = [store.append(chain(1, 1))[0] for store in stores]
    assert outcomes == [Appended.NEW] + [Appended.KNOWN] * 5
    for store in stores:
        store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
def test_processes_share_a_file(path):
    """Three processes that race for one truck make one chain, and no report is taken twice."""
    SQLiteStore.open(path).close()
    taken = raced("sqlite", path)
    with closing(SQLiteStore.open(path)) as store:
        assert len(audited(store, 1)) == len(all_reports(store, 1)) == taken


@pytest.mark.parametrize("content", [b"", b"no database, but a text of some length" * 200])
def test_a_file_that_is_no_database(path, content):
    """An empty file or another one is refused and left as it is."""
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a store of Voile"):
        SQLiteStore.open(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else(path):
    """A database of another program is refused, and no table is put into it."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE trucks (name)")
    with pytest.raises(InputError, match="not a store of Voile"):
        SQLiteStore.open(path)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("trucks",)]


def test_a_folder_or_no_folder(tmp_path):
    """A folder, or a file in a folder that is not there, says what to name instead."""
    with pytest.raises((InputError, StoreError), match="check that it is a file"):
        SQLiteStore.open(tmp_path)
    with pytest.raises(InputError, match="existing folder"):
        SQLiteStore.open(tmp_path / "absent" / "voile.db")


def test_a_newer_store_is_refused(path):
    """A file that a newer Voile wrote is refused, with both formats, and not changed."""
    SQLiteStore.open(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match=r"format 99.*up to \d+; update Voile"):
        SQLiteStore.open(path)


def test_a_migration_is_whole_or_not_at_all(path, monkeypatch):
    """Where one statement of a migration fails, the store keeps its format and works on."""
    with closing(SQLiteStore.open(path)) as store:
        store.append(chain(1, 1))
    broken = ("CREATE TABLE more (a {whole}) {table}", "CREATE TABLE more (a {whole}) {table}")
    with monkeypatch.context() as patched:
        patched.setattr(schemas, "_FORMATS", (*schemas._FORMATS, broken))
        patched.setattr(engine, "FORMAT", schemas.FORMAT + 1)
        with pytest.raises(StoreError, match="nothing was changed"):
            SQLiteStore.open(path)
    with monkeypatch.context() as patched:
        patched.setattr(schemas, "_FORMATS", (*schemas._FORMATS, broken[:1]))
        patched.setattr(engine, "FORMAT", schemas.FORMAT + 1)
        patched.setattr(schemas, "FORMAT", schemas.FORMAT + 1)
        with closing(SQLiteStore.open(path)) as store:
            assert list(store.append(chain(1, 2))) == [Appended.KNOWN, Appended.NEW]
    with pytest.raises(InputError, match="update Voile"):
        SQLiteStore.open(path)


def test_a_store_in_use_by_another_process(path):
    """While another process writes too long: a store error, reading goes on, and then it works."""
    with (
        closing(SQLiteStore.open(path, timeout=0.05)) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process"):
            store.append(chain(1, 1))
        assert store.last(number_of(1)) is None
        other.execute("ROLLBACK")
        assert list(store.append(chain(1, 1))) == [Appended.NEW]


def test_a_full_disk(path, monkeypatch):
    """Without room: a store error, nothing lost or half done; with room again it goes on."""
    opened = []

    def connect(*arguments, **options):
        opened.append(sqlite3.Connection(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(engine.sqlite3, "connect", connect)
    with closing(SQLiteStore.open(path)) as store:
        writer = opened[-1]
        ((pages,),) = writer.execute("PRAGMA page_count").fetchall()
        writer.execute(f"PRAGMA max_page_count = {pages + 3}")
        entries, kept = chain(1, 100), 0
        with contextlib.suppress(StoreError):
            while kept < 100:
                store.append(entries[kept : kept + 4])
                kept += 4
        assert 0 < kept < 100
        with pytest.raises(StoreError, match=r"no room on the disk.*nothing was changed"):
            store.append(entries[kept:])
        assert len(all_reports(store, 1)) == len(audited(store, 1)) == kept
        writer.execute("PRAGMA max_page_count = 1000000")
        assert set(store.append(entries[kept:])) == {Appended.NEW}
        assert len(audited(store, 1)) == 100


@pytest.mark.slow
def test_a_file_that_may_not_grow(path):
    """A limit of the system on sizes of files acts as a full disk does, until it is lifted."""
    run = subprocess.run(
        [sys.executable, HERE / "limited.py", path], capture_output=True, text=True, check=True
    )
    before, refused, after = run.stdout.split()
    assert int(before) > 0
    assert refused == "refused"
    with closing(SQLiteStore.open(path)) as store:
        assert len(audited(store, 1)) == len(all_reports(store, 1)) == int(after) > int(before)


def test_a_file_that_was_taken_away(path):
    """Nothing is acknowledged into a file that is no longer where the store was opened."""
    with closing(SQLiteStore.open(path)) as store:
        store.append(chain(1, 1))
        away = path.with_name("away")
        path.rename(away)
        with pytest.raises(StoreError, match="moved, removed or replaced"):
            store.append(chain(1, 2)[1:])
        away.rename(path)
        assert list(store.append(chain(1, 2))) == [Appended.KNOWN, Appended.NEW]


def test_what_sqlite_cannot_say_of_a_damaged_file(path):
    """Its words may quote bytes of the file that are no text: that is damage, too."""
    with pytest.raises(StoreError, match="damaged"), engine._explained(path):
        b"malformed schema (\xdc)".decode()


def test_a_damaged_file(path):
    """A file whose pages are overwritten raises a store error, not rubbish."""
    with closing(SQLiteStore.open(path)) as store:
        store.append(chain(1, 30))
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))
    with pytest.raises(StoreError, match="damaged"):
        SQLiteStore.open(path).last(number_of(1))


def test_a_closed_store(path):
    """A closed store may be closed again, and does nothing else."""
    store = SQLiteStore.open(path)
    store.companies()
    store.close()
    store.close()
    for call in (store.companies, lambda: store.append(chain(1, 1))):
        with pytest.raises(StoreError, match="was closed"):
            call()


def test_each_commit_is_synchronous(path):
    """The writing connection syncs at each commit, and enforces what refers to something."""
    with closing(SQLiteStore.open(path)) as store:
        pragmas = {
            name: store._engine._writer.rows(f"PRAGMA {name}")[0][0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
    }


def test_no_table_is_read_from_end_to_end(path, monkeypatch):
    """Each statement finds its rows by an index, except those that list everything."""
    run: list[str] = []
    for name in ("rows", "change", "change_many"):
        original = getattr(engine._Connection, name)

        def noted(self, statement, values=(), original=original):
            run.append(statement)
            return original(self, statement, values)

        monkeypatch.setattr(engine._Connection, name, noted)
    with closing(SQLiteStore.open(path)) as store:
        run.clear()
        use_everything(store)
        statements = [one for one in run if one.split()[0] not in {"BEGIN", "COMMIT", "PRAGMA"}]
        scanned = set()
        for statement in statements:
            plan = store._engine._writer._connection.execute(
                f"EXPLAIN QUERY PLAN {statement}", [1] * statement.count("?")
            )
            details = [row[3] for row in plan]
            scanned |= {one.split()[1] for one in details if one.startswith("SCAN")}
    assert len(set(statements)) > 30
    # All companies and all trucks are listed; the others are values that were passed in.
    assert scanned <= {"companies", "trucks", "wanted", "constant"} | {f"{n}" for n in range(999)}


def use_everything(store: SQLiteStore) -> None:
    """Every method, once or twice."""
    store.add_company(COMPANY, token("a"))
    store.companies(), store.company("x"), store.close_company("x", 1.0)
    store.add_token(token("b")), store.token(b"x"), store.revoke_tokens("company", "x", 1.0)
    store.tokens("auditor"), store.replace_tokens(token("c"))
    store.add_truck(TRUCK), store.truck(b"x"), store.trucks(), store.trucks("x")
    store.add_device(device("a")), store.device(b"x"), store.devices(b"x")
    store.revoke_device(b"x", "x", 1.0)
    store.add_parcel(parcel(b"x")), store.parcels(b"x"), store.end_parcel(b"x", b"x", 1.0)
    store.add_mail(Mail(TRUCK.truck, b"x", 1.0)), store.mail(b"x", 0, 1), store.drop_mail(1.0)
    store.add_link(link("a")), store.link(b"x"), store.links(b"x"), store.revoke_link(b"x", 1.0)
    store.links_beginning(b"x")
    store.save_states([(b"x", b"x")]), store.state(b"x")
    for _ in range(2):
        store.append([*chain(1, 2), *chain(2, 2)])
    store.last(b"x"), store.after(b"x", 0, 1), store.in_slots(0, 1, 1), store.records(b"x", 0, 1)
    store.forget(1), store.retire_truck(TRUCK.truck, 1.0)


def test_a_failure_inside_a_transaction_undoes_it(path):
    """An exception that is not the database's leaves nothing behind and the store usable."""

    class OddError(Exception):
        pass

    def work(connection):
        connection.change(
            "INSERT INTO companies (company, name, created) VALUES (?, ?, ?)", ("a", "b", 1.0)
        )
        raise OddError

    with closing(SQLiteStore.open(path)) as store:
        with pytest.raises(OddError):
            store._engine.write(work)
        assert store.company("a") is None
        assert store.append([next_entry(store, 1)]) == [Appended.NEW]

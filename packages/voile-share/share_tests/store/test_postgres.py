"""A store in PostgreSQL: the contract on a real server, and what is particular to it."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from share_tests.store.contract import COMPANY, TRUCK, StoreContract, token
from share_tests.store.processes import raced
from share_tests.store.proxy import Proxy
from share_tests.store.reports import all_reports, audited, chain, next_entry, number_of
from voile_base.errors import InputError
from voile_share.store import Appended, PostgresStore, StoreError
from voile_share.store import postgres as engine
from voile_share.store import schema as schemas

psycopg = pytest.importorskip("psycopg")

_numbers = itertools.count()
_END_OTHERS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'voile'"
)


@pytest.fixture
def url(postgres):
    """The address of a schema of the test's own."""
    return postgres.schema(f"test {next(_numbers)}".replace(" ", "_"))


@pytest.fixture
def raw(url):
    """A connection that others would have."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        yield connection


@pytest.mark.slow
class TestPostgresStore(StoreContract):
    @pytest.fixture
    def logs(self, postgres):
        return lambda: PostgresStore.open(postgres.schema(f"contract_{next(_numbers)}"))


@pytest.mark.slow
def test_processes_share_a_database(url):
    """Three processes that race for one truck make one chain, and no report is taken twice."""
    with closing(PostgresStore.open(url)) as store:
        taken = raced("postgres", url)
        assert len(audited(store, 1)) == len(all_reports(store, 1)) == taken


def test_many_may_create_one_store(url):
    """Threads that open the same empty schema get one store."""
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: PostgresStore.open(url), range(6)))
    outcomes = [store.append(chain(1, 1))[0] for store in stores]
    assert outcomes == [Appended.NEW] + [Appended.KNOWN] * 5
    for store in stores:
        store.close()


def test_a_newer_store_is_refused(url, raw):
    """A database that a newer Voile wrote is refused, with both formats."""
    PostgresStore.open(url).close()
    raw.execute("UPDATE voile_store SET format = 99")
    with pytest.raises(InputError, match=r"format 99.*up to \d+; update Voile"):
        PostgresStore.open(url)


@pytest.mark.slow
def test_a_migration_is_whole_or_not_at_all(url, raw, monkeypatch):
    """Where one statement of a migration fails, the store keeps its format and works on."""
    with closing(PostgresStore.open(url)) as store:
        store.append(chain(1, 1))
    broken = ("CREATE TABLE more (a {whole}) {table}", "CREATE TABLE more (a {whole}) {table}")
    monkeypatch.setattr(engine, "FORMAT", schemas.FORMAT + 1)
    monkeypatch.setattr(schemas, "FORMAT", schemas.FORMAT + 1)
    with monkeypatch.context() as patched:
        patched.setattr(schemas, "_FORMATS", (*schemas._FORMATS, broken))
        with pytest.raises(StoreError, match="nothing was changed"):
            PostgresStore.open(url)
    assert raw.execute("SELECT to_regclass('more')").fetchall() == [(None,)]
    monkeypatch.setattr(schemas, "_FORMATS", (*schemas._FORMATS, broken[:1]))
    with closing(PostgresStore.open(url)) as store:
        assert list(store.append(chain(1, 2))) == [Appended.KNOWN, Appended.NEW]
    assert raw.execute("SELECT format FROM voile_store").fetchall() == [(schemas.FORMAT,)]


def test_an_address_is_not_quoted(tmp_path):
    """Errors about an address, and the store's name, leave its password out."""
    addresses = {
        "postgresql://user:pa55word@/db?nonsense=1": InputError,
        "host=x password=pa55word ???": InputError,
        f"postgresql://user:pa55word@/db?host={tmp_path}": StoreError,
    }
    for address, kind in addresses.items():
        with pytest.raises(kind) as caught:
            PostgresStore.open(address)
        assert "pa55word" not in "".join(traceback.format_exception(caught.value))


def test_the_name_of_a_store(postgres, url):
    """It says where the database is."""
    with closing(PostgresStore.open(url)) as store:
        assert repr(store) == f"PostgresStore('host={postgres.folder} dbname=postgres')"


@pytest.mark.slow
def test_connections_that_were_lost_while_idle(url, raw):
    """All idle connections are ended by the server: the next call does not notice."""
    together = threading.Barrier(3)
    with closing(PostgresStore.open(url)) as store:

        def look(_: int) -> None:
            def work(connection) -> None:
                connection.rows("SELECT 1")
                together.wait()  # so there are three connections at a time

            store._engine.write(work)

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(look, range(3)))
        assert len(raw.execute(_END_OTHERS).fetchall()) == 3
        assert list(store.append(chain(1, 1))) == [Appended.NEW]
        raw.execute(_END_OTHERS)
        assert len(all_reports(store, 1)) == 1


@pytest.mark.slow
def test_a_connection_lost_within_a_transaction(url, raw):
    """Nothing was committed: a store error that says so, and the next call works."""
    with closing(PostgresStore.open(url)) as store:

        def work(connection) -> None:
            connection.change(
                "INSERT INTO companies (company, name, created) VALUES (?, ?, ?)", ("a", "b", 1.0)
            )
            raw.execute(_END_OTHERS)
            connection.rows("SELECT 1")

        with pytest.raises(StoreError, match=r"lost; nothing was changed"):
            store._engine.write(work)
        assert store.company("a") is None
        assert list(store.append(chain(1, 1))) == [Appended.NEW]


@pytest.fixture
def proxy(postgres):
    """A wire to the server, and the address through it."""
    folder = Path(tempfile.mkdtemp(prefix="voile-wire-", dir="/tmp"))
    wire = Proxy(folder, postgres.folder)
    yield wire, folder
    wire.close()
    shutil.rmtree(folder)


@pytest.mark.parametrize("forwarded", [True, False])
def test_a_connection_lost_in_a_commit(postgres, url, proxy, forwarded):
    """The store finds out what became of the commit, and says so."""
    wire, folder = proxy
    through = url.replace(str(postgres.folder), str(folder))
    entries = chain(1, 3)
    with closing(PostgresStore.open(through)) as store:
        assert list(store.append(entries[:1])) == [Appended.NEW]
        wire.cut_at_commit(forwarded=forwarded)
        if forwarded:
            assert list(store.append(entries[1:])) == [Appended.NEW] * 2
        else:
            with pytest.raises(StoreError, match="nothing was changed"):
                store.append(entries[1:])
            assert len(all_reports(store, 1)) == 1
            assert list(store.append(entries[1:])) == [Appended.NEW] * 2
        assert wire.cuts == 1
        assert len(audited(store, 1)) == 3


@pytest.mark.slow
def test_a_commit_of_which_nobody_tells(postgres, url, proxy):
    """While the server stays away the error says that the outcome is unknown; again is safe."""
    wire, folder = proxy
    through = url.replace(str(postgres.folder), str(folder))
    entries = chain(1, 2)
    with closing(PostgresStore.open(through, patience=0.2)) as store:
        store.append(entries[:1])
        wire.cut_at_commit(forwarded=True)
        wire.refuses = True
        with pytest.raises(StoreError, match="not known whether anything was changed"):
            store.append(entries[1:])
        with pytest.raises(StoreError, match="cannot be reached"):
            store.last(number_of(1))
        wire.refuses = False
        assert list(store.append(entries[1:])) == [Appended.KNOWN]
        assert len(audited(store, 1)) == 2


@pytest.mark.slow
def test_a_full_disk(url, raw):
    """Without room on the server: a store error, nothing half done; with room it goes on."""
    with closing(PostgresStore.open(url)) as store:
        first, second = chain(1, 2)
        store.append([first])
        raw.execute(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "RAISE EXCEPTION 'secret of %', NEW.slot USING ERRCODE = '53100'; END $$"
        )
        # Reports are written after records: so the transaction has changed something by then.
        raw.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON reports "
            "FOR EACH ROW EXECUTE FUNCTION full_disk()"
        )
        with pytest.raises(StoreError, match=r"no room.*nothing was changed") as caught:
            store.append([second])
        assert "secret" not in "".join(traceback.format_exception(caught.value))
        assert len(audited(store, 1)) == 1
        raw.execute("DROP TRIGGER full_disk ON reports")
        assert list(store.append([second])) == [Appended.NEW]


def test_a_database_for_reading(url):
    """Where nothing may be written, reading works, and appending and opening say why not."""
    with closing(PostgresStore.open(url)) as store:
        store.append(chain(1, 1))
        store._engine.read("SELECT set_config('default_transaction_read_only', 'on', false)")
        assert len(all_reports(store, 1)) == 1
        with pytest.raises(StoreError, match=r"accepts no changes.*nothing was changed"):
            store.append(chain(1, 2))
    with pytest.raises(StoreError, match="accepts no changes"):
        PostgresStore.open(f"{url}%20-cdefault_transaction_read_only%3Don")


def test_a_lock_that_is_held_too_long(url, raw):
    """Where somebody holds a truck, the store gives up, changes nothing, and works later."""
    with closing(PostgresStore.open(f"{url}%20-clock_timeout%3D50ms")) as store:
        store.append(chain(1, 1))
        raw.execute("BEGIN; SELECT * FROM heads FOR UPDATE")
        with pytest.raises(StoreError, match=r"holds what is to be changed.*nothing was changed"):
            store.append([next_entry(store, 1)])
        raw.execute("ROLLBACK")
        assert list(store.append([next_entry(store, 1)])) == [Appended.NEW]


def test_transactions_that_must_run_again(url, raw):
    """Those that the server undoes for the sake of others are run again, a few times."""
    with closing(PostgresStore.open(url)) as store:
        runs = []

        def work(connection) -> int:
            runs.append(1)
            connection.change(
                "INSERT INTO companies (company, name, created) VALUES (?, ?, ?)", ("a", "b", 1.0)
            )
            if len(runs) < 3:
                connection.change("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$")
            return len(runs)

        assert store._engine.write(work) == 3
        assert len(store.companies()) == 1

        def never(connection) -> None:
            connection.change("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")

        with pytest.raises(StoreError, match="other processes change"):
            store._engine.write(never)


def test_a_server_that_forgets_is_refused(url, monkeypatch):
    """A server that does not sync is no place for what was acknowledged."""
    read = engine._Engine.read

    def unsynced(self, statement, values=()):
        return [("off",)] if "fsync" in statement else read(self, statement, values)

    monkeypatch.setattr(engine._Engine, "read", unsynced)
    with pytest.raises(InputError, match="fsync = off"):
        PostgresStore.open(url)


def test_commits_are_synchronous(url):
    """An address that asks for commits that do not wait is overruled."""
    with closing(PostgresStore.open(f"{url}%20-csynchronous_commit%3Doff")) as store:
        assert store._engine.read("SHOW synchronous_commit") == [("on",)]
    with closing(PostgresStore.open(f"{url}%20-csynchronous_commit%3Dremote_apply")) as store:
        assert store._engine.read("SHOW synchronous_commit") == [("remote_apply",)]


def test_connections_are_few(url, raw):
    """Twenty threads share at most so many connections, and wait for them."""
    with closing(PostgresStore.open(f"{url}&application_name=few", connections=2)) as store:
        store.add_company(COMPANY, token("first"))
        store.add_truck(TRUCK)
        with ThreadPoolExecutor(20) as pool:
            assert list(pool.map(lambda _: store.truck(TRUCK.truck), range(200))) == [TRUCK] * 200
        statement = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'few'"
        assert raw.execute(statement).fetchone()[0] <= 2


def test_a_closed_store(url):
    """A closed store may be closed again, and does nothing else."""
    store = PostgresStore.open(url)
    store.close()
    store.close()
    for call in (store.companies, lambda: store.append(chain(1, 1))):
        with pytest.raises(StoreError, match="was closed"):
            call()

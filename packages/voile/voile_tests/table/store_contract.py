"""What object stores have in common: tables read, releases put whole or not at all, faults said.

A subclass names a server of this machine behind a ``Gate``; its container is ``bucket``.
"""

from __future__ import annotations

import errno
import functools
import http.client
import http.server
import importlib
import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import ClassVar

import polars as pl
import pytest

import voile
from voile.ledger import Ledger
from voile.release.recounting import read_recounted
from voile.table import remote
from voile.table.lakes import brought
from voile.table.opening import rows_in_memory
from voile.table.remote import RemotePlace, UncertainUploadError
from voile_base.errors import InputError, TableError, VoileError

SECRET = "a-planted-secret"
PLAN = """
[roles]
quasi_identifiers = ["age"]
sensitive = ["pay"]
[method]
name = "ke-anonymity"
k = 2
e = 1
"""
SERIES = PLAN + 'series = "pays"\n'
ROWS = pl.DataFrame({"age": list(range(40)), "pay": [7 * n for n in range(40)]})


class Gate(http.server.BaseHTTPRequestHandler):
    """Forwards to the store, or answers with a fault, as its server says."""

    def do_GET(self):
        self._forward()

    do_PUT = do_HEAD = do_DELETE = do_POST = do_GET  # noqa: N815 - names of the library

    def _forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests += 1
        key = self.path.removeprefix(self.server.above)
        status = self.server.faults(self.server.requests, self.command, key)
        if status:
            self._answer(status, {}, PLANTED)
            return
        address = self.server.store.removeprefix("http://")
        with closing(http.client.HTTPConnection(address, timeout=20)) as store:
            headers = {n: v for n, v in self.headers.items() if n.lower() != "connection"}
            store.request(self.command, self.path, body or None, headers)
            answer = store.getresponse()
            given = answer.status, answer.headers, answer.read()
        lost = given[0] < 300 and self.server.loses(self.command, key)
        self._answer(*((503, {}, PLANTED) if lost else given))

    def _answer(self, status, headers, body):
        try:
            self._send(status, headers, body)
        except OSError:
            self.close_connection = True  # who asked is dead

    def _send(self, status, headers, body):
        self.send_response(status)
        for name, value in dict(headers).items():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        length = headers.get("Content-Length") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *of):
        """Say nothing."""


PLANTED = b"<Error><Code>Planted</Code></Error>"


def no_fault(number, verb, path):
    return 0


@contextmanager
def gate_before(store: str, above: str) -> Iterator[http.server.ThreadingHTTPServer]:
    """A gate before a store, whose objects stand below a path."""
    gate = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gate)
    gate.store, gate.above, gate.requests = store, above, 0
    gate.faults, gate.loses = no_fault, lambda verb, path: False
    threading.Thread(target=gate.serve_forever, daemon=True).start()
    try:
        yield gate
    finally:
        gate.shutdown()
        gate.server_close()


def parquet_of(tmp_path, frame=ROWS):
    file = tmp_path / "made.parquet"
    frame.write_parquet(file)
    return file.read_bytes()


def plan_of(tmp_path, text=PLAN):
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    return plan


def _rows_of(release):
    return pl.DataFrame(read_recounted(release).table.to_arrow())


class _Killed(BaseException):
    """Ends a publisher where it stands."""


class StoreContract:
    """Tests of any store that releases are put to."""

    kills: ClassVar[int] = 50
    """Publishers that are killed, at each step several times."""

    address: str
    """The container."""

    @pytest.fixture(name="gate")
    def gate_fixture(self):
        """An empty container behind a gate, and the environment that leads there."""
        raise NotImplementedError

    def put(self, key, data):
        """Put an object that no publisher has put."""
        remote.obstore.put(RemotePlace.of(self.address).store(), key, data, use_multipart=False)

    def keys(self):
        """The objects that stand."""
        store = RemotePlace.of(self.address).store()
        return sorted(one["path"] for one in remote._listed(store, ""))

    @pytest.mark.parametrize("engine", ["polars", "duckdb"])
    def test_a_table_in_a_store_is_published_as_one_on_disk(self, gate, tmp_path, engine):
        """With one seed the releases of an object, and of a file, have the same rows."""
        pytest.importorskip(engine)
        self.put("people.parquet", parquet_of(tmp_path))
        plan = plan_of(tmp_path)
        made = [
            voile.make_release(source, plan, tmp_path / f"release-{n}", seed=1, engine=engine)
            for n, source in enumerate(
                [tmp_path / "made.parquet", f"{self.address}/people.parquet"]
            )
        ]
        assert [each.release.rows for each in made] == [40, 40]
        names = [next((tmp_path / f"release-{n}").glob("data*")).read_bytes() for n in range(2)]
        assert names[0] == names[1]
        assert not list(tmp_path.glob("voile-remote-*"))

    def test_patterns_and_prefixes_name_several_objects(self, gate, tmp_path):
        """Objects that a pattern names, or that stand right below a prefix, are one table."""
        for part in range(3):
            rows = ROWS.slice(10 * part, 10)
            self.put(f"people/part-{part}.parquet", parquet_of(tmp_path, rows))
        self.put("people/deeper/part-9.parquet", parquet_of(tmp_path))
        self.put("people/_SUCCESS", b"")
        for address, rows in (
            (f"{self.address}/people", 30),
            (f"{self.address}/people/", 30),
            (f"{self.address}/people/part-*.parquet", 30),
            (f"{self.address}/people/part-[01].parquet", 20),
            (f"{self.address}/people/part-2.parquet", 10),
        ):
            frame, _ = rows_in_memory(address)
            assert frame.height == rows

    def test_folders_that_name_values_are_read_from_a_store(self, gate, tmp_path):
        """Objects below ``sex=f/`` have that value, whatever it holds, also named by a pattern."""
        for name, rows in (("f", ROWS.head(10)), ("%2E%2E%2Fx", ROWS.slice(10, 10))):
            self.put(f"people/sex={name}/part-0.parquet", parquet_of(tmp_path, rows))
        for address in (f"{self.address}/people", f"{self.address}/people/sex=*/part-*.parquet"):
            frame, _ = rows_in_memory(address)
            assert frame["sex"].value_counts().sort("sex").rows() == [("../x", 10), ("f", 10)]
            assert sorted(frame["pay"]) == ROWS["pay"].head(20).to_list()

    def test_a_list_of_objects_that_changes_is_refused(self, gate, tmp_path):
        """An object that comes while others are read ends the call: it may belong to the table."""
        self.put("people/part-0.parquet", parquet_of(tmp_path))

        def growing(number, verb, path):
            if verb == "GET" and path.startswith("people/part-0"):
                self.put("people/part-1.parquet", parquet_of(tmp_path))
            return 0

        gate.faults = growing
        with pytest.raises(TableError, match="changed while they were read"):
            rows_in_memory(f"{self.address}/people")

    def test_a_parted_release_in_a_store_is_whole_or_none(self, gate, tmp_path):
        """Whichever put is refused, or however a store is full, nothing stays; at last all do."""
        table = ROWS.with_columns(sex=pl.Series(["a b", "../x=%"] * 20))
        plan = plan_of(tmp_path, PLAN.replace('["age"]', '["age", "sex"]'))
        puts, failing, status = [], [0], [507]

        def refusing(number, verb, path):
            puts.append(path) if verb == "PUT" else None
            return status[0] if verb == "PUT" and len(puts) >= failing[0] else 0

        for failing[0] in range(1, 6):
            puts.clear()
            gate.faults = refusing
            status[0] = 507 if failing[0] % 2 else 403
            with pytest.raises(InputError, match=r"store is full|refuses access"):
                voile.make_release(table, plan, f"{self.address}/r", partition_by=["sex"])
            gate.faults = no_fault
            assert self.keys() == []
        voile.make_release(table, plan, f"{self.address}/r", partition_by=["sex"])
        assert [key for key in self.keys() if "/data/" in key] == [
            "r/data/sex=%2E%2E%2Fx%3D%25/part-0.parquet".replace("%2E", "."),
            "r/data/sex=a%20b/part-0.parquet",
        ]
        assert read_recounted(f"{self.address}/r").rows == 40

    @pytest.mark.parametrize(
        ("place", "said"),
        [
            (("nobucket", "/x.csv"), "there is no such bucket"),
            (("bucket", "/missing.csv"), "there is no such object"),
            (("bucket", "/none-*.csv"), "there is no such object"),
        ],
    )
    def test_what_is_not_there_is_said(self, gate, place, said):
        """A bucket or an object that is not there is named, without the words of the store."""
        with pytest.raises(TableError, match=said) as caught:
            rows_in_memory(self.address.replace("bucket", place[0], 1) + place[1])
        assert "Error" not in str(caught.value)
        assert SECRET not in str(caught.value)

    def test_refusals_and_faults_of_the_store_are_said(self, gate, tmp_path):
        """Access that is refused is told from a store that does not answer."""
        self.put("people.parquet", parquet_of(tmp_path))
        for status, said in (
            (403, "the store refuses access"),
            (503, "answered 503, again and again"),
        ):
            gate.faults = lambda number, verb, path, status=status: status
            with pytest.raises(TableError, match=said):
                rows_in_memory(f"{self.address}/people.parquet")

    def test_a_busy_store_is_asked_again(self, gate, tmp_path):
        """What a store refuses for the moment is no fault."""
        self.put("people.parquet", parquet_of(tmp_path))
        gate.faults = lambda number, verb, path: 503 if number % 2 else 0
        assert rows_in_memory(f"{self.address}/people.parquet")[0].height == 40

    def test_an_object_that_changes_while_it_is_read_is_refused(self, gate, tmp_path):
        """Between the listing and the end of an object its rows must stay the same."""
        self.put("people.parquet", parquet_of(tmp_path))

        def changing(number, verb, path):
            if verb == "GET" and path.startswith("people.parquet"):
                self.put("people.parquet", parquet_of(tmp_path, ROWS.head(5)))
            return 0

        gate.faults = changing
        with pytest.raises(TableError, match="changed while it was read"):
            rows_in_memory(f"{self.address}/people.parquet")

    def test_a_release_in_a_store_is_read_back(self, gate, tmp_path):
        """It has its rows, its document and a page, and is recounted and queried from there."""
        plan, source = plan_of(tmp_path), tmp_path / "made.parquet"
        source.write_bytes(parquet_of(tmp_path))
        voile.make_release(source, plan, f"{self.address}/releases/one")
        assert self.keys() == [
            f"releases/one/{name}" for name in ("data.parquet", "release.json", "verify.html")
        ]
        assert read_recounted(f"{self.address}/releases/one").rows == 40
        total = voile.answer(voile.read_release(f"{self.address}/releases/one"), "SUM(pay)")
        assert total.lower == total.upper == ROWS["pay"].sum()
        assert not list(tmp_path.glob("voile-release-*"))

    @pytest.mark.parametrize("place", ["releases/one", "releases"])
    def test_a_place_that_is_taken_is_refused(self, gate, tmp_path, place):
        """Nothing is put where objects stand."""
        self.put("releases/one/data.parquet", b"")
        with pytest.raises(InputError, match="something stands there already"):
            voile.make_release(ROWS, plan_of(tmp_path), f"{self.address}/{place}")
        assert self.keys() == ["releases/one/data.parquet"]

    def test_evidence_never_goes_to_a_store(self, gate, tmp_path):
        """A study holds what is private."""
        with pytest.raises(InputError, match="stays on this machine"):
            voile.run_study(ROWS, plan_of(tmp_path), f"{self.address}/study")

    @pytest.mark.parametrize("failing", range(1, 6))
    def test_an_upload_that_fails_leaves_nothing(self, gate, tmp_path, failing):
        """Whichever put is refused, no object stays, and the series forgets it."""
        plan, ledger = plan_of(tmp_path, SERIES), tmp_path / "ledger.db"
        puts = []

        def refusing(number, verb, path):
            puts.append(path) if verb == "PUT" else None
            return 403 if verb == "PUT" and len(puts) >= failing else 0

        gate.faults = refusing
        if failing < 5:
            with pytest.raises(InputError, match="refuses access"):
                voile.make_release(ROWS, plan, f"{self.address}/r", ledger=ledger)
            gate.faults = no_fault
            assert self.keys() == []
            assert Ledger(ledger).load("pays") is None
        voile.make_release(ROWS, plan, f"{self.address}/r", ledger=ledger)
        assert read_recounted(f"{self.address}/r").rows == 40
        assert len(Ledger(ledger).load("pays").versions) == 1

    @pytest.mark.parametrize("after", [False, True])
    @pytest.mark.parametrize("step", range(5))
    def test_a_publisher_who_dies_leaves_a_whole_release_or_none(
        self, gate, tmp_path, monkeypatch, step, after
    ):
        """Wherever it ends, readers find all rows or no release; no second one gets in between."""
        obstore = importlib.import_module("obstore")
        calls, real = [], {"put": obstore.put, "delete": obstore.delete}

        def dying(which, *of, **named):
            if len(calls) > step:
                raise _Killed  # nothing is done any more
            calls.append(which)
            if len(calls) > step and not after:
                raise _Killed
            found = real[which](*of, **named)
            if len(calls) > step:
                calls.append("dead")
                raise _Killed
            return found

        with monkeypatch.context() as patch:
            for which in real:
                patch.setattr(obstore, which, functools.partial(dying, which))
            with pytest.raises((_Killed, UncertainUploadError)):
                voile.make_release(ROWS, plan_of(tmp_path), f"{self.address}/r")
        whole = "r/release.json" in self.keys()
        assert whole == (step == 4 or (step == 3 and after))
        if whole:
            assert read_recounted(f"{self.address}/r").rows == 40
        else:
            with pytest.raises(TableError, match=r"no release\.json|no such"):
                voile.read_release(f"{self.address}/r")
        if self.keys():
            with pytest.raises(InputError, match=r"being put there|stands there already"):
                voile.make_release(ROWS, plan_of(tmp_path), f"{self.address}/r")

    def test_a_lost_answer_is_no_failure(self, gate, tmp_path):
        """Where the last object stands though its answer was lost, the release was made."""
        gate.loses = lambda verb, path: verb == "PUT" and path.startswith("r/release.json")
        voile.make_release(ROWS, plan_of(tmp_path), f"{self.address}/r")
        assert read_recounted(f"{self.address}/r").rows == 40

    def test_a_release_that_may_stand_is_not_forgotten(self, gate, tmp_path):
        """Where nobody can say whether the last object stands, its series goes on as if it did."""
        plan, ledger, sent = plan_of(tmp_path, SERIES), tmp_path / "ledger.db", []

        def silent(number, verb, path):
            if path.startswith("r/release.json"):
                sent.append(verb)
                return 503
            return 0

        gate.faults = silent
        with pytest.raises(UncertainUploadError, match="may stand"):
            voile.make_release(ROWS, plan, f"{self.address}/r", ledger=ledger)
        history = Ledger(ledger).load("pays")
        assert history is not None
        assert len(history.versions) == 1

    def test_what_goes_up_in_parts_is_whole_or_not_there(self, gate, tmp_path, monkeypatch):
        """A large object of which a part is refused stays nowhere; else it has all its bytes."""
        monkeypatch.setattr(remote, "_IN_ONE_REQUEST", 1 << 20)
        rows, place = random.Random(1).randbytes(12 << 20), RemotePlace.of(f"{self.address}/r")
        (tmp_path / "ready").mkdir()
        (tmp_path / "ready" / "data.parquet").write_bytes(rows)
        (tmp_path / "ready" / "release.json").write_text("{}")
        parts = []

        def refusing(number, verb, path):
            if verb != "PUT" or not path.startswith("r/data"):
                return 0
            parts.append(path)
            return 403 if len(parts) >= 2 else 0

        gate.faults = refusing
        with pytest.raises(InputError, match="refuses access"):
            place.put_release(tmp_path / "ready")
        gate.faults = no_fault
        assert self.keys() == []
        place.put_release(tmp_path / "ready")
        assert len(parts) > 1
        assert bytes(remote.obstore.get(place.store(), "r/data.parquet").bytes()) == rows

    def test_two_publishers_do_not_mix(self, gate, tmp_path):
        """Who comes second to a place changes nothing of what the first put there."""
        folder = tmp_path / "ready"
        voile.make_release(ROWS, plan_of(tmp_path), folder)
        place = RemotePlace.of(f"{self.address}/r")
        place.put_release(folder)
        before = read_recounted(f"{self.address}/r").release_id
        other = tmp_path / "other"
        voile.make_release(ROWS, plan_of(tmp_path), other)
        with pytest.raises(InputError, match="something stands there already"):
            place.put_release(other)
        assert read_recounted(f"{self.address}/r").release_id == before

    def test_a_document_names_no_file_outside_its_place(self, gate, tmp_path):
        """A release that somebody else made leads no reader to other files of this machine."""
        self.put("evil/release.json", json.dumps({"data": [{"file": "../../gone.csv"}]}).encode())
        with pytest.raises(VoileError):
            voile.read_release(f"{self.address}/evil")
        assert not list(tmp_path.rglob("gone.csv"))

    def test_a_copy_is_for_its_owner_alone_and_goes(self, gate, tmp_path):
        """Private rows on this disk are readable by nobody else, and are removed."""
        self.put("people.parquet", parquet_of(tmp_path))
        with brought(f"{self.address}/people.parquet") as here:
            assert here.exists()
            (top,) = [each for each in here.parents if each.name.startswith("voile-remote-")]
            assert top.stat().st_mode & 0o077 == 0
        assert not here.exists()

    def test_a_disk_that_has_no_room_for_a_download_is_said(self, gate, tmp_path, monkeypatch):
        """Before the first byte where the size tells it, or while bytes come; none stays."""
        self.put("people.parquet", parquet_of(tmp_path))
        voile.make_release(ROWS, plan_of(tmp_path), f"{self.address}/r")
        with monkeypatch.context() as patch:
            patch.setattr(remote.shutil, "disk_usage", lambda folder: SimpleNamespace(free=3))
            for read, name in ((rows_in_memory, "people.parquet"), (read_recounted, "r")):
                with pytest.raises(TableError, match=r"has room for 0\.0; set TMPDIR"):
                    read(f"{self.address}/{name}")
        real = importlib.import_module("obstore").get

        def filling(store, key, **options):
            def stream(min_chunk_size):
                yield b"PAR1"
                raise OSError(errno.ENOSPC, "No space left on device")

            return SimpleNamespace(meta=real(store, key, **options).meta, stream=stream)

        monkeypatch.setattr(importlib.import_module("obstore"), "get", filling)
        with pytest.raises(TableError, match="was filled up while it was read"):
            rows_in_memory(f"{self.address}/people.parquet")
        assert not list(tmp_path.glob("voile-remote-*/**/people.parquet"))

    @pytest.mark.slow
    def test_a_publisher_that_is_killed_leaves_a_whole_release_or_none(self, gate, tmp_path):
        """Fifty kills at requests drawn by a seed: no reader meets a part, and nothing is lost.

        Half of the killed requests reach the store all the same.  What is published afterwards, and
        what stands whole, has the rows of the release on disk.
        """
        source, plan = parquet_of(tmp_path), plan_of(tmp_path)
        self.put("people.parquet", source)
        (tmp_path / "people.parquet").write_bytes(source)
        voile.make_release(tmp_path / "people.parquet", plan, tmp_path / "disk", seed=1)
        wanted = _rows_of(tmp_path / "disk")
        command = [sys.executable, "-m", "voile", "publish", f"{self.address}/people.parquet"]
        command += ["--plan", str(plan), "--seed", "1", "--out"]
        seen, whole, draws = [], 0, random.Random(40)
        gate.faults = lambda number, verb, path: seen.append(verb) or 0
        subprocess.run([*command, f"{self.address}/first"], check=True, capture_output=True)
        requests = len(seen)
        assert requests > 3
        for kill in range(self.kills):
            place, left, lost = (
                f"{self.address}/r{kill}",
                [1 + kill % requests],
                draws.random() < 0.5,
            )
            child = subprocess.Popen([*command, place], stderr=subprocess.DEVNULL)

            def dying(number, verb, path, left=left, lost=lost, child=child):
                left[0] -= 1
                if left[0] == 0:
                    child.kill()
                    return 500 if lost else 0
                return 0

            gate.faults = dying
            child.wait(timeout=60)
            gate.faults = no_fault
            try:
                found = _rows_of(place)
            except TableError:
                voile.make_release(f"{self.address}/people.parquet", plan, f"{place}-again", seed=1)
                found = _rows_of(f"{place}-again")
            else:
                whole += 1
            assert found.equals(wanted), kill
        assert 0 < whole < self.kills, "kills before and after the last put"
        assert rows_in_memory(f"{self.address}/people.parquet")[0].equals(ROWS)

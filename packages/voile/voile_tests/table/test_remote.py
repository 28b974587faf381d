"""Tables and releases in an object store, against a server of this machine."""

from __future__ import annotations

import errno
import functools
import http.client
import http.server
import importlib
import json
import random
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import voile
from voile.ledger import Ledger
from voile.release.recounting import read_recounted
from voile.table import remote
from voile.table.lakes import LakeTable, brought
from voile.table.opening import rows_in_memory
from voile.table.remote import RemotePlace, UncertainUploadError, is_remote
from voile_base.errors import InputError, TableError, VoileError
from voile_testing.processes import wait_until

HAS_STORE = all(find_spec(name) for name in ("obstore", "moto", "boto3", "flask"))
needs_store = pytest.mark.skipif(
    not HAS_STORE,
    reason="obstore and moto's server are not installed (voile[remote], moto[server])",
)
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
        faults = self.server.faults
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests += 1
        status = faults(self.server.requests, self.command, self.path)
        if status:
            self._answer(status, {}, b"<Error><Code>Planted</Code></Error>")
            return
        address = self.server.store.removeprefix("http://")
        with closing(http.client.HTTPConnection(address, timeout=20)) as store:
            headers = {n: v for n, v in self.headers.items() if n.lower() != "connection"}
            store.request(self.command, self.path, body or None, headers)
            answer = store.getresponse()
            self._answer(answer.status, answer.headers, answer.read())

    def _answer(self, status, headers, body):
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


def _no_fault(number, verb, path):
    return 0


@pytest.fixture(scope="module", name="moto")
def moto_fixture():
    if not HAS_STORE:
        pytest.skip("obstore and moto's server are not installed (voile[remote], moto[server])")
    server = importlib.import_module("moto.server").ThreadedMotoServer(
        ip_address="127.0.0.1", port=0, verbose=False
    )
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(name="gate")
def gate_fixture(moto, monkeypatch, tmp_path):
    """An empty bucket behind a gate, and the environment that leads there."""
    gate = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gate)
    gate.store, gate.faults, gate.requests = moto, _no_fault, 0
    threading.Thread(target=gate.serve_forever, daemon=True).start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{gate.server_port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "TMPDIR": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    for verb, path in (("POST", "/moto-api/reset"), ("PUT", "/bucket")):
        asked = urllib.request.Request(moto + path, method=verb)
        urllib.request.urlopen(asked, timeout=20).close()
    monkeypatch.setattr(remote, "_RETRIES", {**remote._RETRIES, "max_retries": 3})
    yield gate
    gate.shutdown()
    gate.server_close()


def _put(gate, key, data):
    options = {"endpoint": gate.store, "client_options": {"allow_http": True}}
    store = remote.stores.from_url("s3://bucket", **options)
    remote.obstore.put(store, key, data, use_multipart=False)


def _keys():
    return sorted(
        one["path"] for one in remote._listed(RemotePlace.of("s3://bucket/x").store(), "")
    )


def _parquet(tmp_path, frame=ROWS):
    file = tmp_path / "made.parquet"
    frame.write_parquet(file)
    return file.read_bytes()


def _plan(tmp_path, text=PLAN):
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    return plan


@pytest.mark.parametrize(
    "address",
    [
        f"s3://somebody:{SECRET}@bucket/x.csv",
        f"s3://{SECRET}@bucket/x.csv",
        f"https://user:{SECRET}@host/x.csv",
        f"https://host/x.csv?X-Amz-Signature={SECRET}",
        f"abfss://c@account.dfs.core.windows.net/x.csv?sig={SECRET}",
        f"abfss://user:{SECRET}@account.dfs.core.windows.net/x.csv",
    ],
)
def test_an_address_with_a_credential_is_refused_and_not_repeated(address):
    """Shells and logs keep addresses, so none may hold a secret, and no message has it."""
    with pytest.raises(InputError, match="holds a password or a signature") as caught:
        RemotePlace.of(address)
    assert SECRET not in str(caught.value)


def test_addresses_are_known_by_their_scheme_also_as_paths(tmp_path, monkeypatch):
    """A path that lost a slash is still the address; what stands on this disk is none."""
    assert is_remote("s3://bucket/x.csv")
    assert is_remote(Path("s3://bucket/x.csv"))
    assert str(RemotePlace.of(Path("s3://bucket/a/b.csv"))) == "s3://bucket/a/b.csv"
    assert not is_remote("C:/people.csv")
    assert not is_remote(ROWS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:" / "bucket").mkdir(parents=True)
    (tmp_path / "s3:" / "bucket" / "x.csv").touch()
    assert not is_remote("s3:/bucket/x.csv")


def test_private_rows_cross_no_network_unencrypted():
    """Of http only this machine itself is read."""
    with pytest.raises(InputError, match="use https://"):
        RemotePlace.of("http://example.org/people.csv")


def test_without_the_library_the_extra_is_named(monkeypatch):
    """Who has not installed the extra is told which."""
    monkeypatch.setattr(remote, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"voile\[remote\]"):
        RemotePlace.of("s3://bucket/x.csv").store()


def test_a_file_of_a_web_server_is_read(tmp_path):
    """What stands at an address of the web is read like a file of the same name."""
    if not HAS_STORE:
        pytest.skip("obstore is not installed (voile[remote])")
    (tmp_path / "served").mkdir()
    ROWS.write_csv(tmp_path / "served" / "people.csv")
    handler = functools.partial(_Quiet, directory=str(tmp_path / "served"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        frame, _ = rows_in_memory(f"http://127.0.0.1:{server.server_port}/people.csv")
        assert frame["pay"].to_list() == ROWS["pay"].to_list()
        with pytest.raises(TableError, match="there is no such object"):
            rows_in_memory(f"http://127.0.0.1:{server.server_port}/nobody.csv")
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *of):
        """Say nothing."""


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_table_in_a_store_is_published_as_one_on_disk(gate, tmp_path, engine):
    """With one seed the releases of an object, and of a file, have the same rows."""
    pytest.importorskip(engine)
    _put(gate, "people.parquet", _parquet(tmp_path))
    plan = _plan(tmp_path)
    made = [
        voile.make_release(source, plan, tmp_path / f"release-{n}", seed=1, engine=engine)
        for n, source in enumerate([tmp_path / "made.parquet", "s3://bucket/people.parquet"])
    ]
    assert [each.release.rows for each in made] == [40, 40]
    names = [next((tmp_path / f"release-{n}").glob("data*")).read_bytes() for n in range(2)]
    assert names[0] == names[1]
    assert not list(tmp_path.glob("voile-remote-*"))


def test_patterns_and_prefixes_name_several_objects(gate, tmp_path):
    """Objects that a pattern names, or that stand right below a prefix, are one table."""
    for part in range(3):
        rows = ROWS.slice(10 * part, 10)
        _put(gate, f"people/part-{part}.parquet", _parquet(tmp_path, rows))
    _put(gate, "people/deeper/part-9.parquet", _parquet(tmp_path))
    _put(gate, "people/_SUCCESS", b"")
    for address, rows in (
        ("s3://bucket/people", 30),
        ("s3://bucket/people/", 30),
        ("s3://bucket/people/part-*.parquet", 30),
        ("s3://bucket/people/part-[01].parquet", 20),
        ("s3://bucket/people/part-2.parquet", 10),
    ):
        frame, _ = rows_in_memory(address)
        assert frame.height == rows


def test_folders_that_name_values_are_read_from_a_store(gate, tmp_path):
    """Objects below ``sex=f/`` have that value, whatever it holds, also named by a pattern."""
    for name, rows in (("f", ROWS.head(10)), ("%2E%2E%2Fx", ROWS.slice(10, 10))):
        _put(gate, f"people/sex={name}/part-0.parquet", _parquet(tmp_path, rows))
    for address in ("s3://bucket/people", "s3://bucket/people/sex=*/part-*.parquet"):
        frame, _ = rows_in_memory(address)
        assert frame["sex"].value_counts().sort("sex").rows() == [("../x", 10), ("f", 10)]
        assert sorted(frame["pay"]) == ROWS["pay"].head(20).to_list()


def test_a_list_of_objects_that_changes_is_refused(gate, tmp_path):
    """An object that comes while others are read ends the call: it may belong to the table."""
    _put(gate, "people/part-0.parquet", _parquet(tmp_path))

    def growing(number, verb, path):
        if verb == "GET" and path.startswith("/bucket/people/part-0"):
            _put(gate, "people/part-1.parquet", _parquet(tmp_path))
        return 0

    gate.faults = growing
    with pytest.raises(TableError, match="changed while they were read"):
        rows_in_memory("s3://bucket/people")


@pytest.fixture(name="own_store")
def own_store_fixture(gate, monkeypatch):
    """The same in a process of its own: the library of Delta answers no server of this one."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as server:
        try:
            wait_until(lambda: _makes_bucket(f"http://127.0.0.1:{port}"))
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            yield
        finally:
            server.kill()


def _makes_bucket(store):
    try:
        asked = urllib.request.Request(f"{store}/bucket", method="PUT")
        urllib.request.urlopen(asked, timeout=20).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
def test_a_delta_table_in_a_store_is_read_and_put(own_store, tmp_path, capfd):
    """Its latest state is read, a release is put there in one commit, and no secret is said."""
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake("s3://bucket/people", ROWS.to_arrow())
    frame, _ = rows_in_memory("s3://bucket/people")
    assert sorted(frame["pay"]) == ROWS["pay"].to_list()
    voile.make_release("s3://bucket/people", _plan(tmp_path), tmp_path / "r")
    release = voile.read_release(tmp_path / "r")
    table = LakeTable.of("delta:s3://bucket/published")
    rows, said = release.table.to_arrow(), release.guarantee.statement
    assert table.put(rows.to_reader(), release.release_id, said, replacing=False)
    assert not table.put(rows.to_reader(), release.release_id, said, replacing=False)
    assert rows_in_memory("delta:s3://bucket/published")[0].height == 40
    with pytest.raises(TableError, match="no such bucket"):
        rows_in_memory("delta:s3://nobucket/people")
    assert SECRET not in "".join(capfd.readouterr())
    assert not any(SECRET in path.read_text() for path in (tmp_path / "r").glob("*.json"))


def test_a_parted_release_in_a_store_is_whole_or_none(gate, tmp_path):
    """Whichever put is refused, or however a store is full, nothing stays; then all parts stand."""
    table = ROWS.with_columns(sex=pl.Series(["a b", "../x=%"] * 20))
    plan = _plan(tmp_path, PLAN.replace('["age"]', '["age", "sex"]'))
    puts, failing, status = [], [0], [507]

    def refusing(number, verb, path):
        puts.append(path) if verb == "PUT" else None
        return status[0] if verb == "PUT" and len(puts) >= failing[0] else 0

    for failing[0] in range(1, 6):
        puts.clear()
        gate.faults = refusing
        status[0] = 507 if failing[0] % 2 else 403
        with pytest.raises(InputError, match=r"store is full|refuses access"):
            voile.make_release(table, plan, "s3://bucket/r", partition_by=["sex"])
        gate.faults = _no_fault
        assert _keys() == []
    voile.make_release(table, plan, "s3://bucket/r", partition_by=["sex"])
    assert [key for key in _keys() if "/data/" in key] == [
        "r/data/sex=%2E%2E%2Fx%3D%25/part-0.parquet".replace("%2E", "."),
        "r/data/sex=a%20b/part-0.parquet",
    ]
    assert read_recounted("s3://bucket/r").rows == 40


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://nobucket/x.csv", "there is no such bucket"),
        ("s3://bucket/missing.csv", "there is no such object"),
        ("s3://bucket/none-*.csv", "there is no such object"),
    ],
)
def test_what_is_not_there_is_said(gate, address, said):
    """A bucket or an object that is not there is named, without the words of the store."""
    with pytest.raises(TableError, match=said) as caught:
        rows_in_memory(address)
    assert "Error" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_refusals_and_faults_of_the_store_are_said(gate, tmp_path):
    """Access that is refused is told from a store that does not answer; neither is a traceback."""
    _put(gate, "people.parquet", _parquet(tmp_path))
    for status, said in ((403, "the store refuses access"), (503, "answered 503, again and again")):
        gate.faults = lambda number, verb, path, status=status: status
        with pytest.raises(TableError, match=said):
            rows_in_memory("s3://bucket/people.parquet")


def test_credentials_that_lack_are_said(gate, tmp_path, monkeypatch):
    """Where none are found the message says which to set, for reading and for writing."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(TableError, match="no credentials were found") as caught:
        rows_in_memory("s3://bucket/people.parquet")
    assert caught.value.exit_status == 2
    with pytest.raises(InputError, match="no credentials were found"):
        voile.make_release(ROWS, _plan(tmp_path), "s3://bucket/r")


def test_a_busy_store_is_asked_again(gate, tmp_path):
    """What a store refuses for the moment is no fault."""
    _put(gate, "people.parquet", _parquet(tmp_path))
    gate.faults = lambda number, verb, path: 503 if number % 2 else 0
    assert rows_in_memory("s3://bucket/people.parquet")[0].height == 40


def test_an_object_that_changes_while_it_is_read_is_refused(gate, tmp_path):
    """Between the listing and the end of an object its rows must stay the same."""
    _put(gate, "people.parquet", _parquet(tmp_path))

    def changing(number, verb, path):
        if verb == "GET" and path.startswith("/bucket/people.parquet"):
            _put(gate, "people.parquet", _parquet(tmp_path, ROWS.head(5)))
        return 0

    gate.faults = changing
    with pytest.raises(TableError, match="changed while it was read"):
        rows_in_memory("s3://bucket/people.parquet")


def test_a_release_in_a_store_is_read_back(gate, tmp_path):
    """It has its rows, its document and nothing else, and is recounted and queried from there."""
    plan, source = _plan(tmp_path), tmp_path / "made.parquet"
    source.write_bytes(_parquet(tmp_path))
    voile.make_release(source, plan, "s3://bucket/releases/one")
    assert _keys() == [
        f"releases/one/{name}" for name in ("data.parquet", "release.json", "verify.html")
    ]
    assert read_recounted("s3://bucket/releases/one").rows == 40
    total = voile.answer(voile.read_release("s3://bucket/releases/one"), "SUM(pay)")
    assert total.lower == total.upper == ROWS["pay"].sum()
    assert not list(tmp_path.glob("voile-release-*"))


@pytest.mark.parametrize("place", ["releases/one", "releases"])
def test_a_place_that_is_taken_is_refused(gate, tmp_path, place):
    """Nothing is put where objects stand."""
    _put(gate, "releases/one/data.parquet", b"")
    with pytest.raises(InputError, match="something stands there already"):
        voile.make_release(ROWS, _plan(tmp_path), f"s3://bucket/{place}")
    assert _keys() == ["releases/one/data.parquet"]


@pytest.mark.parametrize("place", ["s3://bucket", "gs://bucket/x", "https://host/x"])
def test_places_that_take_no_release_are_refused(gate, tmp_path, place):
    """A bucket as a whole, and stores that are only read, are refused before a row is read."""
    with pytest.raises(InputError, match=r"name a place inside|releases are put to"):
        voile.make_release(ROWS, _plan(tmp_path), place)


def test_evidence_never_goes_to_a_store(gate, tmp_path):
    """A study holds what is private."""
    with pytest.raises(InputError, match="stays on this machine"):
        voile.run_study(ROWS, _plan(tmp_path), "s3://bucket/study")


@pytest.mark.parametrize("failing", range(1, 6))
def test_an_upload_that_fails_leaves_nothing(gate, tmp_path, failing):
    """Whichever put is refused, no object stays, the series forgets it, and the next one goes."""
    plan, ledger = _plan(tmp_path, SERIES), tmp_path / "ledger.db"
    puts = []

    def refusing(number, verb, path):
        puts.append(path) if verb == "PUT" else None
        return 403 if verb == "PUT" and len(puts) >= failing else 0

    gate.faults = refusing
    if failing < 5:
        with pytest.raises(InputError, match="refuses access"):
            voile.make_release(ROWS, plan, "s3://bucket/r", ledger=ledger)
        gate.faults = _no_fault
        assert _keys() == []
        assert Ledger(ledger).load("pays") is None
    voile.make_release(ROWS, plan, "s3://bucket/r", ledger=ledger)
    assert read_recounted("s3://bucket/r").rows == 40
    assert len(Ledger(ledger).load("pays").versions) == 1


class _Killed(BaseException):
    """Ends a publisher where it stands."""


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(5))
def test_a_publisher_who_dies_leaves_a_whole_release_or_none(
    gate, tmp_path, monkeypatch, step, after
):
    """Wherever it ends, readers find all rows or no release, and no second one gets in between."""
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

    for which in real:
        monkeypatch.setattr(obstore, which, functools.partial(dying, which))
    with pytest.raises((_Killed, UncertainUploadError)):
        voile.make_release(ROWS, _plan(tmp_path), "s3://bucket/r")
    monkeypatch.undo()
    _environment(monkeypatch, gate)
    whole = "r/release.json" in _keys()
    assert whole == (step == 4 or (step == 3 and after))
    if whole:
        assert read_recounted("s3://bucket/r").rows == 40
    else:
        with pytest.raises(TableError, match=r"no release\.json|no such"):
            voile.read_release("s3://bucket/r")
    if _keys():
        with pytest.raises(InputError, match=r"being put there|stands there already"):
            voile.make_release(ROWS, _plan(tmp_path), "s3://bucket/r")


def _environment(monkeypatch, gate):
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{gate.server_port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


def test_a_lost_answer_is_no_failure(gate, tmp_path):
    """Where the last object stands though its answer was lost, the release was made."""
    real = []

    def losing(number, verb, path):
        if verb == "PUT" and path.startswith("/bucket/r/release.json") and not real:
            real.append(path)
            return 0
        return 0

    gate.faults = losing
    plain = Gate._answer

    def lost(self, status, headers, body):
        if (
            self.command == "PUT"
            and self.path.startswith("/bucket/r/release.json")
            and status == 200
        ):
            status, headers, body = 503, {}, b""
        plain(self, status, headers, body)

    Gate._answer = lost
    try:
        voile.make_release(ROWS, _plan(tmp_path), "s3://bucket/r")
    finally:
        Gate._answer = plain
    assert read_recounted("s3://bucket/r").rows == 40


def test_a_release_that_may_stand_is_not_forgotten(gate, tmp_path):
    """Where nobody can say whether the last object stands, its series goes on as if it did."""
    plan, ledger, sent = _plan(tmp_path, SERIES), tmp_path / "ledger.db", []

    def silent(number, verb, path):
        if path.startswith("/bucket/r/release.json"):
            sent.append(verb)
            return 503
        return 0

    gate.faults = silent
    with pytest.raises(UncertainUploadError, match="may stand"):
        voile.make_release(ROWS, plan, "s3://bucket/r", ledger=ledger)
    history = Ledger(ledger).load("pays")
    assert history is not None
    assert len(history.versions) == 1


def test_two_publishers_do_not_mix(gate, tmp_path):
    """Who comes second to a place changes nothing of what the first put there."""
    folder = tmp_path / "ready"
    voile.make_release(ROWS, _plan(tmp_path), folder)
    place = RemotePlace.of("s3://bucket/r")
    place.put_release(folder)
    before = read_recounted("s3://bucket/r").release_id
    other = tmp_path / "other"
    voile.make_release(ROWS, _plan(tmp_path), other)
    with pytest.raises(InputError, match="something stands there already"):
        place.put_release(other)
    assert read_recounted("s3://bucket/r").release_id == before


def test_a_document_names_no_file_outside_its_place(gate, tmp_path):
    """A release that somebody else made leads no reader to other files of this machine."""
    _put(gate, "evil/release.json", json.dumps({"data": [{"file": "../../gone.csv"}]}).encode())
    with pytest.raises(VoileError):
        voile.read_release("s3://bucket/evil")
    assert not list(tmp_path.rglob("gone.csv"))


def test_a_copy_is_for_its_owner_alone_and_goes(gate, tmp_path):
    """Private rows on this disk are readable by nobody else, and are removed."""
    _put(gate, "people.parquet", _parquet(tmp_path))
    with brought("s3://bucket/people.parquet") as here:
        assert here.exists()
        (top,) = [each for each in here.parents if each.name.startswith("voile-remote-")]
        assert top.stat().st_mode & 0o077 == 0
    assert not here.exists()


def test_a_disk_that_has_no_room_for_a_download_is_said(gate, tmp_path, monkeypatch):
    """Before the first byte where the size tells it, or while bytes come; none of them stays."""
    _put(gate, "people.parquet", _parquet(tmp_path))
    voile.make_release(ROWS, _plan(tmp_path), "s3://bucket/r")
    with monkeypatch.context() as patch:
        patch.setattr(remote.shutil, "disk_usage", lambda folder: SimpleNamespace(free=3))
        for read in (lambda: rows_in_memory("s3://bucket/people.parquet"), _read_back):
            with pytest.raises(TableError, match=r"has room for 0\.0; set TMPDIR"):
                read()
    real = importlib.import_module("obstore").get

    def filling(store, key, **options):
        def stream(min_chunk_size):
            yield b"PAR1"
            raise OSError(errno.ENOSPC, "No space left on device")

        return SimpleNamespace(meta=real(store, key, **options).meta, stream=stream)

    monkeypatch.setattr(importlib.import_module("obstore"), "get", filling)
    with pytest.raises(TableError, match="was filled up while it was read"):
        rows_in_memory("s3://bucket/people.parquet")
    assert not list(tmp_path.glob("voile-remote-*/**/people.parquet"))


def _read_back():
    read_recounted("s3://bucket/r")


KILLS = 50


@pytest.mark.slow
def test_a_publisher_that_is_killed_leaves_a_whole_release_or_none(gate, tmp_path):
    """Fifty kills at requests drawn by a seed: no reader meets a part, and nothing is lost.

    Half of the killed requests reach the store all the same.  What is published afterwards, and
    what stands whole, has the rows of the release on disk.
    """
    source, plan = _parquet(tmp_path), _plan(tmp_path)
    _put(gate, "people.parquet", source)
    (tmp_path / "people.parquet").write_bytes(source)
    voile.make_release(tmp_path / "people.parquet", plan, tmp_path / "disk", seed=1)
    wanted = _rows_of(tmp_path / "disk")
    command = [sys.executable, "-m", "voile", "publish", "s3://bucket/people.parquet"]
    command += ["--plan", str(plan), "--seed", "1", "--out"]
    seen, whole, draws = [], 0, random.Random(40)
    gate.faults = lambda number, verb, path: seen.append(verb) or 0
    subprocess.run([*command, "s3://bucket/first"], check=True, capture_output=True)
    requests = len(seen)
    assert requests > 3
    for kill in range(KILLS):
        place, left, lost = f"s3://bucket/r{kill}", [1 + kill % requests], draws.random() < 0.5
        child = subprocess.Popen([*command, place], stderr=subprocess.DEVNULL)

        def dying(number, verb, path, left=left, lost=lost, child=child):
            left[0] -= 1
            if left[0] == 0:
                child.kill()
                return 500 if lost else 0
            return 0

        gate.faults = dying
        child.wait(timeout=60)
        gate.faults = _no_fault
        try:
            found = _rows_of(place)
        except TableError:
            voile.make_release("s3://bucket/people.parquet", plan, f"{place}-again", seed=1)
            found = _rows_of(f"{place}-again")
        else:
            whole += 1
        assert found.equals(wanted), kill
    assert 0 < whole < KILLS, "kills before and after the last put"
    assert rows_in_memory("s3://bucket/people.parquet")[0].equals(ROWS)


def _rows_of(release):
    return pl.DataFrame(read_recounted(release).table.to_arrow())

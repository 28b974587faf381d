"""Addresses of stores and of the web, and a store as Amazon makes it, on this machine."""

from __future__ import annotations

import functools
import http.server
import importlib
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

import voile
from voile.table import remote
from voile.table.lakes import LakeTable
from voile.table.opening import rows_in_memory
from voile.table.remote import RemotePlace, is_remote
from voile_base.errors import InputError, TableError
from voile_testing.processes import wait_until
from voile_tests.table.store_contract import (
    ROWS,
    SECRET,
    StoreContract,
    gate_before,
    plan_of,
)

HAS_STORE = all(find_spec(name) for name in ("obstore", "moto", "boto3", "flask"))


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


@pytest.mark.slow
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


def _makes_bucket(store):
    try:
        asked = urllib.request.Request(f"{store}/bucket", method="PUT")
        urllib.request.urlopen(asked, timeout=20).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
class TestAmazon(StoreContract):
    """Moto's server."""

    address = "s3://bucket"

    @pytest.fixture(name="gate")
    def gate_fixture(self, moto, monkeypatch, tmp_path):
        """An empty bucket behind a gate, and the environment that leads there."""
        monkeypatch.setattr(remote, "_RETRIES", {**remote._RETRIES, "max_retries": 3})
        for verb, path in (("POST", "/moto-api/reset"), ("PUT", "/bucket")):
            asked = urllib.request.Request(moto + path, method=verb)
            urllib.request.urlopen(asked, timeout=20).close()
        with gate_before(moto, "/bucket/") as gate:
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
            yield gate

    @pytest.fixture(name="own_store")
    def own_store_fixture(self, gate, monkeypatch):
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

    @pytest.mark.slow
    def test_a_delta_table_in_a_store_is_read_and_put(self, own_store, tmp_path, capfd):
        """Its latest state is read, a release is put there in one commit, and no secret is said."""
        deltalake = pytest.importorskip("deltalake")
        deltalake.write_deltalake("s3://bucket/people", ROWS.to_arrow())
        frame, _ = rows_in_memory("s3://bucket/people")
        assert sorted(frame["pay"]) == ROWS["pay"].to_list()
        voile.make_release("s3://bucket/people", plan_of(tmp_path), tmp_path / "r")
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

    @pytest.mark.slow
    def test_credentials_that_lack_are_said(self, gate, tmp_path, monkeypatch):
        """Where none are found the message says which to set, for reading and for writing."""
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
        with pytest.raises(TableError, match="no credentials were found") as caught:
            rows_in_memory("s3://bucket/people.parquet")
        assert caught.value.exit_status == 2
        with pytest.raises(InputError, match="no credentials were found"):
            voile.make_release(ROWS, plan_of(tmp_path), "s3://bucket/r")

    @pytest.mark.parametrize("place", ["s3://bucket", "gs://bucket/x", "https://host/x"])
    def test_places_that_take_no_release_are_refused(self, gate, tmp_path, place):
        """A bucket as a whole, and stores that are only read, are refused before a row is read."""
        with pytest.raises(InputError, match=r"name a place inside|releases are put to"):
            voile.make_release(ROWS, plan_of(tmp_path), place)

"""A store as Azure makes it, against Azurite on this machine (npm's package ``azurite``)."""

from __future__ import annotations

import base64
import hmac
import os
import shutil
import socket
import subprocess
import urllib.request
from contextlib import closing
from email.utils import formatdate
from importlib.util import find_spec
from pathlib import Path

import pytest

import voile
from voile.table import remote
from voile.table.opening import rows_in_memory
from voile_base.errors import InputError, TableError
from voile_testing.processes import wait_until
from voile_tests.table.store_contract import (
    ROWS,
    SECRET,
    StoreContract,
    gate_before,
    parquet_of,
    plan_of,
)

pytestmark = pytest.mark.slow

ACCOUNT = "office"
KEY = base64.b64encode(SECRET.encode()).decode()


def _program() -> str | None:
    """Azurite's program, of this checkout or of the machine."""
    own = Path(__file__).parents[4] / ".node" / "node_modules" / ".bin"
    return shutil.which("azurite-blob", path=f"{own}{os.pathsep}{os.environ.get('PATH', '')}")


@pytest.fixture(scope="module", name="azurite")
def azurite_fixture():
    program = _program()
    if program is None or find_spec("obstore") is None:
        pytest.skip("Azurite or obstore is not installed (npm install azurite, voile[remote])")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [program, "--blobPort", str(port), "--inMemoryPersistence", "--silent"]
    command += ["--skipApiVersionCheck", "--disableTelemetry"]
    accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, **accounts}, **quiet) as server:
        try:
            store = f"http://127.0.0.1:{port}"
            wait_until(lambda: _asked(store, "bucket", "PUT"))
            yield store
        finally:
            server.kill()


def _asked(store: str, container: str, verb: str) -> bool:
    """Whether the server makes or removes a container; the request is signed with the key."""
    date, version = formatdate(usegmt=True), "2021-08-06"
    unused = 12 * "\n"
    headers = f"x-ms-date:{date}\nx-ms-version:{version}\n"
    text = f"{verb}{unused}{headers}/{ACCOUNT}/{ACCOUNT}/{container}\nrestype:container"
    signature = base64.b64encode(hmac.digest(SECRET.encode(), text.encode(), "sha256")).decode()
    asked = urllib.request.Request(
        f"{store}/{ACCOUNT}/{container}?restype=container",
        method=verb,
        headers={
            "x-ms-date": date,
            "x-ms-version": version,
            "Authorization": f"SharedKey {ACCOUNT}:{signature}",
            "Content-Length": "0",
        },
    )
    try:
        urllib.request.urlopen(asked, timeout=20).close()
    except OSError:
        return False
    return True


class TestAzure(StoreContract):
    """Azurite, found as Azure's own tools find an emulator."""

    address = f"abfss://bucket@{ACCOUNT}.dfs.core.windows.net"
    kills = 20

    @pytest.fixture(name="gate")
    def gate_fixture(self, azurite, monkeypatch, tmp_path):
        """An empty container behind a gate, and the environment that leads there."""
        monkeypatch.setattr(remote, "_RETRIES", {**remote._RETRIES, "max_retries": 3})
        with gate_before(azurite, f"/{ACCOUNT}/bucket/") as gate:
            for name, value in {
                "AZURE_STORAGE_USE_EMULATOR": "true",
                "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{gate.server_port}",
                "AZURE_STORAGE_ACCOUNT_KEY": KEY,
                "TMPDIR": str(tmp_path),
            }.items():
                monkeypatch.setenv(name, value)
            for key in self.keys():
                remote.obstore.delete(remote.RemotePlace.of(self.address).store(), key)
            yield gate

    def test_a_wrong_key_is_refused_and_not_repeated(self, gate, tmp_path, monkeypatch):
        """Reading and writing say that access is refused."""
        self.put("people.parquet", parquet_of(tmp_path))
        wrong = base64.b64encode(b"another-planted-secret").decode()
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", wrong)
        for kind, act in (
            (TableError, lambda: rows_in_memory(f"{self.address}/people.parquet")),
            (InputError, lambda: voile.make_release(ROWS, plan_of(tmp_path), f"{self.address}/r")),
        ):
            with pytest.raises(kind, match="the store refuses access") as caught:
                act()
            assert wrong not in str(caught.value)

"""What the service stands on fails under load, and comes back: over HTTP, nobody loses a report.

While it is away, trackers are told by a problem that they may try again; afterwards the service
goes on by itself.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from share_tests.chain.anvil import Anvil
from share_tests.service.load import SECOND, Load, admitted, check_kept, loaded
from share_tests.service.process import Process, set_up
from voile_share.chain import (
    ContractAccount,
    Deployment,
    TransactionTerms,
    address_of,
    audit,
    deploy,
    published,
    signer,
)
from voile_share.service.on_chain import KEY
from voile_share.store import PostgresStore, SQLiteStore
from voile_testing.processes import PostgresServer, wait_until

pytestmark = pytest.mark.slow

# The first account of every node for development: its key is in the manuals.
RICH = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"


@contextmanager
def running(folder: Path, **more) -> Iterator[Process]:
    """A service, which ends in order."""
    service = Process(folder, **more)
    try:
        yield service
    except BaseException:
        service.end()
        raise
    assert service.end() == 0


def check_failures(load: Load) -> None:
    """Who was not acknowledged was told why, and when to try again; nobody was left waiting."""
    assert load.unanswered == []
    assert load.failed, "nothing failed, so that nothing was tried"
    for answer in load.failed:
        kind = answer.headers["content-type"]
        assert (answer.status, kind) == (503, "application/problem+json")
        assert json.loads(answer.text)["reason"] in {"store-unavailable", "busy"}
        assert int(answer.headers["retry-after"]) > 0
    assert "fault of Voile" not in load.service.log
    assert "Traceback" not in load.service.log


# PostgreSQL


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


def test_postgresql_is_killed_under_load(tmp_path, postgres):
    """Three times SIGKILL of PostgreSQL: 503 meanwhile, then all goes on, and nothing is lost."""
    token = set_up(tmp_path / "s", f'[store]\nurl = "{postgres.url()}"\n{SECOND}')
    with running(tmp_path / "s") as service, service.client(token) as http:
        trucks = admitted(http, 6)
        with loaded(service, trucks) as load:
            load.wait_for(200)
            for _ in range(3):
                postgres.kill()
                load.wait_for(503)
                assert http.get("/api/v1/trucks").json()["reason"] == "store-unavailable"
                postgres.start()
                load.wait_for(200)
        assert http.get("/api/v1/trucks").status_code == 200
    check_failures(load)
    with closing(PostgresStore.open(postgres.url())) as store:
        check_kept(store, trucks, load.taken)


# The node of the chain


def on_chain(folder: Path, node: Anvil) -> tuple[str, Deployment]:
    """Set up a service that publishes by a contract of its own; the company's token."""
    operator, terms = signer(bytes.fromhex(RICH)), TransactionTerms(poll=0.1)
    made = deploy(node.chain, operator, terms)
    ContractAccount(node.chain, made, operator, terms).certify(address_of(operator))
    node.wait_until_kept()
    table = (
        f'[chain]\nurl = "{node.url}"\nchain = {made.chain}\nblock = {made.block}\n'
        f'contract = "0x{made.address.hex()}"\npoll = 0.1\npatience = 3\nraise_after = 2\n'
    )
    token = set_up(folder, SECOND)
    (folder / "share.toml").write_text(SECOND + table)
    (folder / KEY).write_text(RICH)
    (folder / KEY).chmod(0o600)
    return token, made


def test_the_node_is_killed_under_load(tmp_path):
    """Three times SIGKILL of the node, which forgets its last second: the chain has all, once.

    What the node had not written, reports and registrations of trucks, is sent again without hands.
    """
    (tmp_path / "node").mkdir()
    with Anvil(tmp_path / "node") as node:
        token, place = on_chain(tmp_path / "s", node)
        with running(tmp_path / "s") as service, service.client(token) as http:
            trucks = admitted(http, 3)
            with loaded(service, trucks) as load:
                load.wait_for(200)  # until then they are being registered
                for _ in range(3):
                    node.kill()
                    load.wait_for(503)
                    node.start()
                    load.wait_for(200)
            for tracker, (truck, card) in trucks.items():
                check_on_chain(node, place, truck, card, of(tracker, load.taken))
    check_failures(load)


def of(tracker: str, taken: list[tuple[str, int]]) -> set[int]:
    """The slots that one tracker was acknowledged."""
    return {slot for token, slot in taken if token == tracker}


def check_on_chain(
    node: Anvil, place: Deployment, truck: str, card: bytes, acknowledged: set[int]
) -> None:
    """Wait until the service has sent all again; then every report is there once, in order."""
    assert acknowledged, "this tracker was never answered"
    found: list[int] = []

    def are_found() -> bool:
        there = published(node.chain, place, bytes.fromhex(truck))
        found[:] = [one.at.slot for one in there]
        return acknowledged <= set(found)

    wait_until(are_found, "acknowledged reports are not on the chain")
    assert len(set(found)) == len(found)
    assert [one.number for one in audit(node.chain, place, card)] == list(range(len(found)))


# The disk


@dataclass
class Disk:
    """The disk of a service: ``fill`` leaves no room on it, ``clear`` makes some."""

    folder: Path
    inside: tuple[object, ...] = ()

    def reached(self, service: Process) -> Path:
        """The folder of the service, as this process sees it."""
        return self.folder

    def fill(self, service: Process) -> None:
        raise NotImplementedError

    def clear(self, service: Process) -> None:
        raise NotImplementedError


class Bounded(Disk):
    """Files that may not grow, the log among them: what a quota does."""

    def fill(self, service: Process) -> None:
        _, hard = resource.prlimit(service.number, resource.RLIMIT_FSIZE)
        resource.prlimit(service.number, resource.RLIMIT_FSIZE, (1, hard))

    def clear(self, service: Process) -> None:
        _, hard = resource.prlimit(service.number, resource.RLIMIT_FSIZE)
        resource.prlimit(service.number, resource.RLIMIT_FSIZE, (hard, hard))


class Small(Disk):
    """A file system of 8 MB in memory, which the service alone sees."""

    def reached(self, service: Process) -> Path:
        return Path(f"/proc/{service.number}/root/{self.folder}")

    def fill(self, service: Process) -> None:
        filler = os.open(self.reached(service) / "filler", os.O_WRONLY | os.O_CREAT)
        try:
            for size in (65536, 1):
                with suppress(OSError):
                    while True:
                        os.write(filler, bytes(size))
            with pytest.raises(OSError, match="No space left"):
                os.write(filler, bytes(1))
        finally:
            os.close(filler)

    def clear(self, service: Process) -> None:
        (self.reached(service) / "filler").unlink()


def bounded_disk(folder: Path) -> Disk:
    return Bounded(folder)


def small_disk(folder: Path) -> Disk:
    """Skips the test where no file system may be mounted."""
    place = folder.with_name("disk")
    place.mkdir()
    mount = f"mount -t tmpfs -o size=8m voile {place}"
    make = ("unshare", "--map-root-user", "--mount", "sh", "-c")
    try:
        subprocess.run([*make, mount], check=True, capture_output=True)
    except (subprocess.CalledProcessError, OSError):
        pytest.skip("no file system can be mounted here (unshare, mount)")
    copied = f'{mount} && cp -a "$0" {place}/s && exec "$@"'
    return Small(place / "s", (*make, copied, folder))


@pytest.mark.parametrize("disk_of", [bounded_disk, small_disk])
def test_the_disk_is_full_for_a_while(tmp_path, disk_of):
    """Without room reports get 503 and reads go on; with room all goes on, and nothing is lost."""
    token = set_up(tmp_path / "s", SECOND)
    disk = disk_of(tmp_path / "s")
    with running(disk.folder, inside=disk.inside) as service, service.client(token) as http:
        trucks = admitted(http, 6)
        truck, _ = next(iter(trucks.values()))
        made = http.post(f"/api/v1/trucks/{truck}/links", json={"hours": 1}).json()
        with loaded(service, trucks) as load, service.client(made["link"]) as reader:
            load.wait_for(200)
            for _ in range(2):
                disk.fill(service)
                load.wait_for(503)
                unready = http.get("/readyz")
                assert (unready.status_code, unready.json()["reason"]) == (503, "store-unavailable")
                refused = http.post("/api/v1/trucks", json={})
                assert (refused.status_code, refused.json()["reason"]) == (503, "store-unavailable")
                last = max(slot for _, slot in load.taken)
                assert reader.get(f"/api/v1/slots/{last}").content
                assert reader.get("/api/v1/card").status_code == 200
                assert len(http.get("/api/v1/trucks").json()["trucks"]) == len(trucks)
                disk.clear(service)
                load.wait_for(200)
                assert http.get("/readyz").status_code == 200
        kept = copied(disk.reached(service) / "share.db", tmp_path / "kept.db")
    check_failures(load)
    with closing(SQLiteStore.open(kept)) as store:
        check_kept(store, trucks, load.taken)


def copied(store: Path, to: Path) -> Path:
    """A copy of a store to which nobody writes now."""
    for end in ("", "-wal"):
        shutil.copyfile(f"{store}{end}", f"{to}{end}")
    return to

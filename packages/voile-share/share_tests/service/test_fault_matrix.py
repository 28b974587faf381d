"""Twelve faults of a service: what the device, the operator and the metrics are told, and the cure.

The same table stands in docs/operations.md.  Faults of processes, of real disks and of databases
that are killed are in ``test_process`` and ``test_faults``.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from share_tests.scene import Scene
from share_tests.service.server import LAVISH, Service, serving
from share_tests.service.test_telemetry import TOKEN
from voile_share.platform import Settings
from voile_share.service.operator.overview import Overview
from voile_share.service.options import Options, Rate, Telemetry
from voile_testing.plugin import ROOT
from voile_testing.processes import wait_until

PAGE = ROOT / "docs" / "operations.md"
TWO_SLOTS = 600


@dataclass
class Case:
    """A service with one truck that reports, and its tracker."""

    service: Service
    http: object
    company: object
    truck: str
    token: str
    more: dict = field(default_factory=dict)

    def send(self, late: float = 0.0, token: str = "", **query):
        given = {"id": "truck-7", "lat": "52.01", "lon": "4.36"}
        if late is not None:
            given["timestamp"] = f"{self.service.now + late:.0f}"
        headers = {"authorization": f"Bearer {token or self.token}"}
        return self.http.get("/ingest", params={**given, **query}, headers=headers)

    def turn(self, seconds: float) -> None:
        self.service.scene.clock.now += seconds


def nothing(case: Case) -> None:
    """No cure is needed but a right message."""


def clock_was_ahead(case: Case) -> None:
    case.turn(40 * 86_400)
    assert case.send(None).headers["voile-outcome"] == "published"
    case.turn(-40 * 86_400)


def set_back(case: Case) -> None:
    case.service.scene.platform.set_back(bytes.fromhex(case.truck))


def spend(case: Case) -> None:
    while case.send().headers["voile-outcome"] == "published":
        case.service.next_slot()


def next_day(case: Case) -> None:
    case.turn(86_400)


def revoke(case: Case) -> None:
    platform = case.service.scene.platform
    company = platform.company_of(case.company.token)
    platform.revoke_device(company, bytes.fromhex(case.truck), "truck-7")


def issue(case: Case) -> None:
    made = case.company.made(f"/trucks/{case.truck}/devices", {"device": "truck-7"})
    case.token = made["token"]


def lock(case: Case) -> None:
    engine = case.service.scene.store._engine
    engine._writer._connection.execute("PRAGMA busy_timeout = 50")
    case.more["holder"] = holder = sqlite3.connect(
        case.service.scene.folder / "share.db", isolation_level=None, check_same_thread=False
    )
    holder.execute("BEGIN IMMEDIATE")


def unlock(case: Case) -> None:
    case.more["holder"].close()


def fill(case: Case) -> None:
    """The file may not grow: as by a full disk, SQLite says SQLITE_FULL."""
    writer = case.service.scene.store._engine._writer._connection
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {pages}")


def make_room(case: Case) -> None:
    case.service.scene.store._engine._writer._connection.execute("PRAGMA max_page_count = 1000000")


def move(case: Case) -> None:
    store = case.service.scene.folder / "share.db"
    os.rename(store, store.with_suffix(".away"))


def put_back(case: Case) -> None:
    store = case.service.scene.folder / "share.db"
    os.rename(store.with_suffix(".away"), store)


def hurry(case: Case) -> None:
    while case.send().status_code != 429:
        pass


@dataclass(frozen=True)
class Fault:
    """A fault, what is seen of it, and the cure."""

    name: str
    begin: Callable[[Case], object]
    send: dict
    status: int
    outcome: str
    operator: str
    """Words of a notice, or of the truck's row on the operator's page."""
    cure: Callable[[Case], object]
    settings: dict = field(default_factory=dict)
    device: Rate | None = None


_BUDGET = {"budget": 6.0, "mechanism": "correlated-gaussian"}
_QUICK = Rate(2, 3)
FAULTS = (
    Fault("clock of the service was ahead", clock_was_ahead, {}, 409, "truck-ahead",
          "take the report back by voile share set-back", set_back),
    Fault("clock of a tracker ahead", nothing, {"late": 3_600}, 422, "time-in-the-future",
          "set the clock of the tracker", nothing),
    Fault("clock of a tracker behind", nothing, {"late": -86_400}, 202, "behind",
          "set the clock of the tracker", nothing),
    Fault("clock of a tracker far behind", nothing, {"late": -9 * 86_400}, 202, "time-too-old",
          "set the clock of the tracker", nothing),
    Fault("budget spent", spend, {}, 202, "budget-spent", "see budget under [platform]", next_day,
          _BUDGET),
    Fault("wrong token", nothing, {"token": "a" * 32}, 401, "token-refused", "issue another",
          nothing),
    Fault("token revoked", revoke, {}, 401, "token-refused", "issue another", issue),
    Fault("unknown device", nothing, {"id": "truck-8"}, 401, "token-refused", "issue another",
          nothing),
    Fault("tracker without a position", nothing, {"valid": "false"}, 202, "no-fix",
          "does not know where it is", nothing),
    Fault("tracker sends too often", hurry, {}, 429, "too-many-requests", "[rates] of share.toml",
          nothing, device=_QUICK),
    Fault("store locked", lock, {}, 503, "store-unavailable", "another process", unlock),
    Fault("disk full", fill, {}, 503, "store-unavailable", "make room", make_room),
    Fault("store taken away", move, {}, 503, "store-unavailable", "put it back", put_back),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_fault_is_shown_to_all_and_cured(tmp_path, fault):
    """Device, operator and metrics hear within two slots; nothing is said to be taken; then on."""
    (tmp_path / "metrics.token").write_text(TOKEN)
    (tmp_path / "metrics.token").chmod(0o600)
    telemetry = Telemetry(metrics_token_file=str(tmp_path / "metrics.token"))
    rates = LAVISH if fault.device is None else replace(LAVISH, device=fault.device)
    (tmp_path / "s").mkdir()
    scene = Scene(tmp_path / "s", Settings(**fault.settings))
    chosen = Options(port=0, rates=rates)
    with (
        serving(tmp_path, chosen, scene, telemetry=telemetry) as service,
        service.client() as http,
    ):
        company = service.company(http)
        case = Case(service, http, company, *company.truck())
        service.next_slot()
        assert case.send().headers["voile-outcome"] == "published"
        service.next_slot()
        fault.begin(case)
        began, answer = service.now, case.send(**fault.send)
        while fault.begin is fill and answer.status_code == 200:
            service.next_slot()  # what is free in the file is used up first
            began, answer = service.now, case.send()
        seen = answer.status_code, answer.headers["voile-outcome"]
        assert seen == (fault.status, fault.outcome)
        assert fault.operator in " ".join([*service.told, *rows(service)])
        check_metrics(http, fault)
        assert service.now - began <= TWO_SLOTS
        fault.cure(case)
        service.next_slot()
        wait_until(lambda: case.send().headers["voile-outcome"] == "published", "it is not cured")
        assert http.get("/readyz").status_code == 200


def rows(service: Service) -> list[str]:
    """What the operator's page says of trucks."""
    overview = Overview(service.scene.platform, service.scene.store)
    return [f"{one.state}: {one.trouble}" for one in overview.fleet(None).rows]


def check_metrics(http, fault: Fault) -> None:
    text = http.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).text
    assert f'voile_positions_total{{outcome="{fault.outcome}"}}' in text
    status = f'voile_requests_total{{method="GET",route="/ingest",status="{fault.status}"}}'
    assert status in text
    if fault.status == 503:
        assert http.get("/readyz").json()["reason"] == "store-unavailable"


def test_the_table_of_the_documentation_has_these_faults():
    """Each by its name, with what the device is answered."""
    page = PAGE.read_text()
    for fault in FAULTS:
        row = next((line for line in page.splitlines() if line.startswith(f"| {fault.name} |")), "")
        assert f"{fault.status} `{fault.outcome}`" in row, fault.name

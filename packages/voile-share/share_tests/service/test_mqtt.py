"""What devices publish at a real broker becomes reports, waits while we are away, or is refused."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from share_tests.ingest.messages import as_owntracks
from share_tests.scene import Scene
from share_tests.service.mqtt_broker import (
    AEDES,
    KINDS,
    MOSQUITTO,
    Certificates,
    MqttBroker,
    any_broker,
)
from share_tests.service.process import Process
from share_tests.service.server import LAVISH, Service, serving
from voile_share.ingest import Fix
from voile_share.ingest.fixes import LIVE
from voile_share.service import mqtt
from voile_share.service.folder import Configuration, create, open_platform
from voile_share.service.mqtt import Broker
from voile_share.service.options import Options, Rate
from voile_share.store import SQLiteStore, StoreError
from voile_testing.plugin import ROOT, some_slow
from voile_testing.processes import PATIENCE, PostgresServer, wait_until

PLACE = (52.0116234, 4.3571345)
PAGE = ROOT / "docs" / "trackers.md"
_numbers = count()


@pytest.fixture(scope="module", params=some_slow(KINDS, {AEDES}))
def broker(request, tmp_path_factory) -> Iterator[MqttBroker]:
    """Each kind of broker; they differ in the version of the protocol, too."""
    with _running(MqttBroker(request.param, tmp_path_factory.mktemp(request.param))) as started:
        yield started


@contextmanager
def _running(broker: MqttBroker) -> Iterator[MqttBroker]:
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


@pytest.fixture
def fleet(broker: MqttBroker, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(broker, Scene(tmp_path), f"fleet{next(_numbers)}")
    yield made
    made.scene.platform.close()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory) -> Certificates:
    return Certificates.made(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def hurry(monkeypatch) -> None:
    """Failures are tried again soon, and what goes on is not awaited for long."""
    monkeypatch.setattr(mqtt, "_WAITS", (0.1,))
    monkeypatch.setattr(mqtt, "_END_SECONDS", 0.1)


@dataclass
class Fleet:
    """A company's trucks, their phones at a broker, and a service that may come and go."""

    broker: MqttBroker
    scene: Scene
    user: str

    def __post_init__(self) -> None:
        self.company = self.scene.company()

    def truck(self, device: str = "truck-7") -> bytes:
        truck, self.token = self.scene.truck(self.company, f"{self.user}/{device}")
        return truck.truck

    def settings(self, **more) -> Broker:
        given = {
            "host": "127.0.0.1",
            "port": self.broker.port,
            "tls": False,
            "companies": {self.user: self.company.company},
            "client_id": self.user,
            "version": self.broker.version,
        }
        return Broker(**{**given, **more})

    @contextmanager
    def served(self, options: Options | None = None, **more) -> Iterator[Service]:
        """A service that has subscribed."""
        with self.begun(options, **more) as service:
            wait_until(lambda: any("connected" in said for said in service.told))
            yield service

    @contextmanager
    def begun(self, options: Options | None = None, **more) -> Iterator[Service]:
        """A service, which closes the store when it ends; it is opened again."""
        settings = self.settings(**more)
        try:
            with serving(self.scene.folder, options, self.scene, broker=settings) as service:
                yield service
        finally:
            self.scene = self.scene.reopened()

    def publish(
        self,
        device: str = "truck-7",
        payload: bytes | None = None,
        *,
        user: str | None = None,
        retain: bool = False,
        identity: tuple[str, str] | None = None,
    ) -> None:
        """A position, or something else, that a phone publishes."""
        fix = Fix(f"{self.user}/{device}", *PLACE, self.scene.clock.now, accuracy=8.0)
        payload = as_owntracks(fix) if payload is None else payload
        topic = f"owntracks/{user or self.user}/{device}"
        publish(self.broker, topic, payload, retain=retain, identity=identity)

    def publish_slots(self, number: int) -> list[int]:
        """A position in each of the next slots; their times."""
        slots = []
        for _ in range(number):
            slots.append(self.next_slot())
            self.publish()
        return slots

    def slots(self, truck: bytes) -> list[int]:
        return [entry.slot for entry in self.scene.store.after(truck, -1, 100)]

    def next_slot(self) -> int:
        seconds = self.scene.settings.slot_seconds
        self.scene.clock.now = (self.scene.clock.now // seconds + 1) * seconds
        return int(self.scene.clock.now)


def publish(
    broker: MqttBroker,
    topic: str,
    payload: bytes,
    *,
    retain: bool = False,
    identity: tuple[str, str] | None = None,
) -> None:
    """What a phone does; the broker has acknowledged it when this returns."""
    phone = Client(CallbackAPIVersion.VERSION2)
    if identity is not None:
        phone.username_pw_set(*identity)
    phone.connect("127.0.0.1", broker.port)
    phone.loop_start()
    try:
        phone.publish(topic, payload, qos=1, retain=retain).wait_for_publish(PATIENCE)
    finally:
        phone.disconnect()
        phone.loop_stop()


def test_positions_become_reports_of_their_trucks(fleet):
    """What two phones publish is reports of their two trucks, whose files hold no exact value."""
    first, second = fleet.truck("truck-7"), fleet.truck("truck-8")
    with fleet.served() as service:
        slot = fleet.next_slot()
        fleet.publish("truck-7")
        fleet.publish("truck-8")
        (later,) = fleet.publish_slots(1)
        wait_until(lambda: fleet.slots(first) == [slot, later])
        wait_until(lambda: fleet.slots(second) == [slot])
    assert service.told == [f"the MQTT broker 127.0.0.1:{fleet.broker.port}: connected"]
    for file in fleet.scene.folder.iterdir():
        for exact in (b"52.0116", round(PLACE[0] * 1e7).to_bytes(4, "big")):
            assert exact not in file.read_bytes()


REFUSED = {
    "a device without a token": ({"device": "truck-9"}, "no token of a device of this name"),
    "a device on two trucks": ({"device": "twice"}, "several trucks have it"),
    "a user of nobody": ({"user": "others"}, "not in [mqtt.companies]"),
    "bytes": ({"payload": b"\xff52.0116"}, "not UTF-8"),
    "broken JSON": ({"payload": b'{"_type": "location", "lat": 52.0116'}, "not JSON"),
    "another format": ({"payload": b'{"lat": 52.0116}'}, "no known format"),
    "a position beyond the pole": (
        {"payload": b'{"_type": "location", "lat": 520116, "lon": 4, "tst": 1}'},
        "beyond a pole",
    ),
    "an encrypted payload": ({"payload": b'{"_type":"encrypted","data":"52.0116"}'}, "encrypted"),
}


def test_what_is_refused_changes_nothing(fleet):
    """Each is told by its reason, holds nothing of the message, and keeps nobody waiting."""
    truck, others = fleet.truck(), [fleet.truck("twice"), fleet.truck("twice")]
    with fleet.served() as service:
        for sent, _ in REFUSED.values():
            fleet.publish(**sent)
        slots = fleet.publish_slots(1)
        wait_until(lambda: fleet.slots(truck) == slots)
        wait_until(lambda: len(service.told) == 1 + len(REFUSED))
        assert not [one for one in others if fleet.slots(one)]
    for _, reason in REFUSED.values():
        assert len([said for said in service.told if reason in said]) == 1, reason
    for said in service.told:
        for secret in ("520116", "52.0116", "truck-9", "twice", "others", fleet.token):
            assert secret not in said


def test_too_much_is_refused(fleet):
    """A payload beyond the bound is not decoded: by version 5 the broker does not even send it."""
    truck = fleet.truck()
    fix = Fix(f"{fleet.user}/truck-7", *PLACE, fleet.scene.clock.now, accuracy=8.0)
    document = {**json.loads(as_owntracks(fix)), "more": "x" * 2 * LIVE.size}
    with fleet.served() as service:
        fleet.publish(payload=json.dumps(document).encode())
        slots = fleet.publish_slots(1)
        wait_until(lambda: fleet.slots(truck) == slots)
    refused = [said for said in service.told if "Content Too Large" in said]
    assert len(refused) == (0 if fleet.broker.version == "5" else 1)


def test_a_device_that_sends_too_much_is_cut_short(fleet):
    """Past its rate messages are dropped and acknowledged; other devices go on."""
    truck, other = fleet.truck(), fleet.truck("truck-8")
    rates = replace(LAVISH, device=Rate(1e-6, 2))
    with fleet.served(Options(port=0, rates=rates)) as service:
        slots = fleet.publish_slots(3)
        fleet.publish("truck-8")
        wait_until(lambda: fleet.slots(other))
        wait_until(lambda: "messages of MQTT were refused: a device sends too many" in service.told)
        assert fleet.slots(truck) == slots[:2]


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_retained_messages_are_ignored(fleet, version):
    """What the broker kept from before is not taken; with the flag, but as it comes, it is."""
    if version > fleet.broker.version:
        pytest.skip("the broker does not speak version 5")
    truck, other = fleet.truck(), fleet.truck("truck-8")
    fleet.publish(retain=True)
    with fleet.served(version=version):
        later = fleet.next_slot()
        fleet.publish("truck-8")
        wait_until(lambda: fleet.slots(other) == [later])
        assert fleet.slots(truck) == []
        fleet.publish(retain=True)
        wait_until(lambda: fleet.slots(truck) == [later])
    fleet.publish(payload=b"", retain=True)


def test_messages_wait_while_the_service_is_away(fleet):
    """What phones publish between two runs of the service fills its slots, in their order."""
    truck = fleet.truck()
    with fleet.served():
        pass
    slots = fleet.publish_slots(3)
    with fleet.served():
        wait_until(lambda: fleet.slots(truck) == slots)


def failing(fleet: Fleet, monkeypatch, slot: int | None = None) -> list[int]:
    """Make the store fail for reports of a slot, or for all, until monkeypatch undoes it.

    Returns how many reports there were each time.
    """
    times: list[int] = []
    works = fleet.scene.store.append

    def append(entries):
        if slot is None or any(entry.slot == slot for entry in entries):
            times.append(len(entries))
            raise StoreError("the disk is full: make room")
        return works(entries)

    monkeypatch.setattr(fleet.scene.store, "append", append)
    return times


def test_no_message_overtakes_another_of_its_device(fleet, monkeypatch):
    """Later positions wait for the one that cannot be stored yet; other devices do not."""
    truck, other = fleet.truck(), fleet.truck("truck-8")
    with fleet.served():
        slot = fleet.next_slot()
        with monkeypatch.context() as patched:
            times = failing(fleet, patched, slot)
            fleet.publish()
            wait_until(lambda: times)
            later = fleet.publish_slots(2)
            fleet.publish("truck-8")
            wait_until(lambda: fleet.slots(other) == later[1:])
            assert fleet.slots(truck) == []
        wait_until(lambda: fleet.slots(truck) == [slot, *later])


@pytest.mark.slow
def test_messages_wait_while_the_store_is_away(fleet, monkeypatch):
    """No message is lost or overtaken by the next of its device, though only two are held."""
    monkeypatch.setattr(mqtt, "_MOST_WAITING", 2)
    truck = fleet.truck()
    with fleet.served() as service:
        with monkeypatch.context() as patched:
            times = failing(fleet, patched)
            slots = fleet.publish_slots(5)
            wait_until(lambda: len(times) > 2)
        wait_until(lambda: fleet.slots(truck) == slots)
    assert "the disk is full: make room" in service.told


def test_what_is_not_durable_is_not_acknowledged(fleet, monkeypatch):
    """A service that ends before it could store a message gets it again when it is back."""
    truck = fleet.truck()
    with monkeypatch.context() as patched:
        times = failing(fleet, patched)
        with fleet.served():
            slots = fleet.publish_slots(1)
            wait_until(lambda: times)
    assert fleet.slots(truck) == []
    with fleet.served():
        wait_until(lambda: fleet.slots(truck) == slots)


def test_the_broker_may_be_started_again(fleet):
    """The service notices that it has gone, and subscribes anew when it is back."""
    truck = fleet.truck()
    with fleet.served() as service:
        fleet.broker.stop()
        wait_until(lambda: any("trying again" in said for said in service.told))
        fleet.broker.start()
        wait_until(lambda: fleet.publish_slots(1) and fleet.slots(truck))


def test_a_broker_that_is_away_does_not_keep_the_service_from_beginning(fleet):
    """It says so, serves, and ends as usual."""
    with fleet.begun(port=1) as service:
        wait_until(lambda: service.told)
        with service.client() as http:
            assert http.get("/healthz").status_code == 200
    reason = "it cannot be reached (Connection refused)"
    assert service.told == [f"the MQTT broker 127.0.0.1:1: {reason}; trying again"]


NO_MQTT = {
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "half an answer": b"\x20\x00",
    "another packet": b"\xf0\x00",
    "a broken message": b"\x20\x02\x00\x00" + b"\x32\x02\x00\xff",
    "a topic that is no text": b"\x20\x02\x00\x00" + b"\x30\x04\x00\x01\xff\x00",
    "nothing": b"",
}


@pytest.mark.slow
@pytest.mark.parametrize("answer", NO_MQTT.values(), ids=NO_MQTT)
def test_whoever_is_no_broker_is_left(tmp_path, answer):
    """Whatever comes instead of MQTT is told, is followed by another attempt, and hurts nobody."""
    attempts: list[bytes] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                with listener.accept()[0] as caller:
                    attempts.append(caller.recv(1000))
                    caller.sendall(answer)

    scene = Scene(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        answering = threading.Thread(target=serve)
        answering.start()
        companies = {"fleet": "0" * 32}
        broker = Broker("127.0.0.1", companies, port=port, tls=False, version="3.1.1")
        with serving(tmp_path, None, scene, broker=broker) as service:
            wait_until(lambda: len(attempts) > 1 and service.told)
            with service.client() as http:
                assert http.get("/healthz").status_code == 200
        listener.shutdown(socket.SHUT_RDWR)
        answering.join(PATIENCE)
    assert any("trying again" in said or "fault of Voile" in said for said in service.told)


@pytest.mark.slow
def test_tls_is_believed_by_its_authority_alone(fleet, tmp_path, certificates):
    """A broker whose certificate nobody vouches for gets neither name nor password."""
    kind = fleet.broker.kind
    (tmp_path / "tls").mkdir()
    with _running(MqttBroker(kind, tmp_path / "tls", certificates)) as broker:
        encrypted = {"host": "localhost", "port": broker.port, "tls": True}
        with fleet.begun(**encrypted) as service:
            wait_until(lambda: service.told)
        assert "its certificate is not believed" in service.told[0]
        with fleet.served(**encrypted, ca_file=str(certificates.authority)):
            pass


def rights(page: str) -> str:
    """The rules of access in the page for operators."""
    (rules,) = [block for block in page.split("```")[1::2] if "pattern write" in block]
    return rules.partition("\n")[2]


@pytest.mark.slow
def test_the_documented_rights_keep_devices_apart(tmp_path):
    """With the rules of docs/trackers.md a device publishes to its own topic and no other."""
    fleet = Fleet(MqttBroker(MOSQUITTO, tmp_path), Scene(tmp_path), "fleet")
    others, truck = fleet.truck("truck-8"), fleet.truck("truck-7")
    phone = ("fleet/truck-7", fleet.token)
    fleet.broker.passwords = {"voile-share": "its own", phone[0]: phone[1]}
    fleet.broker.rights = rights(PAGE.read_text("utf-8"))
    password = tmp_path / "mqtt.password"
    password.touch(mode=0o600)
    password.write_text("its own\n")
    ours = {"user": "voile-share", "password_file": str(password)}
    with _running(fleet.broker):
        with fleet.served(**ours):
            for device in ("truck-8", "truck-7"):
                fleet.publish(device, identity=phone)
            slots = [fleet.scene.settings.slot(fleet.scene.clock.now)]
            wait_until(lambda: fleet.slots(truck) == slots)
            assert fleet.slots(others) == []
        password.write_text("another\n")
        with fleet.begun(**ours) as service:
            wait_until(lambda: service.told)
        assert "it refuses us: Not authorized" in service.told[0]
    fleet.scene.platform.close()


@pytest.mark.slow
def test_a_process_takes_messages_and_writes_none_of_them(tmp_path):
    """``voile share serve`` with a table [mqtt] publishes; neither log nor files tell what came."""
    folder = tmp_path / "s"
    create(folder)
    platform = open_platform(folder, Configuration.read(folder))
    company, _ = platform.open_company("Post of Delft")
    truck, _ = platform.add_truck(company)
    token = platform.add_device(company, truck.truck, "fleet/truck-7")
    platform.close()
    with _running(any_broker(tmp_path)) as broker:
        (folder / "share.toml").write_text(f"""
            [platform]
            slot_seconds = 1
            [mqtt]
            host = "127.0.0.1"
            port = {broker.port}
            tls = false
            version = "{broker.version}"
            [mqtt.companies]
            fleet = "{company.company}"
        """)
        service = Process(folder, environment={"PYTHONASYNCIODEBUG": "1"})
        wait_until(lambda: "connected" in service.log)
        topic = "owntracks/fleet/truck-7"
        publish(broker, topic, as_owntracks(Fix("", *PLACE, time.time())))
        publish(broker, topic, b'{"_type": "location", "lat": 52.0116234, "tst": 1}')
        wait_until(lambda: "was refused" in service.log)
        assert service.end() == 0
    assert len(service.log.splitlines()) == 4
    packed = [round(degrees * 1e7).to_bytes(4, "big") for degrees in PLACE]
    for file in [*folder.iterdir(), tmp_path / "s.log"]:
        for secret in (b"52.0116", b"4.3571", token.encode(), *packed):
            assert secret not in file.read_bytes(), file.name
    with closing(SQLiteStore.open(folder / "share.db")) as store:
        assert store.last(truck.truck) is not None


@pytest.mark.slow
def test_one_worker_of_several_subscribes_and_is_replaced(tmp_path):
    """Two would take the connection from each other; one that dies is followed by another."""
    folder, server = tmp_path / "s", PostgresServer()
    server.start()
    try:
        create(folder)
        store = f'[store]\nurl = "{server.url()}"\n[platform]\nslot_seconds = 1\n'
        (folder / "share.toml").write_text(store)
        platform = open_platform(folder, Configuration.read(folder))
        company, _ = platform.open_company("Post of Delft")
        truck, _ = platform.add_truck(company)
        platform.add_device(company, truck.truck, "fleet/truck-7")
        with _running(any_broker(tmp_path)) as broker:
            table = (
                f'[mqtt]\nhost = "127.0.0.1"\nport = {broker.port}\ntls = false\n'
                f'version = "{broker.version}"\n'
                f'[mqtt.companies]\nfleet = "{company.company}"\n'
            )
            (folder / "share.toml").write_text(store + table)
            service = Process(folder, ("--port", 0, "--workers", 2))
            wait_until(lambda: "connected" in service.log)
            time.sleep(6)  # a worker that ends at once is a fault of the service
            for worker in service.workers():
                os.kill(worker, signal.SIGKILL)
            wait_until(lambda: service.log.count("is replaced") == 2)
            position = as_owntracks(Fix("", *PLACE, time.time()))
            publish(broker, "owntracks/fleet/truck-7", position)
            wait_until(lambda: platform.records(truck.truck, 0, 1))
            assert service.end() == 0
        assert service.log.count(": connected") == 2
        assert "connection was lost" not in service.log
        platform.close()
    finally:
        server.stop()

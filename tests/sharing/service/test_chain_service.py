"""A platform on a chain: positions in, reports out by the link, and read from the chain alone."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.sharing.chain.scenes import QUICK, account
from tests.sharing.scene import Clock, Parties, Scene
from tests.sharing.service.server import Company, own_secrets, serving
from voile import Randomness
from voile.errors import InputError, PlanError
from voile.sharing import protocol
from voile.sharing.chain import (
    ChainError,
    Contract,
    Deployment,
    EmbeddedChain,
    Inclusion,
    Mode,
    Registry,
    RevertedError,
    Signer,
    address_of,
    audit,
    check_anchored,
    deploy,
    published,
    read_published,
)
from voile.sharing.chain.interface import transaction
from voile.sharing.ingest import Request
from voile.sharing.platform import AccessError, Outcome, Platform, Vault
from voile.sharing.service import on_chain
from voile.sharing.service.chain_options import ChainOptions, write_deployment
from voile.sharing.service.folder import Configuration, create, open_platform
from voile.sharing.store import SQLiteStore, StoreError

MODES = ["log", "storage", "anchor"]
URL = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def node() -> EmbeddedChain:
    return EmbeddedChain()


class OnChain(Scene):
    """The scene, over a contract that outlives it."""

    def __init__(self, folder: Path, options: ChainOptions, clock: Clock | None = None) -> None:
        self.options = options
        super().__init__(folder, clock=clock or Clock())

    def __post_init__(self) -> None:
        """As the scene, with another log, and never with the same randomness twice."""
        self.vault = vault_of(self.folder)
        self.store = SQLiteStore.open(self.folder / "share.db")
        given = self.folder, self.options, self.store, self.vault
        self.log, self.fleet = on_chain.open_on_chain(*given)
        self.platform = Platform(
            self.store,
            self.log,
            self.vault,
            self.settings,
            clock=self.clock,
            registrar=self.fleet,
        )

    def reopened(self) -> OnChain:
        self.platform.close()
        return OnChain(self.folder, self.options, self.clock)

    @property
    def deployment(self) -> Deployment:
        return self.options.deployment


def vault_of(folder: Path) -> Vault:
    key = folder / "vault.key"
    return Vault.open(key) if key.exists() else Vault.create(key)


@pytest.fixture
def on(tmp_path, node, monkeypatch):
    """Makes a platform in a mode, over a contract of its own; ``connect`` gives the node."""
    monkeypatch.setattr(on_chain, "connect", lambda url: node)
    scenes = []

    def make(mode: str, **more) -> OnChain:
        key = tmp_path / on_chain.KEY
        key.write_text(account("operator").key.hex().removeprefix("0x") + "\n")
        key.chmod(0o600)
        operator = account("operator")
        node.fund(address_of(operator), 10)
        place = deploy(node, operator, QUICK)
        Registry(node, place, operator, QUICK).certify(address_of(operator))
        options = ChainOptions(
            url=URL,
            chain=place.chain,
            contract=f"0x{place.address.hex()}",
            block=place.block,
            mode=mode,
            **{"poll": 0.02, "patience": 1.0, "raise_after": 0.9, **more},
        )
        scenes.append(OnChain(tmp_path, options))
        return scenes[-1]

    yield make
    for scene in scenes:
        scene.platform.close()


@pytest.mark.parametrize("mode", MODES)
def test_a_position_comes_out_by_the_link_and_stands_on_the_chain(on, node, mode):
    """What the link reads on the platform is what anybody proves with card, contract and node."""
    scene = on(mode)
    company = scene.company()
    truck, token = scene.truck(company)
    scene.platform.settle()
    parties = Parties()
    link = scene.parcel(company, truck, b"3SABCD", parties)
    scene.drive(token, 2)
    number, _ = scene.platform.add_link(company, truck.truck, hours=24)
    opened = scene.platform.link_of(number)
    entries = scene.platform.reports_after(opened, -1, 10)
    assert len(entries) == 2
    now = int(scene.clock.now)
    _, sighting = protocol.Reader(link).read(entries[0].message, now)
    assert sighting is not None
    records = scene.platform.records(truck.truck, 0, 10)
    if mode == Mode.ANCHOR:
        for entry, record in zip(entries, records, strict=True):
            proof = scene.log.inclusion(truck.truck, entry.slot).encode()
            check_anchored(node, scene.deployment, record, Inclusion.decode(proof))
        return
    found = list(published(node, scene.deployment, truck.truck))
    assert [one.message for one in found] == [entry.message for entry in entries]
    assert len(read_published(protocol.Reader(link), found, now).sightings) == 2
    audited = list(audit(node, scene.deployment, scene.platform.card(truck.truck)))
    assert [one.slot for one in audited] == [entry.slot for entry in entries]
    assert [one.number for one in audited] == [0, 1]


def test_an_audit_finds_what_does_not_belong(on, node):
    """An unsigned report, another card, and a truck that nobody registered are found."""
    scene = on("log")
    truck, token = scene.truck(scene.company())
    scene.platform.settle()
    scene.drive(token, 1)
    card = scene.platform.card(truck.truck)
    [honest] = published(node, scene.deployment, truck.truck)
    forged = bytearray(honest.message)
    forged[19:23] = (honest.place.slot + 300).to_bytes(4, "big")
    node.fund(scene.fleet.address(truck.truck), 1)
    sender = scene.fleet.account(truck.truck)
    send(node, scene.deployment, sender, Contract.publish(bytes(forged)))
    steps = audit(node, scene.deployment, card)
    assert next(steps).number == 0
    with pytest.raises(protocol.RejectedError):
        next(steps)
    other = protocol.TruckSecrets(truck.truck, b"s" * 32, b"t" * 32).card().encode()
    with pytest.raises(InputError, match="another card"):
        next(audit(node, scene.deployment, other))
    unknown = protocol.TruckSecrets(b"u" * 16, b"s" * 32, b"t" * 32).card().encode()
    with pytest.raises(InputError, match="no such truck"):
        next(audit(node, scene.deployment, unknown))


def send(node: EmbeddedChain, deployment: Deployment, sender: Signer, data: bytes) -> None:
    """Whatever an account likes to send."""
    mine = address_of(sender)
    fields = {"nonce": node.nonce(mine), "chainId": node.identity(), "gas": 2_000_000}
    made = transaction(fields, deployment.address, data, node.fee())
    assert node.receipt(node.send(bytes(sender.sign_transaction(made).raw_transaction))).succeeded


def test_a_truck_that_is_not_registered_stops_no_other(on, node):
    """Its reports are refused for now, those of others are taken; later its own, too."""
    scene = on("log")
    company = scene.company()
    _, early = scene.truck(company, "early")
    scene.platform.settle()
    woken = []
    scene.platform.when_behind(lambda: woken.append(1))
    late_truck, late = scene.truck(company, "late")
    assert woken == [1]
    futures = [
        scene.platform.receive(token, request(scene, device))
        for token, device in ((early, "early"), (late, "late"))
    ]
    assert futures[0].result(timeout=20).outcome is Outcome.PUBLISHED
    with pytest.raises(RevertedError, match="unregistered") as refusal:
        futures[1].result(timeout=20)
    assert isinstance(refusal.value, StoreError)
    scene.platform.settle()
    assert scene.send(late, device="late") is Outcome.PUBLISHED
    assert len(list(published(node, scene.deployment, late_truck.truck))) == 1


def request(scene: OnChain, device: str) -> Request:
    """A position, now."""
    query = f"id={device}&lat=52.01&lon=4.36&timestamp={scene.clock.now:.0f}"
    return Request(query=query)


@pytest.mark.parametrize("mode", ["log", "anchor"])
def test_what_a_crash_left_behind_is_sent_at_the_next_start(on, node, mode, monkeypatch):
    """A report that was put away, and not sent, is on the chain after a restart, once."""
    scene = on(mode)
    truck, token = scene.truck(scene.company())
    scene.platform.settle()
    scene.drive(token, 1)

    def away(raw: bytes) -> bytes:
        msg = "the node is away"
        raise ChainError(msg)

    with monkeypatch.context() as patched:
        patched.setattr(node, "send", away)
        with pytest.raises(StoreError):
            scene.send(token)
    assert scene.log.waiting() == 1
    again = scene.reopened()
    try:
        again.platform.settle()
        assert again.log.waiting() == 0
        again.clock.now += again.settings.slot_seconds
        assert again.send(token) is Outcome.PUBLISHED
        records = again.platform.records(truck.truck, 0, 10)
        assert len(records) == 3
        if mode == Mode.LOG:
            numbers = [one.number for one in audit(node, again.deployment, truck.card)]
            assert numbers == [0, 1, 2]
    finally:
        again.platform.close()


def test_registration_is_tried_again_until_the_company_is_certified(on, node):
    """While the company is not certified `settle` says so; afterwards trucks publish."""
    scene = on("log")
    operator = account("operator")
    registry = Registry(node, scene.deployment, operator, QUICK)
    registry.withdraw(address_of(operator))
    _, token = scene.truck(scene.company())
    with pytest.raises(RevertedError, match="not-certified"):
        scene.platform.settle()
    with pytest.raises(RevertedError):
        scene.send(token)
    registry.certify(address_of(operator))
    scene.platform.settle()
    assert scene.send(token) is Outcome.PUBLISHED


def test_a_retired_truck_is_retired_on_the_chain(on, node):
    """Its account may not publish any more."""
    scene = on("log")
    company = scene.company()
    truck, _ = scene.truck(company)
    scene.platform.settle()
    contract = Contract(node, scene.deployment)
    assert contract.is_open(truck.truck)
    scene.platform.retire_truck(company, truck.truck)
    scene.platform.settle()
    assert not contract.is_open(truck.truck)
    scene.platform.settle()


def test_accounts_of_trucks_are_filled_within_bounds(on, node):
    """A truck's account is filled to what is said, and again when a quarter is left; no more."""
    scene = on("log", truck_ether=0.002)
    truck, _ = scene.truck(scene.company())
    scene.platform.settle()
    mine = scene.fleet.address(truck.truck)
    assert node.balance(mine) == scene.options.truck_wei
    before = node.balance(address_of(account("operator")))
    scene.fleet._filled = float("-inf")
    scene.platform.settle()
    assert node.balance(mine) == scene.options.truck_wei
    assert node.balance(address_of(account("operator"))) == before


def test_who_fills_accounts_by_hand_is_told_which(on, node):
    """With `fill = false` the error names the account that needs money; other trucks publish."""
    scene = on("log", fill=False)
    company = scene.company()
    poor, _ = scene.truck(company)
    rich, token = scene.truck(company, "rich")
    node.fund(scene.fleet.address(rich.truck), 0.1)
    with pytest.raises(ChainError, match=scene.fleet.address(poor.truck).hex()):
        scene.platform.settle()
    assert scene.send(token, device="rich") is Outcome.PUBLISHED


def test_accounts_are_derived_and_differ(on, node):
    """The account of a truck is the same after a restart, another truck's and vault's is not."""
    scene = on("log")
    one, other = b"1" * 16, b"2" * 16
    first = scene.fleet.address(one)
    assert first != scene.fleet.address(other)
    stored = b"".join(path.read_bytes() for path in scene.folder.iterdir())
    key = bytes(scene.fleet._derived(one).key)
    assert key not in stored
    assert key.hex().encode() not in stored
    assert scene.reopened().fleet.address(one) == first


@pytest.mark.parametrize("mode", MODES)
def test_trucks_with_keys_of_their_own(on, node, mode):
    """They are refused where their reports could not be sent, and anchored where they can."""
    scene = on(mode)
    company = scene.company()
    secrets = own_secrets(Randomness.seeded(9))
    card = secrets.card().encode()
    if mode != Mode.ANCHOR:
        with pytest.raises(AccessError, match="anchor") as refusal:
            scene.platform.add_truck(company, card)
        assert refusal.value.reason == "own-keys"
        assert scene.platform.trucks(company) == []
        return
    truck, _ = scene.platform.add_truck(company, card)
    scene.platform.settle()
    slot = scene.settings.slot(scene.clock.now)
    place = tuple(protocol.Position(52.0, 4.3, slot, 2.0**-level) for level in (6, 8, 10))
    content = protocol.Content(place, [], room=30)
    _, report = protocol.Publisher.new(secrets).publish(slot, content, Randomness.seeded(2))
    assert scene.platform.publish(truck, report).result(timeout=20) == "new"
    proof = scene.log.inclusion(truck.truck, slot)
    [record] = scene.platform.records(truck.truck, 0, 5)
    check_anchored(node, scene.deployment, record, proof)


# The folder


def test_records_do_not_begin_again_when_the_log_changes(on, tmp_path, node):
    """A store with reports does not go over to the chain, nor reports on the chain to the store."""
    scene = on("log")
    _, token = scene.truck(scene.company())
    scene.platform.settle()
    scene.drive(token, 1)
    with pytest.raises(InputError, match="on a chain"):
        on_chain.check_place(tmp_path, None, scene.store)
    with pytest.raises(InputError, match="on a chain"):
        on_chain.check_place(tmp_path, replace(scene.options, mode="anchor"), scene.store)
    on_chain.check_place(tmp_path, replace(scene.options, mode="storage"), scene.store)


def test_a_store_with_reports_does_not_go_over_to_a_chain(tmp_path):
    """Its trucks have begun their chains of records; `anchor` keeps them where they are."""
    scene = Scene(tmp_path)
    with closing(scene.platform):
        _, token = scene.truck(scene.company())
        scene.drive(token, 1)
        options = ChainOptions(url=URL)
        with pytest.raises(InputError, match="retire these trucks"):
            on_chain.check_place(tmp_path, options, scene.store)
        on_chain.check_place(tmp_path, replace(options, mode="anchor"), scene.store)
        on_chain.check_place(tmp_path, None, scene.store)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('url = "ws://x"', "that of a node"),
        ('url = "embedded"\nblock = 3', "leave contract out"),
        ('url = "http://x"\nmode = "logs"', "storage"),
        ('url = "http://x"\ncontract = "0x12"', "40 hexadecimal"),
        ('url = "http://x"\nconfirmations = 0', "1 or more"),
        ('url = "http://x"\nraise_after = 90', "less than patience"),
        ('url = "http://x"\nkey = "ab"', "no key here"),
        ('url = "http://x"\nmost_wei_per_gass = 1', "did you mean"),
    ],
)
def test_what_cannot_be_in_the_table_is_refused(tmp_path, table, said):
    """Every mistake in [chain] is told with what to do."""
    folder = tmp_path / "service"
    create(folder)
    (folder / "share.toml").write_text(f"[chain]\n{table}\n")
    with pytest.raises(PlanError, match=said):
        Configuration.read(folder)


def test_the_contract_is_written_where_it_is_read(tmp_path):
    """A table is added where there is none, and completed where there is one."""
    folder = tmp_path / "service"
    create(folder)
    made = Deployment(31337, b"\x12" * 20, 17)
    write_deployment(folder / "share.toml", URL, made)
    assert Configuration.read(folder).chain == ChainOptions(
        url=URL, chain=31337, contract="0x" + "12" * 20, block=17
    )
    assert (folder / "share.toml").stat().st_mode & 0o077 == 0
    (folder / "share.toml").write_text(
        f'[chain] # ours\nurl = "{URL}"\nmode = "anchor"\n\n[platform]\nroom = 10\n'
    )
    write_deployment(folder / "share.toml", URL, made)
    read = Configuration.read(folder)
    assert read.chain.deployment == made
    assert read.chain.mode == "anchor"
    assert read.settings.room == 10


def test_a_service_begins_while_its_node_is_away(tmp_path):
    """Companies are served; positions are refused for now, and nobody loses one."""
    folder = tmp_path / "service"
    create(folder)
    write_deployment(folder / "share.toml", URL, Deployment(1, b"\x12" * 20, 1))
    with pytest.raises(InputError, match="voile share chain account"):
        open_platform(folder, Configuration.read(folder))
    (folder / on_chain.KEY).write_text("12" * 32)
    (folder / on_chain.KEY).chmod(0o600)
    with closing(open_platform(folder, Configuration.read(folder))) as platform:
        company, _ = platform.open_company("Post")
        platform.add_truck(company)
        with pytest.raises(ChainError, match="does not answer"):
            platform.settle()


# The service


def test_a_service_on_an_embedded_chain_registers_trucks_by_itself(tmp_path):
    """Over HTTP: a truck is added, its tracker reports, and the record is on the chain."""
    folder = tmp_path / "service"
    create(folder)
    (folder / "share.toml").write_text('[chain]\nurl = "embedded"\npoll = 0.05\n')
    node = EmbeddedChain()
    platform = open_platform(folder, Configuration.read(folder), node)
    scene = Served(platform)
    with serving(folder, scene=scene) as service, service.client() as http:
        company: Company = service.company(http)
        refused = company.call("POST", "/trucks", json={"card": _card()})
        assert (refused.status_code, refused.json()["reason"]) == (409, "own-keys")
        _, token = company.truck()
        until = time.monotonic() + 20
        while (answer := _send_position(http, token)).status_code == 503:
            assert answer.json()["reason"] == "store-unavailable"
            assert time.monotonic() < until
            time.sleep(0.05)
        assert answer.status_code == 200
    publishes = Contract.publish(b"")[:4]
    assert [one.data[:4] for one in node.mined()].count(publishes) == 1


def test_a_service_gives_out_proofs(tmp_path):
    """In mode anchor the holder of a link gets what proves a report to strangers, and 404 else."""
    folder = tmp_path / "service"
    create(folder)
    (folder / "share.toml").write_text('[chain]\nurl = "embedded"\nmode = "anchor"\npoll = 0.05\n')
    node = EmbeddedChain()
    platform = open_platform(folder, Configuration.read(folder), node)
    with serving(folder, scene=Served(platform)) as service, service.client() as http:
        company = service.company(http)
        truck, token = company.truck()
        platform.settle()
        assert _send_position(http, token).status_code == 200
        link = {"authorization": f"Bearer {company.link(truck)}"}
        opened = platform.link_of(link["authorization"].removeprefix("Bearer "))
        last = platform.last_report(opened)
        answer = http.get(f"/api/v1/slots/{last.slot}/proof", headers=link)
        assert answer.status_code == 200
        nothing = http.get(f"/api/v1/slots/{last.slot - 300}/proof", headers=link)
        assert (nothing.status_code, nothing.json()["reason"]) == (404, "not-found")
    made = next(one.to for one in node.mined() if one.data == Contract.creation())
    record = protocol.Report.decode(last.message).record().encode()
    place = Deployment(node.identity(), made, 0)
    assert check_anchored(node, place, record, Inclusion.decode(answer.content)).number == 0


class Served:
    """What `serving` asks of a scene."""

    def __init__(self, platform: Platform) -> None:
        self.platform, self.settings = platform, platform.settings
        self.clock = Clock(time.time())


def _card() -> str:
    card = own_secrets(Randomness.seeded(4)).card().encode()
    return urlsafe_b64encode(card).rstrip(b"=").decode()


def _send_position(http: httpx.Client, token: str) -> httpx.Response:
    query = {"id": "truck-7", "lat": "52.01", "lon": "4.36", "timestamp": f"{time.time():.0f}"}
    return http.get("/ingest", params=query, headers={"authorization": f"Bearer {token}"})

"""Who may set up what, and that every wrong call says why."""

from __future__ import annotations

import math

import pytest

from share_tests.scene import HOME, Parties
from voile_base.errors import InputError, PlanError
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.platform import REFUSALS, AccessError, Platform, Settings, Vault
from voile_share.platform.administration import unsealed_destination


def refusal(call, *arguments) -> str:
    """The reason for which a call is refused."""
    with pytest.raises(AccessError) as refused:
        call(*arguments)
    assert refused.value.reason in REFUSALS
    return refused.value.reason


def test_tokens_open_their_own_door_alone(scene):
    """A token of one role is refused at the doors of all others."""
    platform = scene.platform
    company, of_company = platform.open_company("Post")
    of_auditor = platform.open_auditor("Inspector")
    secrets = protocol.TruckSecrets.draw(bytes(range(16)), Randomness.seeded(1))
    truck, of_truck = platform.add_truck(company, secrets.card().encode())
    _, of_device = scene.truck(company)
    number, link = platform.add_link(company, truck.truck, 1)
    doors = {
        platform.company_of: (of_company, company),
        platform.auditor_of: (of_auditor, "Inspector"),
        platform.truck_of: (of_truck, truck),
        platform.link_of: (number, link),
    }
    tokens = [of_company, of_auditor, of_truck, of_device, number, "", "x" * 500]
    for door, (own, opened) in doors.items():
        assert door(own) == opened
        wrong = {refusal(door, token) for token in tokens if token != own}
        assert wrong == {"link-unknown" if door == platform.link_of else "token-refused"}


def test_a_lost_token_is_replaced(scene):
    """A company's new token opens its door, the old ones do not; its trucks stay."""
    company, lost = scene.platform.open_company("Post")
    truck, _ = scene.truck(company)
    again, token = scene.platform.renew_company(company.company)
    assert again == company == scene.platform.company_of(token)
    assert refusal(scene.platform.company_of, lost) == "token-refused"
    assert [one.truck for one in scene.platform.trucks(again)] == [truck.truck]
    scene.platform.close_company(company.company)
    assert refusal(scene.platform.company_of, token) == "token-refused"
    for number, said in ((company.company, "was closed"), ("zzz", "there is no company zzz")):
        with pytest.raises(InputError, match=said):
            scene.platform.renew_company(number)


def test_the_operator_sees_who_is_let_in(scene):
    """Companies with how many trucks drive for them, and auditors with their open tokens."""
    first, second = scene.company("First"), scene.company("Second")
    for _ in range(3):
        truck, _ = scene.truck(first)
    scene.platform.retire_truck(first, truck.truck)
    scene.platform.close_company(second.company)
    closed = scene.store.company(second.company)
    known = scene.platform.companies()
    assert [(one.company, one.trucks) for one in known] == [(first, 2), (closed, 0)]
    tokens = [scene.platform.open_auditor(name) for name in ("Ann", "Ben", "Ann")]
    assert scene.platform.revoke_auditor(" Ann ") == 2
    assert refusal(scene.platform.auditor_of, tokens[0]) == "token-refused"
    assert refusal(scene.platform.auditor_of, tokens[2]) == "token-refused"
    assert scene.platform.auditor_of(tokens[1]) == "Ben"
    assert [(one.name, one.tokens) for one in scene.platform.auditors()] == [("Ann", 0), ("Ben", 1)]
    with pytest.raises(InputError, match="no auditor called 'Ann' has an open token"):
        scene.platform.revoke_auditor("Ann")


def test_links_end(scene):
    """A link is refused once it is revoked or expired, and says which."""
    company = scene.company()
    truck, _ = scene.truck(company)
    first, _ = scene.platform.add_link(company, truck.truck, 1)
    second, _ = scene.platform.add_link(company, truck.truck, 2)
    scene.platform.revoke_link(company, first)
    assert refusal(scene.platform.link_of, first) == "link-revoked"
    scene.platform.link_of(second)
    scene.clock.now += 7_200
    assert refusal(scene.platform.link_of, second) == "link-expired"


def test_links_end_with_their_truck_and_company(scene):
    """No link outlives the truck it shows, nor the company that made it."""
    company = scene.company()
    for end in (
        lambda truck: scene.platform.retire_truck(company, truck.truck),
        lambda truck: scene.platform.close_company(company.company),
    ):
        truck, _ = scene.truck(company)
        number, _ = scene.platform.add_link(company, truck.truck, 24)
        scene.platform.link_of(number)
        end(truck)
        assert refusal(scene.platform.link_of, number) == "link-expired"


def test_what_is_another_companys_is_unknown(scene):
    """A company learns of another's truck, parcel, device or link nothing, not even that it is."""
    mine, other = scene.company("Mine"), scene.company("Other")
    truck, _ = scene.truck(other)
    number, _ = scene.platform.add_link(other, truck.truck, 24)
    platform, unknown = scene.platform, bytes(16)
    for call, rest in (
        (platform.add_device, ("phone",)),
        (platform.devices, ()),
        (platform.revoke_device, ("truck-7",)),
        (platform.add_parcel, (b"P1", *Parties().keys)),
        (platform.parcels, ()),
        (platform.end_parcel, (b"P1",)),
        (platform.add_link, (24,)),
        (platform.retire_truck, ()),
    ):
        assert refusal(call, mine, truck.truck, *rest) == "truck-unknown"
        assert refusal(call, mine, unknown, *rest) == "truck-unknown"
    assert refusal(platform.revoke_link, mine, number) == "link-unknown"
    assert refusal(platform.revoke_link, mine, "x") == "link-unknown"
    assert platform.trucks(mine) == []
    assert platform.link_of(number)


def test_parcels_are_put_on_a_truck_once(scene):
    """The same call again changes nothing; another parcel of that number is refused."""
    company = scene.company()
    truck, _ = scene.truck(company)
    parties = Parties().keys
    first = scene.platform.add_parcel(company, truck.truck, b"P1", *parties, HOME)
    scene.clock.now += 60
    assert scene.platform.add_parcel(company, truck.truck, b"P1", *parties, HOME) == first
    for other in ((*Parties("B").keys, HOME), (*parties, (1.0, 2.0)), parties):
        reason = refusal(scene.platform.add_parcel, company, truck.truck, b"P1", *other)
        assert reason == "parcel-carried"
    scene.platform.end_parcel(company, truck.truck, b"P1")
    assert refusal(scene.platform.end_parcel, company, truck.truck, b"P1") == "parcel-unknown"
    again = scene.platform.add_parcel(company, truck.truck, b"P1", *Parties("B").keys)
    assert scene.platform.parcels(company, truck.truck) == [again]


def test_wrong_values_say_why(scene):
    """Every value that cannot be is refused with a reason of its own."""
    company = scene.company()
    truck, _ = scene.truck(company)
    platform, sender, receiver = scene.platform, *Parties().keys
    for reason, call, arguments in (
        ("name-unfit", platform.open_company, ("",)),
        ("name-unfit", platform.open_company, ("a\nb",)),
        ("name-unfit", platform.open_auditor, ("x" * 201,)),
        ("card-unfit", platform.add_truck, (company, b"card")),
        ("device-unfit", platform.add_device, (company, truck.truck, "")),
        ("device-unknown", platform.revoke_device, (company, truck.truck, "phone")),
        ("days-out-of-range", platform.add_device, (company, truck.truck, "p", math.nan)),
        ("days-out-of-range", platform.add_device, (company, truck.truck, "p", 0)),
        ("hours-out-of-range", platform.add_link, (company, truck.truck, math.inf)),
        ("hours-out-of-range", platform.add_link, (company, truck.truck, 1e6)),
        ("hours-out-of-range", platform.add_link, (company, truck.truck, 59 / 3600)),
        ("parcel-unfit", platform.add_parcel, (company, truck.truck, b"", sender, receiver)),
        ("parcel-unfit", platform.add_parcel, (company, truck.truck, b"x" * 65, sender, receiver)),
        ("key-unfit", platform.add_parcel, (company, truck.truck, b"P", sender, sender)),
        ("key-unfit", platform.add_parcel, (company, truck.truck, b"P", sender, b"short")),
        ("key-unfit", platform.add_parcel, (company, truck.truck, b"P", bytes(32), receiver)),
        (
            "place-unfit",
            platform.add_parcel,
            (company, truck.truck, b"P", sender, receiver, (91.0, 0.0)),
        ),
        (
            "place-unfit",
            platform.add_parcel,
            (company, truck.truck, b"P", sender, receiver, (math.nan, 0.0)),
        ),
    ):
        assert refusal(call, *arguments) == reason
    card = protocol.TruckSecrets.draw(bytes(16), Randomness.seeded(1)).card().encode()
    platform.add_truck(company, card)
    assert refusal(platform.add_truck, company, card) == "card-taken"


def test_nothing_secret_is_stored_in_plain(scene):
    """Neither tokens, nor secrets of trucks, nor destinations stand in the files of the store."""
    company, of_company = scene.platform.open_company("Post")
    truck, of_device = scene.truck(company)
    scene.parcel(company, truck, b"P1", Parties(), home=(52.0123456, 4.3654321))
    number, _ = scene.platform.add_link(company, truck.truck, 24)
    scene.drive(of_device, 2, place=(52.0777777, 4.3888888))
    secrets = scene.platform._trucks.of(truck.truck).under_way._publisher.secrets
    (parcel,) = scene.platform.parcels(company, truck.truck)
    assert unsealed_destination(scene.platform._core, parcel) == (52.0123456, 4.3654321)
    state = scene.platform._trucks.of(truck.truck).under_way.state
    scene.platform.close()
    stored = b"".join(
        path.read_bytes() for path in scene.folder.iterdir() if path.name.startswith("share.db")
    )
    assert truck.truck in stored
    for secret in (
        *(token.encode() for token in (of_company, of_device, number)),
        secrets.signing,
        secrets.sealing,
        b"52.0123456",
        b"52.0777777",
        state[20:60],
        (scene.folder / "vault.key").read_bytes().strip(),
    ):
        assert secret not in stored


def test_the_key_of_the_vault_is_its_owners_alone(tmp_path):
    """A key that others may read, that is none, or that is there already, is refused."""
    path = tmp_path / "vault.key"
    Vault.create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="exists"):
        Vault.create(path)
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        Vault.open(path)
    path.chmod(0o600)
    path.write_text("secret")
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        Vault.open(path)
    with pytest.raises(InputError, match="cannot be read"):
        Vault.open(tmp_path / "other.key")


def test_a_vault_opens_its_own_in_their_context():
    """What one key sealed in one context, no other key and no other context opens."""
    vault, other = Vault(bytes(32)), Vault(b"1" * 32)
    sealed = vault.seal(b"truck 1", b"secret")
    assert vault.unseal(b"truck 1", sealed) == b"secret"
    assert vault.seal(b"truck 1", b"secret") != sealed
    for key, context, text in (
        (other, b"truck 1", sealed),
        (vault, b"truck 2", sealed),
        (vault, b"truck 1", sealed[:-1]),
        (vault, b"truck 1", b""),
    ):
        with pytest.raises(InputError, match="another key"):
            key.unseal(context, text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slot_seconds", 7),
        ("slot_seconds", 0),
        ("slot_seconds", 60.0),
        ("displacements", [1, 2]),
        ("displacements", 150),
        ("tau", -1),
        ("near", [10, 5]),
        ("distance", 0),
        ("delta", 1),
        ("budget", math.nan),
        ("room", 2000),
        ("room", True),
        ("region", [1, 2, 3]),
        ("region", [52, 4, 51, 5]),
        ("slotseconds", 300),
    ],
)
def test_settings_that_cannot_be_are_named(name, value):
    """A setting that cannot be is refused by its name."""
    with pytest.raises(PlanError, match=name[:4]):
        Settings(**{name: value})


def test_settings_are_read_as_they_stand():
    """All settings of a file arrive, lists as they are."""
    document = {"slot_seconds": 60, "near": [500, 5000], "region": [51, 3, 53, 6], "budget": 9}
    settings = Settings(**document)
    assert (settings.slot_seconds, settings.near, settings.budget) == (60, (500, 5000), 9)
    assert settings.rules.region is not None
    assert settings.slot(119.9) == 60


def test_the_platform_is_one_face(scene):
    """No two parts of the platform have a method of one name."""
    public = [
        name for part in Platform.__mro__[1:-1] for name in vars(part) if not name.startswith("_")
    ]
    assert sorted(public) == sorted(set(public))

"""Positions of devices whose names somebody else, such as a broker, has made sure of."""

from __future__ import annotations

from functools import partial

import pytest

from share_tests.ingest.messages import as_owntracks
from share_tests.scene import Scene
from voile_share.ingest import Fix, IngestError, decode_owntracks_mqtt
from voile_share.platform import SlotOutcome
from voile_testing.processes import PATIENCE

NAME = "fleet/truck-7"


def send(scene: Scene, company, name: str = NAME, said: str = NAME) -> SlotOutcome:
    """A position of a device of this name, in a message that says another one or the same."""
    payload = as_owntracks(Fix(said, 52.01, 4.36, scene.clock.now))
    decode = partial(decode_owntracks_mqtt, f"owntracks/{said}", payload)
    answer = scene.platform.receive_vouched(company.company, name, decode)
    return answer.result(PATIENCE).outcome


def test_it_goes_where_a_token_would_go(scene):
    """By name and by token a device publishes for one truck, once in a slot."""
    company = scene.company()
    truck, token = scene.truck(company, NAME)
    assert send(scene, company) is SlotOutcome.PUBLISHED
    assert scene.send(token, device=NAME) is SlotOutcome.KNOWN_SLOT
    scene.clock.now += scene.settings.slot_seconds
    assert scene.send(token, device=NAME) is SlotOutcome.PUBLISHED
    assert send(scene, company) is SlotOutcome.KNOWN_SLOT
    assert len(scene.store.after(truck.truck, -1, 10)) == 2


def test_a_guessed_name_gives_nothing(scene):
    """Unknown, of another company, revoked, expired, of a retired truck, of a closed company."""
    company, other = scene.company(), scene.company("Other")
    truck, _ = scene.truck(company, NAME)
    scene.truck(other, "fleet/others")
    for whose, name in ((company, "fleet/others"), (other, NAME), (company, "fleet/truck")):
        with pytest.raises(IngestError) as caught:
            send(scene, whose, name, name)
        assert caught.value.reason == "token-refused"
        assert name not in str(caught.value)
    assert send(scene, company) is SlotOutcome.PUBLISHED
    scene.platform.revoke_device(company, truck.truck, NAME)
    with pytest.raises(IngestError, match="no token of a device of this name is open"):
        send(scene, company)
    scene.platform.add_device(company, truck.truck, NAME, days=1 / 86_400)
    assert send(scene, company) is SlotOutcome.KNOWN_SLOT
    scene.clock.now += 1
    with pytest.raises(IngestError, match="no token of a device of this name is open"):
        send(scene, company)
    scene.platform.add_device(company, truck.truck, NAME)
    scene.platform.close_company(company.company)
    with pytest.raises(IngestError, match="has ended"):
        send(scene, company)


def test_a_name_on_two_trucks_is_refused_until_one_is_left(scene):
    """Which truck is meant cannot be known; tokens of one truck may share a name."""
    company = scene.company()
    truck, _ = scene.truck(company, NAME)
    scene.platform.add_device(company, truck.truck, NAME)
    assert send(scene, company) is SlotOutcome.PUBLISHED
    other, _ = scene.truck(company, NAME)
    scene.clock.now += scene.settings.slot_seconds
    with pytest.raises(IngestError, match="several trucks have it") as caught:
        send(scene, company)
    assert caught.value.reason == "device-unfit"
    scene.platform.retire_truck(company, truck.truck)
    assert send(scene, company) is SlotOutcome.PUBLISHED
    assert len(scene.store.after(other.truck, -1, 10)) == 1


def test_another_companys_device_of_the_same_name_changes_nothing(scene):
    """Neither does it get the positions, nor does it make the name ambiguous."""
    company, other = scene.company(), scene.company("Other")
    truck, _ = scene.truck(company, NAME)
    foreign, _ = scene.truck(other, NAME)
    assert send(scene, company) is SlotOutcome.PUBLISHED
    scene.platform.retire_truck(company, truck.truck)
    with pytest.raises(IngestError):
        send(scene, company)
    assert not scene.store.after(foreign.truck, -1, 10)


def test_a_message_that_names_another_device_is_refused(scene):
    """What the broker has made sure of counts, not what the message says."""
    company = scene.company()
    truck, _ = scene.truck(company, NAME)
    scene.truck(company, "fleet/others")
    with pytest.raises(IngestError, match="names another device"):
        send(scene, company, said="fleet/others")
    assert not scene.store.after(truck.truck, -1, 10)

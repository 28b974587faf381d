"""The clock of the service goes backwards, as when a machine is set right: over HTTP."""

from __future__ import annotations

from share_tests.service.load import check_kept
from voile_share.service.models import decoded


def test_a_clock_that_goes_back_takes_no_report_back(service, http, company):
    """Slots come once, in order; what a right clock sends meanwhile is refused for now."""
    first = service.next_slot()
    truck, token = company.truck()
    link = {"authorization": f"Bearer {company.link(truck)}"}
    card = decoded(http.get("/api/v1/card", headers=link).json()["card"])
    assert service.send(http, token).status_code == 200
    last = service.next_slot()
    assert service.send(http, token).status_code == 200
    right = service.now
    service.scene.clock.now -= 3600
    try:
        for _ in range(2):
            refused = service.send(http, token)  # a later slot is there: nothing comes of it
            assert (refused.status_code, refused.json()["reason"]) == (409, "truck-ahead")
            assert refused.headers["voile-outcome"] == "truck-ahead"
            service.scene.clock.now += 300
        query = {"id": "truck-7", "lat": "52.0", "lon": "4.0", "timestamp": f"{right + 60:.0f}"}
        early = http.get(f"/ingest/{token}", params=query)
        assert (early.status_code, early.json()["reason"]) == (422, "time-in-the-future")
        assert http.get(f"/api/v1/slots/{last}", headers=link).content
    finally:
        service.scene.clock.now = right
    third = service.next_slot()
    assert http.get(f"/ingest/{token}", params=query).status_code == 200
    assert service.send(http, token).status_code == 200
    kept = service.scene.store.after(bytes.fromhex(truck), -1, 10)
    assert [one.slot for one in kept] == [first, last, third]
    taken = [(token, slot) for slot in (first, last, third)]
    check_kept(service.scene.store, {token: (truck, card)}, taken)

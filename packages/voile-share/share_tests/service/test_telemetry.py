"""What is measured of a service, and that nothing private is in it."""

from __future__ import annotations

import json

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from share_tests.scene import HOME, Parties
from share_tests.service.process import Process, run, set_up
from share_tests.service.server import serving
from voile_base.errors import InputError, PlanError
from voile_share.protocol.primitives import to_base64url
from voile_share.service import app
from voile_share.service.app import tracing
from voile_share.service.options import Telemetry
from voile_testing.processes import wait_until

TOKEN = "metrics-token-of-some-length"
PLACE = ("52.4242424", "4.8484848")


def measured(folder, **more) -> Telemetry:
    path = folder / "metrics.token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return Telemetry(metrics_token_file=str(folder / "metrics.token"), **more)


def fetched(http, token: str = TOKEN):
    return http.get("/metrics", headers={"authorization": f"Bearer {token}"})


def value(text: str, start: str) -> float:
    (line,) = [one for one in text.splitlines() if one.startswith(start)]
    return float(line.rpartition(" ")[2])


@pytest.mark.slow
def test_measurements_are_for_the_holder_of_the_token(tmp_path):
    """Without the token nothing is shown, and where none was chosen there is no such page."""
    (tmp_path / "with").mkdir()
    with (
        serving(tmp_path / "with", telemetry=measured(tmp_path)) as service,
        service.client() as http,
    ):
        assert http.get("/metrics").json()["reason"] == "token-refused"
        assert fetched(http, "another token").status_code == 401
        company = service.company(http)
        _, token = company.truck()
        assert service.send(http, token).status_code == 200
        assert service.send(http, token).status_code == 200
        assert service.send(http, "wrong").status_code == 401
        answer = fetched(http)
        text = answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert value(text, 'voile_positions_total{outcome="published"}') == 1
    assert value(text, 'voile_positions_total{outcome="known-slot"}') == 1
    ingest = 'voile_requests_total{method="GET",route="/ingest",status='
    assert value(text, ingest + '"200"}') == 2
    assert value(text, ingest + '"401"}') == 1
    assert value(text, 'voile_request_seconds_count{route="/ingest"}') == 3
    assert value(text, "voile_waited_seconds") < 60
    assert value(text, "voile_feeds") == 0
    assert value(text, "process_open_fds") > 0
    (tmp_path / "without").mkdir()
    with serving(tmp_path / "without") as service, service.client() as http:
        assert fetched(http).status_code == 404


@pytest.fixture
def spans(tmp_path, monkeypatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    monkeypatch.setattr(app, "tracing", lambda telemetry: tracing(telemetry, exporter))
    return exporter


@pytest.mark.slow
def test_nothing_private_is_in_metrics_traces_and_logs(tmp_path, spans, monkeypatch):
    """Positions, tokens, labels and numbers, sent in every way there is, are in none of them."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host=marker-of-the-environment")
    telemetry = measured(tmp_path, traces="http://127.0.0.1:9/v1/traces", sampled=1.0)
    (tmp_path / "s").mkdir()
    marks = [*PLACE, "marker-of-the-environment", "marker-parcel", "marker-device", "52.0123456"]
    with serving(tmp_path / "s", telemetry=telemetry) as service, service.client() as http:
        company = service.company(http, "marker-company")
        truck, token = company.truck("marker-device")
        link = company.link(truck)
        marks += ["marker-company", company.token, company.number, truck, token, link]
        query = {
            "id": "marker-device",
            "lat": PLACE[0],
            "lon": PLACE[1],
            "timestamp": f"{service.now:.0f}",
        }
        trace = {"traceparent": "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01", "baggage": "marker=b"}
        marks += ["ab" * 16, "cd" * 8]
        assert http.get(f"/ingest/{token}", params=query, headers=trace).status_code == 200
        assert http.get("/ingest", params=query).status_code == 401
        sender, receiver = map(to_base64url, Parties().keys)
        place = {"latitude": HOME[0], "longitude": HOME[1]}
        waybill = {"sender": sender, "receiver": receiver, "destination": place}
        path = f"/trucks/{truck}/parcels/marker-parcel"
        assert company.call("PUT", path, json=waybill).status_code == 204
        assert company.call("PUT", path, json={"destination": PLACE}).status_code == 422
        assert http.get("/marker-path", params=query).status_code == 404
        monkeypatch.setattr(service.scene.platform, "trucks", fault)
        assert company.call("GET", "/trucks").status_code == 500
        metrics = fetched(http).text
    shown = [one.to_json() for one in spans.get_finished_spans()]
    assert len(shown) == 10, [json.loads(one)["name"] for one in shown]
    assert {json.loads(one)["name"] for one in shown} >= {
        "GET /ingest",
        "PUT /api/v1/trucks/{truck}/parcels/{parcel}",
        "GET other",
    }
    assert any("fault" in one for one in service.told)
    for mark in [*marks, "marker"]:
        for text in (metrics, *shown, *service.told):
            assert mark not in text


def fault(*_: object) -> None:
    msg = "marker-of-a-fault"
    raise RuntimeError(msg)


def test_what_is_not_fit_is_said_before_anything_runs(tmp_path):
    """Unknown names, addresses that are none, tokens that others read or that are short."""
    with pytest.raises(PlanError, match="unknown key 'trace'; did you mean 'traces'"):
        Telemetry(**{"trace": "x"})
    with pytest.raises(PlanError, match="must be like http"):
        Telemetry(traces="ftp://x")
    with pytest.raises(PlanError, match="sampled"):
        Telemetry(sampled=2.0)
    (tmp_path / "t").write_text(TOKEN)
    with pytest.raises(InputError, match="chmod 600"):
        Telemetry(metrics_token_file=str(tmp_path / "t")).check()
    (tmp_path / "t").chmod(0o600)
    Telemetry(metrics_token_file=str(tmp_path / "t")).check()
    (tmp_path / "t").write_text("short")
    with pytest.raises(InputError, match="20 characters"):
        Telemetry(metrics_token_file=str(tmp_path / "t")).check()


@pytest.mark.slow
def test_logs_of_a_process_are_objects_of_json(tmp_path):
    """One on each line, with a time, from the start to the end."""
    folder = tmp_path / "s"
    set_up(folder)
    service = Process(folder, options=("--port", 0, "--log", "json"))
    try:
        log = service.log
    finally:
        assert service.end() == 0
    lines = [json.loads(one) for one in (tmp_path / "s.log").read_text().splitlines()]
    assert [one["level"] for one in lines] == ["info", "info"]
    assert "listening" in log
    assert lines[-1]["message"] == "stopped"


@pytest.mark.slow
def test_processes_add_their_counters_up(tmp_path, postgres):
    """Whichever of two workers is asked, it knows of all requests; one that is killed counts on."""
    folder = tmp_path / "s"
    url = postgres.schema("telemetry")
    set_up(folder, f'[store]\nurl = "{url}"\n[telemetry]\nmetrics_token_file = "t"\n')
    (folder / "t").write_text(TOKEN)
    (folder / "t").chmod(0o600)
    service = Process(folder, options=("--port", 0, "--workers", 2))
    try:
        for _ in range(20):
            with service.client() as http:
                assert http.get("/healthz").status_code == 200
        start = 'voile_requests_total{method="GET",route="/healthz",status="200"}'

        def counted() -> bool:
            with service.client() as http:
                return value(fetched(http).text, start) == 20

        wait_until(counted, "the workers do not add up")
        assert all(counted() for _ in range(5))
    finally:
        assert service.end() == 0
    assert run("list", folder)["companies"]

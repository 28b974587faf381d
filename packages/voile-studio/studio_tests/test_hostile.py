"""Requests that are made up, over all addresses of Studio: nothing is a fault of the server.

Schemathesis makes them from what the routes declare, fitting ones and such as break it; forms that
are read as they come are made up here.  Commands are not run: each ends at once, as if killed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

import schemathesis
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from starlette.testclient import TestClient

from studio_tests.studio import HOST
from studio_tests.test_repeated import table
from voile_studio.guard import Guard
from voile_studio.jobs import Jobs
from voile_studio.project import Start
from voile_studio.screens import _screens, application

FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
SCHEMA = schemathesis.openapi.from_dict(_screens(Start(Path())).openapi())
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
NASTY = (
    "", "-", "--help", "..", "../../etc/passwd", "%00", "\0", "<script>", "'; --", "1e999", "-1",
    "9" * 400, "\N{RIGHT-TO-LEFT OVERRIDE}x", "a" * 20_000, "nan", "0:a", "99:a", ":", "*", "\n",
    "\N{ARABIC-INDIC DIGIT ONE}",
)  # fmt: skip
KEYS = (
    "digest", "deed", "group", "called", "steps", "period", "method", "generalization.k",
    "dp-generalization.epsilon", "ke-anonymity.e", "ticked", "by", "control", "seed", "number",
)  # fmt: skip
DEEDS = ("begin", "merge", "rename", "split", "up", "down", "widen", "narrow", "intervals",
         "prefix", "dates", "none", "generalization", "ke-anonymity")  # fmt: skip
RAW = (
    "/p/people/try",
    "/p/people/plan/column/0/levels",
    "/p/people/plan/column/2/levels",
    "/p/people/plan/text",
    "/p/people/releases/001/assumptions",
    "/p/people/ledger/settle",
    "/p/people/release",
)


def ends_at_once(jobs: Jobs, folder: Path, lock: int) -> tuple[subprocess.Popen[bytes], None]:
    """In the place of a command."""
    del jobs, folder, lock
    return subprocess.Popen([sys.executable, "-S", "-c", ""]), None


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One that was let in, to a folder with a project whose table was looked at."""
    from studio_tests.studio import Visitor  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("office")
    table(folder, rows=60)
    visitor = Visitor(folder)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    guard: Guard = application(Start(folder), frozenset({HOST}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Jobs, "_spawn", ends_at_once)
        client = TestClient(guard, base_url=f"http://{HOST}", follow_redirects=False)
        client.get(guard.new_entrance())
        yield client


def answered(browser: TestClient, method: str, path: str, **request: Any) -> None:
    """Send a request from a page of ours; whatever comes is answered, and not by a fault."""
    headers = {"origin": f"http://{HOST}"}
    answer = browser.request(method, path, headers=headers, **request)
    assert answer.status_code < 500, (method, path, request, answer.text)
    assert "Traceback" not in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"] or path.endswith(
        ("/report", "/dossier")
    )


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method} {one.path}")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_made_up_calls_are_answered(browser: TestClient, operation: Any, mode: GenerationMode):
    """Of the project that is there, and of any name."""
    try:
        cases = operation.as_strategy(generation_mode=mode)
    except Exception as error:
        pytest.skip(str(error))

    @FEW
    @given(case=cases, known=st.booleans())
    def sent(case: Any, *, known: bool) -> None:
        if known and "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = "people"
        request = case.as_transport_kwargs(base_url=f"http://{HOST}")
        path = request["url"].removeprefix(f"http://{HOST}")
        answered(
            browser, request["method"], path, data=request.get("data"), params=request.get("params")
        )

    try:
        sent()
    except Unsatisfiable:
        pytest.skip("nothing in it can be broken")


@FEW
@given(
    path=st.sampled_from(RAW),
    form=st.dictionaries(
        st.sampled_from(KEYS),
        st.lists(st.sampled_from((*NASTY, *DEEDS)) | st.text(max_size=30), max_size=3),
    ),
)
def test_made_up_forms_are_answered(browser: TestClient, path: str, form: dict[str, list[str]]):
    """With the keys that screens read, and with what breaks their values."""
    answered(browser, "POST", path, data=form)
    page = browser.get("/p/people/plan").text
    digest = page.partition('name="digest" value="')[2].partition('"')[0]
    answered(browser, "POST", path, data={**form, "digest": digest, "text": "\0[x"})


@pytest.mark.parametrize("nasty", NASTY)
def test_hostile_names_in_addresses_are_answered(browser: TestClient, nasty: str):
    """Wherever an address takes a name or a number."""
    from urllib.parse import quote  # noqa: PLC0415

    said = quote(nasty, safe="")[:8_000]
    for path in (f"/p/{said}/data", f"/p/people/try/{said}/0", f"/p/people/plan/column/{said}",
                 f"/p/people/releases/{said}/report", f"/p/people/job/{said}",
                 f"/static/{said}"):  # fmt: skip
        answered(browser, "GET", path)
        answered(browser, "POST", path, content=b"\xff\xfe=%zz&&=")

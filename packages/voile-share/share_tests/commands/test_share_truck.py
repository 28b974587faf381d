"""``voile share truck``: a truck's folder, and a run that reads a receiver on standard input."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import closing

import httpx2 as httpx
import pytest

from share_tests.ingest.messages import as_nmea
from share_tests.scene import Scene
from share_tests.service.server import serving
from voile_share import protocol
from voile_share.commands.truck import _Lines
from voile_share.ingest import Fix
from voile_share.ingest.formats import checksum
from voile_share.parties import Parties, PlatformClient
from voile_share.protocol.primitives import from_base64url
from voile_share.truck import OwnTruck
from voile_testing.processes import PATIENCE, wait_until

PLACE = (52.0123457, 4.3654323)


@pytest.fixture
def folder(desk):
    """A truck that was set up."""
    assert desk.run("share", "truck", "init", desk / "truck").status == 0
    return desk / "truck"


@pytest.fixture
def platform(tmp_path, folder):
    """A service where the truck is registered, by the real clock; and the truck's token."""
    (tmp_path / "service").mkdir()
    with serving(tmp_path / "service", scene=Scene(tmp_path / "service", clock=time.time)) as one:
        with closing(OwnTruck(folder)) as truck:
            _, token = one.scene.platform.add_truck(one.scene.company(), truck.card)
        yield one, token


@pytest.fixture
def away():
    """The address of a platform that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return f"http://127.0.0.1:{port}"


def line(place=PLACE) -> bytes:
    """A line of a receiver, of now."""
    return as_nmea(Fix("truck", *place, time.time()))


class Run:
    """``voile share truck run`` in a process of its own; what it says is read as it comes."""

    def __init__(self, folder, address: str, token: str = "token") -> None:
        self.process = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-c",
                    "from voile_base.main import main; main()",
                    "share",
                    "truck",
                ),
                *("run", str(folder), "--platform", address, "--every", "0.2"),
            ],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "VOILE_TRUCK_TOKEN": token},
        )
        self.said = ""

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdin.close()
        self.process.stderr.close()

    def write(self, *lines: bytes) -> None:
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def hears(self, words: str) -> None:
        """Wait until it has said something."""
        while words not in self.said:
            said = self.process.stderr.readline()
            assert said, self.said
            self.said += said.decode()

    def ends(self, how: signal.Signals | None = None) -> int:
        """The exit status after a signal, or after the input has ended."""
        if how is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(how)
        self.said += self.process.stderr.read().decode()
        return self.process.wait(PATIENCE)


def test_a_truck_is_set_up_for_its_owner_alone(desk):
    """The card is all of standard output, and only the owner may read the folder."""
    done = desk.run("share", "truck", "init", desk / "truck")
    with closing(OwnTruck(desk / "truck")) as truck:
        assert from_base64url(done.stdout.strip()) == truck.card
    for path in (desk / "truck", *(desk / "truck").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.slow
def test_positions_of_a_receiver_are_published(folder, platform):
    """Lines of NMEA become a report at the platform, and the run ends with its input."""
    service, token = platform
    with Run(folder, service.address, token) as run:
        run.write(b'{"class":"VERSION","release":"3.25"}\r\n', line())
        assert run.ends() == 0
        assert run.said == ""
    with closing(OwnTruck(folder)) as truck:
        (entry,) = service.scene.store.after(truck.truck, -1, 10)
        assert (truck.sent, truck.waiting) == (entry.slot, 0)


@pytest.mark.slow
def test_the_first_report_is_about_a_parcel_whose_parties_had_submitted(desk, platform):
    """What waits at the platform is read before the first position, which has its slot alone."""
    service, _ = platform
    parties, voile = Parties.draw(), service.scene.platform
    OwnTruck.create(desk / "van").close()
    with closing(OwnTruck(desk / "van")) as truck:
        truck.load(b"3SABCD", *parties.signers, PLACE)
        company = service.scene.company("Post of Leiden")
        _, token = voile.add_truck(company, truck.card)
        card = protocol.TruckCard.decode(truck.card)
        number, _ = voile.add_link(company, truck.truck, 24)
    with httpx.Client(base_url=service.address) as client:
        today = protocol.day_of(int(time.time()))
        link = parties.submit(PlatformClient(client, number), b"3SABCD", today, days=2, card=card)
    with Run(desk / "van", service.address, token) as run:
        run.write(line())
        assert run.ends() == 0
    (entry,) = service.scene.store.after(link.truck, -1, 10)
    _, sighting = protocol.Reader(link).read(entry.message, int(time.time()))
    assert sighting is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_run_is_stopped_in_order(folder, platform, how):
    """A signal while it waits for input ends it as it ends a service, with a true sentence."""
    service, token = platform
    with Run(folder, service.address, token) as run:
        run.write(line())
        wait_until((folder / "sent").exists)
        assert run.ends(how) == 0
        assert run.said == "voile: stopped\n"


@pytest.mark.slow
def test_a_stopped_run_says_what_waits(folder, away):
    """Where the platform is away, the reports that were made are told of, and are sent later."""
    with Run(folder, away) as run:
        run.hears("does not answer")
        run.write(line())
        with closing(OwnTruck(folder)) as truck:
            wait_until(lambda: truck.waiting)
        assert run.ends(signal.SIGINT) == 0
        assert run.said.endswith("voile: stopped; 1 report waits on this device\n")


@pytest.mark.slow
def test_a_run_ends_without_the_platform_where_nothing_is_left(folder, away):
    """Input without a position leaves nothing to send, so nobody is waited for."""
    with Run(folder, away) as run:
        assert run.ends() == 0
        assert "does not answer (ConnectError); it is tried again\n" in run.said


@pytest.mark.slow
def test_a_run_goes_on_until_its_reports_are_sent(folder, away):
    """After the end of the input it says how many wait, and goes on trying."""
    with Run(folder, away) as run:
        run.write(line())
        run.process.stdin.close()
        run.hears("the input has ended; 1 report waits on this device")
        assert run.process.poll() is None
        assert run.ends(signal.SIGTERM) == 0


@pytest.mark.parametrize("address", ["ftp://share.example.org", "share.example.org", ""])
def test_an_address_that_is_none_is_refused_at_once(desk, folder, monkeypatch, address):
    """What is no address of http or https is wrong input."""
    monkeypatch.setenv("VOILE_TRUCK_TOKEN", "token")
    message = desk.fails(2, "share", "truck", "run", folder, "--platform", address)
    assert "must be like https://share.example.org" in message


@pytest.mark.slow
def test_a_truck_without_input_is_refused(folder):
    """Where standard input is closed its number may be that of another file, which is not read."""
    program = (
        "import os; os.close(0)\n"
        "import sys; sys.stdin = None\n"
        "from voile_base.main import main\n"
        f"main(['share', 'truck', 'run', {str(folder)!r}, '--platform', 'http://127.0.0.1:1'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VOILE_TRUCK_TOKEN": "token"},
    )
    assert (done.returncode, "input is closed" in done.stderr) == (2, True), done.stderr


def test_settings_that_are_no_toml_are_told_by_their_place(desk, folder):
    """The message has the line of truck.toml, and nothing that stands there."""
    (folder / "truck.toml").write_text("slot_seconds = 60\ntau = hunter2\n")
    message = desk.fails(2, "share", "truck", "unload", folder, "P1")
    assert "truck.toml: this is not TOML at line 2, column 7" in message
    assert "hunter2" not in message


@pytest.mark.slow
def test_lines_that_are_not_taken_are_told_by_their_reason(folder, away):
    """Each reason is said the first time and at every tenfold, the lines themselves never."""
    damaged = line().replace(b",A,", b",B,", 1)
    with Run(folder, away) as run:
        run.write(*[damaged] * 12, b"\r\n", b"secret words\n", line())
        run.hears("unknown-format")
        run.ends(signal.SIGTERM)
    assert "voile: a line was not taken (checksum-wrong): The line was damaged" in run.said
    assert "voile: 10 lines were not taken (checksum-wrong)" in run.said
    assert run.said.count("checksum-wrong") == 2
    for told in ("secret", "$GN", "5200"):
        assert told not in run.said


@pytest.mark.slow
def test_input_of_which_nothing_was_understood_is_wrong_input(folder, away):
    """Something other than NMEA on standard input ends with exit status 2."""
    with Run(folder, away) as run:
        run.write(b"something else\nentirely\n")
        assert run.ends() == 2
    assert "nothing of the input was understood" in run.said
    assert "entirely" not in run.said


@pytest.mark.slow
def test_a_receiver_without_a_fix_was_understood(folder, away):
    """A receiver that does not know where it is writes NMEA all the same."""
    said = line().decode().replace(",A,", ",V,", 1)
    body = said.partition("$")[2].partition("*")[0]
    with Run(folder, away) as run:
        run.write(f"${body}*{checksum(body)}\r\n".encode())
        assert run.ends() == 0
    assert "(no-fix)" in run.said


@pytest.mark.slow
def test_a_budget_that_is_spent_is_told_once(folder, away):
    """No report is made any more on that day, and the driver hears so; the run goes on."""
    (folder / "truck.toml").write_text("slot_seconds = 1\nbudget = 1.0\n")
    with Run(folder, away) as run:
        run.write(line())
        run.hears("budget of this day (UTC) is spent")
        run.write(line(), line())
        assert run.ends() == 0
        assert run.said.count("budget") == 1


def test_lines_are_read_however_they_come():
    """Pieces are put together, the last line needs no end, and no line is held that is too long."""
    reading, writing = os.pipe()
    lines, read = _Lines(reading), []
    try:
        assert lines.some(0) == []
        for piece in (b"on", b"e\ntwo\nth", b"ree\n", b"x" * 60_000, b"y" * 60_000 + b"\nlast"):
            os.write(writing, piece)
            read += lines.some(10)
            assert len(lines._rest) <= 4096
        os.close(writing)
        while not lines.ended:
            read += lines.some(10)
    finally:
        os.close(reading)
    assert read == [b"one", b"two", b"three", b"x" * 4096, b"last"]

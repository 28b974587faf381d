"""``voile share truck``: a truck that perturbs, encrypts and publishes on a device of its own.

Lines come in over time, as from a receiver behind a pipe.  They are read from the descriptor by
the thread that wants them: ``sys.stdin`` would be read by another thread, which holds the lock of
its buffer while it waits, and ends the process by a fatal error where that is to end at the same
time.
"""

from __future__ import annotations

import os
import select
import sys
import time
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError, PlanError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say

if TYPE_CHECKING:
    from voile_base.values import toml, value
    from voile_share import ingest, protocol
    from voile_share import platform as share_platform
    from voile_share import truck as share_truck
    from voile_share.protocol import primitives as protocol_primitives
    from voile_share.truck import Forwarding, OwnTruck
else:
    toml = on_demand("voile_base.values.toml")
    value = on_demand("voile_base.values.value")
    ingest = on_demand("voile_share.ingest")
    share_platform = on_demand("voile_share.platform")
    protocol = on_demand("voile_share.protocol")
    protocol_primitives = on_demand("voile_share.protocol.primitives")
    share_truck = on_demand("voile_share.truck")

__all__: list[str] = []

_TOKEN = "VOILE_TRUCK_TOKEN"  # noqa: S105 - the name of a variable
_SETTINGS = "truck.toml"
_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_PARCEL = click.argument("parcel")
_LEAST_WAIT, _MOST_WAIT = 1.0, 60.0
_TIDY_SECONDS = 86_400.0
_GPSD = b'{"class":'
"""With what gpsd says of itself begins, before the lines of its receivers."""
_ABOUT_POSITIONS = frozenset(
    {"coordinates-swapped", "no-fix", "position-at-origin", "time-in-the-future", "time-too-old"}
)
"""Reasons of lines that were understood all the same."""
_AT_ONCE = 65_536
_LONGEST = 4_096


@click.group("truck", short_help="Perturb, encrypt and publish on the truck itself.")
def _truck_command() -> None:
    """Run a truck whose keys stay on a device of its own: the platform sees ciphertext alone.

    A truck lives in a FOLDER, which `init` makes. What it publishes follows truck.toml there, whose
    keys are those of [platform] in the service's share.toml; slot_seconds must be the same.
    """


@_truck_command.command("init", short_help="draw a truck's keys in a new folder")
@_FOLDER
@json_option
def _init_command(folder: Path, *, as_json: bool) -> None:
    """Draw the keys of a truck, and print its card: what its company registers it by."""
    with closing(share_truck.OwnTruck.create(folder)) as truck:
        card = protocol_primitives.to_base64url(truck.card)
    if as_json:
        print_json({"folder": str(folder), "truck": truck.truck.hex(), "card": card})
        return
    click.echo(card)
    say(f"{folder}: set up. Register this card at the platform, which gives a token; then:")
    say(f"  {_TOKEN}=TOKEN voile share truck run {folder} --platform https://...")


@_truck_command.command("load", short_help="take a parcel on board")
@_FOLDER
@_PARCEL
@click.option("--sender", required=True, help="The key by which its sender signs (base64url).")
@click.option("--receiver", required=True, help="That of its receiver.")
@click.option(
    "--to",
    "destination",
    nargs=2,
    type=float,
    metavar="LATITUDE LONGITUDE",
    help="Where it goes, in degrees. Without it parties see the far position alone.",
)
@click.option("--carrier", metavar="KEY", help="For whose trucks its parties have signed.")
def _load_command(
    folder: Path,
    parcel: str,
    sender: str,
    receiver: str,
    destination: tuple[float, float] | None,
    carrier: str | None,
) -> None:
    """Take PARCEL on board. Where it goes stays on this device."""
    number = None if carrier is None else protocol.carrier_number(_key(carrier))
    with _truck(folder) as truck:
        truck.load(parcel.encode(), _key(sender), _key(receiver), destination or None, number)
    say(f"{folder}: one parcel more is on board.")


@_truck_command.command("unload", short_help="deliver a parcel")
@_FOLDER
@_PARCEL
@click.option("--delivered", is_flag=True, help="Now, at its destination: arrivals are learnt.")
def _unload_command(folder: Path, parcel: str, *, delivered: bool) -> None:
    """Deliver PARCEL: its keys are forgotten, and no later report is about it."""
    with _truck(folder) as truck:
        truck.unload(parcel.encode(), delivered=delivered)
    say(f"{folder}: one parcel less is on board.")


@_truck_command.command("set-back", short_help="take back reports made with a clock ahead")
@_FOLDER
def _set_back_command(folder: Path) -> None:
    """Drop the reports of FOLDER that are later than this device's clock, so that it goes on.

    Set the clock first: what is later by it is dropped. Where the platform holds such reports, too,
    its operator gives: voile share set-back SERVICE TRUCK.
    """
    with _truck(folder) as truck:
        taken = truck.set_back()
    say(f"{folder}: {taken} reports of times that have not come were taken back")


@_truck_command.command("history", short_help="print what was learnt of arrivals")
@_FOLDER
@click.option("--forget", is_flag=True, help="Forget it instead.")
def _history_command(folder: Path, *, forget: bool) -> None:
    """Print the distances that were shown and how long each drive still took, as JSON.

    For `voile share carrier arrivals`, at the company. It holds no place and no parcel.
    """
    with _truck(folder) as truck:
        if forget:
            truck.forget_past_drives()
            say(f"{folder}: what was learnt of arrivals is forgotten.")
            return
        print_json({"drives": truck.past_drives()})


@_truck_command.command("run", short_help="publish the positions of a receiver")
@_FOLDER
@click.option("--platform", required=True, metavar="URL", help="Such as https://share.example.org.")
@click.option(
    "--every",
    type=click.FloatRange(0.2, 3600),
    default=5.0,
    show_default=True,
    help="Seconds between two looks for submissions.",
)
def _run_command(folder: Path, platform: str, every: float) -> None:
    """Publish positions that come as lines of NMEA 0183 on standard input.

    For example from gpsd: gpspipe -r | voile share truck run FOLDER --platform URL. The truck's
    token is read from the variable VOILE_TRUCK_TOKEN, since other users see the arguments of
    commands. Reports wait on this device while there is no network. It ends with its input when
    all of them are sent, and at once by SIGTERM or Ctrl+C; what waits then is sent the next time.
    """
    token = os.environ.get(_TOKEN, "").strip()
    if not token:
        msg = f"put the truck's token into the variable {_TOKEN}"
        raise InputError(msg)

    share_truck.check_address(platform)
    if sys.stdin is None:  # then another file may have its number
        msg = "standard input is closed: positions come there"
        raise InputError(msg)
    try:
        with (
            _truck(folder) as truck,
            closing(share_truck.Forwarding(truck, platform, token)) as forwarding,
        ):
            try:
                _run(truck, forwarding, every)
            except KeyboardInterrupt:
                say(f"voile: stopped{_waiting(truck)}")
    except KeyboardInterrupt:  # before it began, or while it ended
        say("voile: stopped")


def _run(truck: OwnTruck, forwarding: Forwarding, every: float) -> None:
    """Until the input ends and all reports are with the platform."""
    talk, heard, lines = _Talk(truck, forwarding, every), _Heard(truck), _Lines(sys.stdin.fileno())
    talk.begin()
    while not lines.ended:
        for line in lines.some(talk.rest):
            heard.line(line)
            talk.now_and_then()
        talk.now_and_then()
    heard.check()
    talk.now()
    if truck.waiting:
        say(f"voile: the input has ended{_waiting(truck)}")
    while truck.waiting:
        time.sleep(talk.rest)
        talk.now()


def _waiting(truck: OwnTruck) -> str:
    """What to add to a sentence about reports that the platform has not."""
    match truck.waiting:
        case 0:
            return ""
        case 1:
            return "; 1 report waits on this device"
        case many:
            return f"; {many:,} reports wait on this device"


class _Heard:
    """Makes reports of lines, and tells why lines were not taken."""

    def __init__(self, truck: OwnTruck) -> None:
        self._truck = truck
        self._understood = self._is_spent = False
        self._refused: Counter[str] = Counter()

    def line(self, line: bytes) -> None:
        """Make the report of a line; one that is not taken is no matter, the next comes soon."""
        if not line.strip() or line.startswith(_GPSD):
            return
        try:
            self._hear(self._truck.receive(ingest.Request("text/plain", body=line)))
        except ingest.IngestError as error:
            self._understood |= error.reason in _ABOUT_POSITIONS
            self._refused[error.reason] += 1
            self._tell(error.reason)

    def _hear(self, outcome: share_platform.SlotOutcome) -> None:
        """Tell of a budget that is spent, once until reports are made again."""
        self._understood = True
        if outcome is share_platform.SlotOutcome.BUDGET_SPENT and not self._is_spent:
            say("voile: the budget of this day (UTC) is spent: no report is made until it is over")
        self._is_spent = outcome is share_platform.SlotOutcome.BUDGET_SPENT or (
            self._is_spent and outcome is not share_platform.SlotOutcome.PUBLISHED
        )

    def check(self) -> None:
        """Raise ``InputError`` where there were lines, and none was understood."""
        if self._refused and not self._understood:
            msg = "nothing of the input was understood: it must be lines of NMEA 0183"
            raise InputError(msg)

    def _tell(self, reason: str) -> None:
        """The first time, and at every tenfold: a receiver without a fix says so every second."""
        count = self._refused[reason]
        if count == 10 ** (len(str(count)) - 1):
            lines = "a line was" if count == 1 else f"{count:,} lines were"
            say(f"voile: {lines} not taken ({reason}): {ingest.REASONS[reason]}")


class _Talk:
    """Talks with the platform every so often; where that is away, less and less often."""

    def __init__(self, truck: OwnTruck, forwarding: Forwarding, every: float) -> None:
        self._truck, self._forwarding, self._every = truck, forwarding, every
        self._on_board = truck.parcels()
        self._next = self._wait = 0.0
        self._tidied = time.monotonic()

    @property
    def rest(self) -> float:
        """Seconds until it is time."""
        return max(0.0, self._next - time.monotonic())

    def begin(self) -> None:
        """Fetch what parties submitted meanwhile: the first report is about their parcels, too."""
        with suppress(share_truck.AwayError):  # which the next call tells of
            self._forwarding.fetch()

    def now_and_then(self) -> None:
        """Fetch and send, if it is time."""
        if not self.rest:
            self.now()

    def now(self) -> None:
        """Fetch and send."""
        on_board = self._truck.parcels()
        if on_board != self._on_board:
            self._on_board = on_board
            self._forwarding.forget_what_was_read()
        try:
            self._forwarding.fetch()
            self._forwarding.send()
            self._wait = 0.0
        except share_truck.AwayError as error:
            if not self._wait:
                say(f"voile: {error}; it is tried again{_waiting(self._truck)}")
            longer = max(_LEAST_WAIT, 2 * self._wait) if error.wait is None else error.wait
            self._wait = min(_MOST_WAIT, longer)
        self._next = time.monotonic() + (self._wait or self._every)
        if time.monotonic() - self._tidied > _TIDY_SECONDS:
            self._tidied = time.monotonic()
            self._truck.tidy()


@contextmanager
def _truck(folder: Path) -> Iterator[share_truck.OwnTruck]:
    """The truck of a folder, closed at the end; raises ``InputError``."""
    with closing(share_truck.OwnTruck(folder, _settings(folder))) as truck:
        yield truck


def _settings(folder: Path) -> share_platform.Settings:
    path = folder / _SETTINGS
    if not path.exists():
        return share_platform.Settings()
    document = toml.toml_document(path, PlanError)
    settings: share_platform.Settings = value.read(
        share_platform.Settings, document, str(path), PlanError, tables=True
    )
    return settings


def _key(text: str) -> bytes:
    """A key in base64url."""
    try:
        return protocol_primitives.from_base64url(text)
    except (Base64Error, UnicodeEncodeError):
        msg = "a key is 32 bytes in base64url"
        raise InputError(msg) from None


class _Lines:
    """The lines of a descriptor; of what is too long to be one, only the beginning."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self.ended = False
        """Whether all was read."""

    def some(self, seconds: float) -> list[bytes]:
        """Whole lines, as soon as there are some; at the latest after so long, perhaps none."""
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return []
        read = os.read(self._descriptor, _AT_ONCE)
        self.ended = not read
        *lines, rest = (self._rest + read).split(b"\n")
        if self.ended and rest:
            lines.append(rest)
        self._rest = rest[:_LONGEST]
        return [line[:_LONGEST] for line in lines]

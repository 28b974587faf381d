"""``voile share truck``: a truck that perturbs, encrypts and publishes on a device of its own."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import tomllib
from binascii import Error as Base64Error
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.share_extra import share_extra
from voile.cli.show import as_json as json_option
from voile.cli.show import print_json, say
from voile.errors import InputError

if TYPE_CHECKING:
    from voile.sharing.platform import Settings
    from voile.sharing.truck import OwnTruck
    from voile.sharing.truck.forwarding import Forwarding

__all__ = ["truck_command"]

_TOKEN = "VOILE_TRUCK_TOKEN"  # noqa: S105 - the name of a variable
_SETTINGS = "truck.toml"
_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_PARCEL = click.argument("parcel")
_LEAST_WAIT, _MOST_WAIT = 1.0, 60.0


@click.group("truck", short_help="Perturb, encrypt and publish on the truck itself.")
def truck_command() -> None:
    """Run a truck whose keys stay on a device of its own: the platform sees ciphertext alone.

    A truck lives in a FOLDER, which `init` makes. What it publishes follows truck.toml there, whose
    keys are those of [platform] in the service's share.toml; slot_seconds must be the same.
    """


@truck_command.command("init", short_help="draw a truck's keys in a new folder")
@_FOLDER
@json_option
def init_command(folder: Path, *, as_json: bool) -> None:
    """Draw the keys of a truck, and print its card: what its company registers it by."""
    with share_extra():
        from voile.sharing.protocol.base64url import to_base64url  # noqa: PLC0415
        from voile.sharing.truck import OwnTruck  # noqa: PLC0415
    with closing(OwnTruck.create(folder)) as truck:
        card = to_base64url(truck.card)
    if as_json:
        print_json({"folder": str(folder), "truck": truck.truck.hex(), "card": card})
        return
    click.echo(card)
    say(f"{folder}: set up. Register this card at the platform, which gives a token; then:")
    say(f"  {_TOKEN}=TOKEN voile share truck run {folder} --platform https://...")


@truck_command.command("load", short_help="take a parcel on board")
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
def load_command(
    folder: Path, parcel: str, sender: str, receiver: str, destination: tuple[float, float] | None
) -> None:
    """Take PARCEL on board. Where it goes stays on this device."""
    with _truck(folder) as truck:
        truck.load(parcel.encode(), _key(sender), _key(receiver), destination or None)
    say(f"{folder}: one parcel more is on board.")


@truck_command.command("unload", short_help="deliver a parcel")
@_FOLDER
@_PARCEL
def unload_command(folder: Path, parcel: str) -> None:
    """Deliver PARCEL: its keys are forgotten, and no later report is about it."""
    with _truck(folder) as truck:
        truck.unload(parcel.encode())
    say(f"{folder}: one parcel less is on board.")


@truck_command.command("run", short_help="publish the positions of a receiver")
@_FOLDER
@click.option("--platform", required=True, metavar="URL", help="Such as https://share.example.org.")
@click.option(
    "--every",
    type=click.FloatRange(0.2, 3600),
    default=5.0,
    show_default=True,
    help="Seconds between two looks for submissions.",
)
def run_command(folder: Path, platform: str, every: float) -> None:
    """Publish positions that come as lines of NMEA 0183 on standard input.

    For example from gpsd: gpspipe -r | voile share truck run FOLDER --platform URL. The truck's
    token is read from the variable VOILE_TRUCK_TOKEN, since other users see the arguments of
    commands. Reports wait on this device while there is no network. It ends with its input.
    """
    token = os.environ.get(_TOKEN, "").strip()
    if not token:
        msg = f"put the truck's token into the variable {_TOKEN}"
        raise InputError(msg)
    with _truck(folder) as truck:
        with share_extra():
            from voile.sharing.truck.forwarding import Forwarding  # noqa: PLC0415
        with closing(Forwarding(truck, platform, token)) as forwarding:
            _run(truck, forwarding, every)


def _run(truck: OwnTruck, forwarding: Forwarding, every: float) -> None:
    """Until the input ends and all reports are with the platform."""
    lines, talk, ended = _lines(), _Talk(truck, forwarding, every), False
    while not ended:
        try:
            line = lines.get(timeout=min(every, 1.0))
        except queue.Empty:
            line = b""
        if line:
            _receive(truck, line)
        ended = line is None
        talk.now_and_then()
    while not talk.is_done():
        time.sleep(_LEAST_WAIT)


def _receive(truck: OwnTruck, line: bytes) -> None:
    from voile.sharing.ingest import IngestError, Request  # noqa: PLC0415

    # A line that was damaged, or tells no position; the next one comes soon.
    with suppress(IngestError):
        truck.receive(Request("text/plain", body=line))


class _Talk:
    """Talks with the platform every so often; where that is away, less and less often."""

    def __init__(self, truck: OwnTruck, forwarding: Forwarding, every: float) -> None:
        self._truck, self._forwarding, self._every = truck, forwarding, every
        self._on_board = truck.parcels()
        self._next = self._wait = 0.0

    def now_and_then(self) -> None:
        """Fetch and send, if it is time."""
        if time.monotonic() >= self._next:
            self._talk()

    def is_done(self) -> bool:
        """Whether everything could be sent."""
        self.now_and_then()
        return not self._wait

    def _talk(self) -> None:
        from voile.sharing.truck.forwarding import AwayError  # noqa: PLC0415

        if self._truck.parcels() != self._on_board:
            self._on_board = self._truck.parcels()
            self._forwarding.forget_what_was_read()
        try:
            self._forwarding.fetch()
            self._forwarding.send()
            self._wait = 0.0
        except AwayError as error:
            if not self._wait:
                say(str(error))
            self._wait = min(_MOST_WAIT, max(_LEAST_WAIT, 2 * self._wait))
        self._next = time.monotonic() + (self._wait or self._every)


def _lines() -> queue.Queue[bytes | None]:
    """Lines of standard input, as they come; None at its end."""
    lines: queue.Queue[bytes | None] = queue.Queue(1000)

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


@contextmanager
def _truck(folder: Path) -> Iterator[OwnTruck]:
    """The truck of a folder, closed at the end; raises ``InputError``."""
    with share_extra():
        from voile.sharing.truck import OwnTruck  # noqa: PLC0415
    with closing(OwnTruck(folder, _settings(folder))) as truck:
        yield truck


def _settings(folder: Path) -> Settings:
    from voile.sharing.platform import Settings  # noqa: PLC0415

    path = folder / _SETTINGS
    if not path.exists():
        return Settings()
    try:
        return Settings.from_document(tomllib.loads(path.read_text("utf-8")))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        msg = f"{path}: this is not TOML"
        raise InputError(msg) from None
    except InputError as error:
        msg = f"{path}: {error}"
        raise InputError(msg) from None


def _key(text: str) -> bytes:
    """A key in base64url."""
    from voile.sharing.protocol.base64url import from_base64url  # noqa: PLC0415

    try:
        return from_base64url(text)
    except (Base64Error, UnicodeEncodeError):
        msg = "a key is 32 bytes in base64url"
        raise InputError(msg) from None

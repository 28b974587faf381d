"""What every part of the platform is given: settings, stores, the key that seals, clock and tokens.

What is read from the directory for every report is believed afterwards (``Watch``): this process
says by itself what it changes, and asks the store now and then whether others have written.  Why a
caller may not has a reason for programs and a sentence for people, neither with a secret.

The key that seals what the platform must keep and nobody may read is a file of its own.

Secrets of trucks, states of streams and destinations are stored as AES-256-GCM ciphertexts, each
bound to what it is and whose.  Whoever has the database without this file reads none of them.
Whoever has both can publish as the trucks that do not encrypt themselves, and sees where their
parcels go; true positions are in neither (``writers``).  Keep the two apart in backups.

A key is replaced while a service runs (``rotation``): the file then holds the new one and the old
one, the first seals, both open.  A vault looks at its file now and then before it seals, and at
once where something does not open, so that no process has to be told.

Secrets in files of their own, which only the owner of the file may read.

Keys are 64 hexadecimal digits.  Where one takes the place of another, the file holds both for a
while, each on a line of its own, the new one first.
"""

from __future__ import annotations

import math
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, Self, get_args

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import Field

from voile_base.durable import write_text
from voile_base.errors import InputError, PlanError, VoileError
from voile_base.randomness import Key, Randomness
from voile_base.values.value import Real, Says, Several, checked
from voile_share.ingest import LIVE, Region, Rules, issue, token_hash
from voile_share.positions import (
    Displacements,
    Lengths,
    Levels,
    Mechanism,
    Near,
    PeriodDays,
    PrintedNoise,
    Share,
    Tau,
)
from voile_share.store import (
    AccessToken,
    Company,
    Directory,
    ReportLog,
    TokenRole,
    TrackingLink,
    Truck,
)

__all__ = [
    "LOOK_SECONDS",
    "MOST_DAYS",
    "REFUSALS",
    "AccessError",
    "BusyError",
    "DirectorySnapshot",
    "PlatformCore",
    "Settings",
    "Vault",
    "new_key",
    "printable",
    "read_key",
    "read_keys",
    "secret_text",
]

_KEY_BYTES = 32
_DIGITS = set("0123456789abcdef")


def new_key(path: Path, purpose: str) -> bytes:
    """Draw a key, and write it to a file that is not there yet; raises ``InputError``."""
    secret = Randomness.secure().key(purpose).secret
    try:
        write_text(path, secret.hex() + "\n", private=True, replacing=False)
    except OSError as error:
        msg = f"the key cannot be written to {path}: {error.strerror}"
        raise InputError(msg) from None
    return secret


def read_key(path: Path) -> bytes:
    """The 32 bytes of a key; raises ``InputError`` where others may read it, too."""
    (key,) = read_keys(path, most=1)
    return key


def read_keys(path: Path, most: int = 2) -> list[bytes]:
    """From one to ``most`` keys, of 32 bytes each; raises ``InputError`` as ``read_key`` does."""
    lines = secret_text(path, "the key").split()
    fit = all(len(line) == 2 * _KEY_BYTES and set(line) <= _DIGITS for line in lines)
    if not (fit and 1 <= len(lines) <= most):
        msg = f"{path} is no key: it must hold 64 hexadecimal digits"
        raise InputError(msg)
    return [bytes.fromhex(line) for line in lines]


def secret_text(path: Path, what: str) -> str:
    """What a file holds; raises ``InputError`` where others may read it, too."""
    try:
        mode = path.stat().st_mode
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        msg = f"{what} {path} cannot be read: {why}"
        raise InputError(msg) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        msg = f"others than its owner may read {what} {path}: chmod 600 {path}"
        raise InputError(msg)
    return text


_NONCE_BYTES = 12
LOOK_SECONDS = 2.0
"""Between two looks at the file before something is sealed."""

_Mark = tuple[int, int, int]


class Vault:
    """Seals and unseals; ``Vault.create`` makes the key, ``Vault.open`` reads it."""

    def __init__(self, *secrets: bytes, path: Path | None = None) -> None:
        """``secrets``: keys of 32 bytes, of which the first one seals; ``path``: their file."""
        self._path = path
        self._mark = None if path is None else _mark(path)
        self._looked = time.monotonic()
        self._take(secrets)

    def _take(self, secrets: Sequence[bytes]) -> None:
        self._secrets = tuple(secrets)
        # The oldest one is the root of draws that must stay the same.
        self._root = Randomness(Key(self._secrets[-1]).secret, publishable=True)
        self._ciphers = tuple(
            AESGCM(Randomness(Key(secret).secret, publishable=True).key("vault").secret)
            for secret in self._secrets
        )

    def __repr__(self) -> str:
        return "Vault(secret)"

    def __reduce__(self) -> tuple[Callable[..., Vault], tuple[object, ...]]:
        # For processes of the platform's own, which get it by a pipe.
        return _again, (self._secrets, self._path)

    @classmethod
    def create(cls, path: Path) -> Self:
        """Write a new key to a file that only its owner may read; raises ``InputError``."""
        return cls(new_key(path, "vault"), path=path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read the key; raises ``InputError`` where others may read it, too."""
        return cls(*read_keys(path), path=path)

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """The keys, the one that seals first."""
        return self._secrets

    def look(self) -> bool:
        """Read the file again where it was changed; whether it was."""
        self._looked = time.monotonic()
        if self._path is None or (mark := _mark(self._path)) in {None, self._mark}:
            return False
        with suppress(InputError):  # such as one that somebody is copying: look again later
            self._take(read_keys(self._path))
            self._mark = mark
            return True
        return False

    def randomness(self, *purpose: str) -> Randomness:
        """Draws that only the holder of the key can repeat."""
        return self._root.within(*purpose)

    def seal(self, context: bytes, secret: bytes) -> bytes:
        """A ciphertext that opens in this context alone; 28 bytes longer."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self.look()
        nonce = Randomness.secure().key("nonce").secret[:_NONCE_BYTES]
        return nonce + self._ciphers[0].encrypt(nonce, secret, context)

    def unseal(self, context: bytes, sealed: bytes) -> bytes:
        """The inverse; raises ``InputError`` where key or context is another one."""
        opened = self._opened(context, sealed)
        if opened is None and self.look():
            opened = self._opened(context, sealed)
        if opened is None:
            msg = "what the store holds was sealed by another key: use the key it began with"
            raise InputError(msg)
        return opened

    def resealed(self, context: bytes, sealed: bytes) -> bytes:
        """The same sealed by the first key; itself where it is already.  Raises ``InputError``."""
        first = self._ciphers[:1]
        if self._opened(context, sealed, first) is not None:
            return sealed
        return self.seal(context, self.unseal(context, sealed))

    def _opened(
        self, context: bytes, sealed: bytes, ciphers: Sequence[AESGCM] | None = None
    ) -> bytes | None:
        nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers if ciphers is None else ciphers:
            with suppress(InvalidTag, ValueError):
                return cipher.decrypt(nonce, ciphertext, context)
        return None


def _again(secrets: Sequence[bytes], path: Path | None) -> Vault:
    return Vault(*secrets, path=path)


def _mark(path: Path) -> _Mark | None:
    """What changes when a file is replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


_DAY = 86_400
MOST_DAYS = 3_660
"""For which anything is kept."""
_Seen = Literal["near", "middle", "far", "nothing"]


@checked(PlanError)
@dataclass(frozen=True)
class Settings:
    """The terms of a platform; raises ``PlanError`` where they cannot be."""

    slot_seconds: Annotated[
        int,
        Field(ge=1, le=_DAY),
        Says("a whole number that divides a day, such as 300"),
    ] = 300
    """A truck publishes once in each slot of so many seconds; it divides the day."""
    displacements: Displacements = (150.0, 600.0, 2400.0)
    """``Levels.displacements``: metres, near to far."""
    mechanism: Mechanism = "gaussian-field"
    """``Levels.mechanism``: ``gaussian-field``, ``correlated-gaussian``, or ``angle-selection``."""
    as_printed: PrintedNoise | None = None
    """``Levels.as_printed``, of ``angle-selection``: the paper's version, for study."""
    tau: Tau = 120.0
    """``Levels.tau``: seconds."""
    stays: Share = 0.8
    """``Levels.stays``, of a field: the share of the noise that stays with the place."""
    lengths: Lengths = (700.0, 800.0, 1400.0)
    """``Levels.lengths``, of a field: metres, near to far."""
    period_days: PeriodDays = 28.0
    """``Levels.period_days``, of a field."""
    shared: Share = 0.75
    """``Levels.shared``, of a field: what of that all trucks of a company have in common."""
    near: Near = (2_000.0, 10_000.0)
    """``Levels.near``: metres to the destination."""
    distance: Annotated[Real, Field(gt=0)] = 100.0
    """Metres between the trajectories that the budget is about."""
    delta: Annotated[Real, Field(gt=0, lt=1)] = 1e-5
    """At which the budget is priced."""
    budget: Annotated[Real, Field(gt=0)] | None = None
    """Epsilon that a truck may spend in a day (UTC); None: accounted, and not bounded."""
    room: Annotated[int, Field(ge=0, le=1000)] = 30
    """Reports are padded as if a truck had at least so many parcels."""
    keep_days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = 31
    """Days for which reports and submissions are kept, of companies that have no other number."""
    operator_sees: _Seen = "far"
    """The published position that people who run the service, and companies, see of trucks whose
    keys it holds: ``near``, ``middle``, ``far`` or ``nothing``."""
    region: (
        Annotated[
            Several[Real],
            Field(min_length=4, max_length=4),
            Says("south, west, north and east, in degrees"),
        ]
        | None
    ) = None
    """South, west, north, east of where trucks are: finds coordinates that were swapped."""

    def __post_init__(self) -> None:
        if _DAY % self.slot_seconds:
            msg = "slot_seconds must be a whole number that divides a day, such as 300"
            raise PlanError(msg)
        if self.budget is not None and self.as_printed is not None:
            msg = (
                "budget bounds nothing where as_printed is set: reports of angle-selection have no "
                "price; leave budget out, or choose another mechanism"
            )
            raise PlanError(msg)
        if self.region is not None:
            south, west, north, east = self.region
            if not (-90 <= south < north <= 90 and -180 <= west < east <= 180):
                msg = "region must be south, west, north and east, in degrees"
                raise PlanError(msg)
        self.levels  # noqa: B018 - what goes with a mechanism is checked

    @cached_property
    def levels(self) -> Levels:
        """How noisy each level is."""
        return Levels(
            self.displacements,
            self.tau,
            self.near,
            self.mechanism,
            self.stays,
            self.lengths,
            self.period_days,
            self.shared,
            self.as_printed,
        )

    @property
    def operator_level(self) -> int | None:
        """The level of ``operator_sees``: 0 (near) to 2 (far); None: nothing."""
        level = get_args(_Seen).index(self.operator_sees)
        return level if level < len(self.displacements) else None

    @cached_property
    def rules(self) -> Rules:
        """What is taken from a device under way."""
        return LIVE if self.region is None else Rules(region=Region(*self.region))

    def slot(self, now: float) -> int:
        """The slot of a time: its first second since 1970."""
        return int(now) // self.slot_seconds * self.slot_seconds


REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "arrivals-unfit": "The table of arrivals is none",
        "company-closed": "The company was closed",
        "days-out-of-range": "The number of days cannot be",
        "device-unfit": "The name of the device cannot be used",
        "device-unknown": "The truck has no such device",
        "card-taken": "Another truck has this card",
        "card-unfit": "The card is not that of a truck",
        "hook-unfit": "The hook cannot be",
        "hook-unknown": "There is no such hook",
        "hours-out-of-range": "The number of hours cannot be",
        "key-unfit": "The keys of the parties cannot be",
        "label-unfit": "The label of the link cannot be used",
        "link-expired": "The link has expired",
        "link-revoked": "The link was revoked",
        "link-unknown": "There is no such link",
        "mail-box-full": "Too many submissions are waiting for this truck",
        "name-unfit": "The name cannot be used",
        "not-in-the-chain": "The report does not continue the truck's records",
        "own-keys": "The truck holds its keys itself",
        "parcel-carried": "The truck carries a parcel of this number",
        "parcel-unfit": "The number of the parcel cannot be used",
        "parcel-unknown": "The truck carries no such parcel",
        "place-unfit": "The destination is no position",
        "slot-unfit": "The slot of the report is none of this platform",
        "token-refused": "The token does not open this door",
        "truck-retired": "The truck was retired",
        "truck-unknown": "There is no such truck",
    }
)
"""What each reason means, in words."""


class AccessError(InputError):
    """A call is refused; ``reason`` is one of ``REFUSALS``."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{REFUSALS[reason]}{': ' if advice else ''}{advice}")
        self.reason = reason


class BusyError(VoileError):
    """More is waiting than can be done soon; try again in a moment."""


def printable(text: str, most: int, reason: str) -> str:
    """A name without the blanks around it; raises ``AccessError`` where it cannot be shown."""
    name = text.strip()
    if not 1 <= len(name) <= most or not name.isprintable():
        raise AccessError(reason, f"1 to {most} printable characters")
    return name


_LOOK_SECONDS = 2.0
"""Between two looks whether others have written."""
_BELIEVED_SECONDS = (3.0, 5.0)
"""For how long something is believed where the store cannot tell whether others have written.  Each
thing has its own time in between, so that those that were read together are not again."""


class DirectorySnapshot(NamedTuple):
    """How the directory was when something was read from it."""

    writes: int | None
    """``Directory.foreign_writes``."""
    time: float
    until: float
    """Up to when it is believed, where nobody can tell."""


class _Watch:
    """Whether what was read from the directory may be believed still.  Threads may share it."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._last = DirectorySnapshot(None, -math.inf, -math.inf)

    def look(self, now: float, whose: bytes) -> DirectorySnapshot:
        """How the directory is; to be asked before something of a number is read from it."""
        shortest, longest = _BELIEVED_SECONDS
        patience = shortest + (longest - shortest) * whose[0] / 255
        return DirectorySnapshot(self._writes(now), now, now + patience)

    def is_stale(self, seen: DirectorySnapshot, now: float) -> bool:
        """Whether to read it again, although this process has not changed it."""
        if seen.writes is None:
            return not seen.time <= now < seen.until
        return self._writes(now) != seen.writes

    def _writes(self, now: float) -> int | None:
        if not 0 <= now - self._last.time < _LOOK_SECONDS:
            self._last = DirectorySnapshot(self._directory.foreign_writes(), now, now)
        return self._last.writes


@dataclass(frozen=True)
class PlatformCore:
    """Stores, key, terms, entropy and clock of a platform."""

    directory: Directory
    log: ReportLog
    vault: Vault
    settings: Settings = field(default_factory=Settings)
    randomness: Randomness = field(default_factory=Randomness.secure)
    clock: Callable[[], float] = time.time
    _drawn: Iterator[int] = field(default_factory=count, repr=False)

    @cached_property
    def watch(self) -> _Watch:
        """Whether what was read from the directory still holds."""
        return _Watch(self.directory)

    def fresh(self, purpose: str) -> Randomness:
        """Randomness that no other call has been given."""
        return self.randomness.within(purpose, str(next(self._drawn)))

    def new_token(self) -> str:
        """160 random bits in 32 letters and digits: of a company, a truck, an auditor, a link."""
        return issue("", 0.0, randomness=self.fresh("token"))[0]

    def open_token(self, token: str, role: TokenRole) -> AccessToken:
        """What is kept of a token; raises ``AccessError`` in one way for whatever is wrong."""
        kept = self.directory.token(token_hash(token))
        if kept is None or kept.role is not role or not kept.is_open(self.clock()):
            raise AccessError("token-refused")
        return kept

    def company_of(self, token: str) -> Company:
        """The company of a token; raises ``AccessError``."""
        company = self.directory.company(self.open_token(token, TokenRole.COMPANY).holder)
        if company is None or company.closed is not None:
            raise AccessError("token-refused")
        return company

    def truck_of(self, token: str) -> Truck:
        """The truck that publishes by itself with a token; raises ``AccessError``."""
        truck = self.directory.truck(bytes.fromhex(self.open_token(token, TokenRole.TRUCK).holder))
        if truck is None or truck.retired is not None or not self.is_served(truck):
            raise AccessError("token-refused")
        return truck

    def auditor_of(self, token: str) -> str:
        """The auditor's name; raises ``AccessError``."""
        return self.open_token(token, TokenRole.AUDITOR).holder

    def link_of(self, number: str) -> TrackingLink:
        """An open link; raises ``AccessError`` and says whether it is unknown or has ended.

        Whoever has the number of a link has had the link, so that gives nothing away.
        """
        link = self.directory.link(token_hash(number))
        if link is None:
            raise AccessError("link-unknown", "copy the whole address, or ask for a new one")
        if link.revoked is not None and link.revoked <= self.clock():
            raise AccessError("link-revoked", "ask for a new one")
        if not (link.is_open(self.clock()) and self._leads_somewhere(link)):
            raise AccessError("link-expired", "ask for a new one")
        return link

    def _leads_somewhere(self, link: TrackingLink) -> bool:
        """Whether the company of a link is open, and the truck, where it is to one, not retired."""
        if link.follows_parcel:
            return self._is_open(link.company)
        truck = None if link.truck is None else self.directory.truck(link.truck)
        return truck is not None and truck.retired is None and self.is_served(truck)

    def company_behind(self, link: TrackingLink) -> str:
        """The number of the company that has opened a link."""
        if link.company or link.truck is None:
            return link.company
        truck = self.directory.truck(link.truck)
        return "" if truck is None else truck.company

    def is_served(self, truck: Truck) -> bool:
        """Whether the company of a truck is open."""
        return self._is_open(truck.company)

    def _is_open(self, number: str) -> bool:
        company = self.directory.company(number)
        return company is not None and company.closed is None

    def own_truck(self, company: Company, number: bytes) -> Truck:
        """A truck of the company; another company's is unknown to it.  Raises ``AccessError``."""
        truck = self.directory.truck(number)
        if truck is None or truck.company != company.company:
            raise AccessError("truck-unknown")
        if truck.retired is not None:
            raise AccessError("truck-retired")
        return truck

"""From the true positions of one truck to its signed reports: a pure function.

A ``Draft`` holds all that a truck's next reports depend on, a ``Writer`` makes the reports, and
``Written`` says from where the truck goes on.  So any thread and any process may write, one that
dies loses nothing, and a draft that is written twice gives the same bytes.

The true position exists in a draft and nowhere else.  All that is random about a report (the noise
of its positions, its ephemeral key, its dummies) comes from entropy of the draft, which is kept
nowhere; and the noise itself, which the next report's is correlated with, stays in memory.  So
whoever gets hold of everything stored, of what lies in its log and of the key that seals it finds
no true position.  Noise that stays with places has to survive a restart: its keys, of one truck or
one company and one period, are in what is stored, sealed.  With them, the vault's key and the
reports he computes what stays, for this period, and is left with the fresh part of the noise.
After a restart the fresh part of a truck's noise begins anew.

Of the positions that are published, the one that the operator may see stays in memory too, for the
operator's page: as it was published, of the last report, and on no disk.

What a parcel's parties may see is decided by the near position that was just perturbed, never by
the true one: so it follows from what is private already, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from voile_base.randomness import Key, Randomness
from voile_geo.geodesy import metres_between
from voile_share.ingest import Fix
from voile_share.platform.settings import Settings
from voile_share.platform.vault import Vault
from voile_share.positions import BudgetSpentError, PositionStream
from voile_share.protocol import Carried, Content, Position, ReportPublisher, TrackingPublic, day_of

__all__ = ["Aboard", "Draft", "SlotOutcome", "Writer", "Written", "stream_context"]

_MOST_STREAMS = 20_000
_DAY = 86_400


class SlotOutcome(StrEnum):
    """What became of a message of a device."""

    PUBLISHED = "published"
    """At least one report was published for it, and is durable."""
    KNOWN_SLOT = "known-slot"
    """Its slots are published already, or earlier than the last one that is."""
    BEHIND = "behind"
    """Its positions are of slots long before the last report: they are thrown away."""
    SUPERSEDED = "superseded"
    """Its positions are not later than the last one published."""
    BUDGET_SPENT = "budget-spent"
    """The truck may publish no more on this day."""
    NOTHING = "nothing"
    """It told no position."""


@dataclass(frozen=True)
class Aboard:
    """A parcel whose parties have agreed on keys for a day."""

    keys: TrackingPublic
    destination: tuple[float, float] | None = field(repr=False)
    """Degrees north and east; None where that was not said."""
    parcel: bytes = b""
    """Its number."""


@dataclass(frozen=True)
class Draft:
    """What the next reports of a truck are made of.  Private."""

    publisher: ReportPublisher = field(repr=False)
    state: bytes | None = field(repr=False)
    """Of the truck's stream of positions, or what was kept of it; None before its first report."""
    randomness: Randomness
    """For these reports and nothing else."""
    fixes: Sequence[tuple[int, Fix]] = field(repr=False)
    """Slots, ascending and later than the publisher's last, and the true position of each."""
    aboard: Mapping[int, Sequence[Aboard]]
    """Parcels by the day of the slots."""
    fleet: Mapping[int, Key] = field(default_factory=dict, repr=False)
    """By slot the key of the noise that trucks of its company have in common."""

    @property
    def truck(self) -> bytes:
        """The truck's number."""
        return self.publisher.secrets.truck


@dataclass(frozen=True)
class Written:
    """Reports, and from where their truck goes on."""

    outcome: SlotOutcome
    reports: Sequence[tuple[int, bytes, bytes]]
    """For each its slot, its bytes, and what is kept of the stream after it, sealed."""
    publisher: ReportPublisher = field(repr=False)
    state: bytes | None = field(repr=False)
    shown: Sequence[Sequence[Position]] = field(default=(), repr=False)
    """The positions of each report, of all levels."""
    nearing: Sequence[tuple[bytes, float]] = ()
    """Parcels with a destination, and the metres that parties are shown in the last report."""


class Writer:
    """Writes for the trucks of one platform.  For one thread at a time; others get a copy."""

    def __init__(self, vault: Vault, settings: Settings) -> None:
        self._vault = vault
        self._settings = settings
        # Streams as they are after the last report, to spare reading their states.
        self._streams: dict[bytes, tuple[bytes, PositionStream]] = {}
        self._period = 0

    def __reduce__(self) -> tuple[type[Writer], tuple[Vault, Settings]]:
        return Writer, (self._vault, self._settings)

    def write(self, draft: Draft) -> Written:
        """A report for each position that is later than those before it, as the budget allows.

        Raises ``InputError`` where a truck carries more parcels than a report has room for.
        """
        self._forget_ended(draft.fixes[-1][0])
        stream, context = self._stream(draft), stream_context(draft.truck)
        publisher, state, outcome = draft.publisher, draft.state, SlotOutcome.KNOWN_SLOT
        reports: list[tuple[int, bytes, bytes]] = []
        shown: list[Sequence[Position]] = []
        nearing: Sequence[tuple[bytes, float]] = ()
        for slot, fix in draft.fixes:
            if stream.time is not None and fix.time <= stream.time:
                outcome = SlotOutcome.SUPERSEDED
                continue
            drawn = draft.randomness.within(str(slot))
            stream.rekey(drawn.key("positions"))
            try:
                positions = stream.report(
                    fix.latitude, fix.longitude, fix.time, slot, draft.fleet.get(slot)
                )
            except BudgetSpentError:
                outcome = SlotOutcome.BUDGET_SPENT
                continue
            aboard = draft.aboard[day_of(slot)]
            carried = [self._carried(one, positions) for one in aboard]
            nearing = [
                (one.parcel, float(made.remaining))
                for one, made in zip(aboard, carried, strict=True)
                if made.remaining is not None
            ]
            content = Content(positions, carried, self._settings.room)
            publisher, message = publisher.publish(slot, content, drawn)
            state = stream.state
            shown.append(positions)
            reports.append((slot, message, self._vault.seal(context, stream.kept)))
        if state is not None:
            self._remember(draft.truck, state, stream)
        became = SlotOutcome.PUBLISHED if reports else outcome
        return Written(became, reports, publisher, state, shown, nearing)

    def _stream(self, draft: Draft) -> PositionStream:
        """The stream at the draft's state, from memory where it is there."""
        # Taken out: after an error it may have gone ahead of what is stored.
        remembered, stream = self._streams.pop(draft.truck, (None, None))
        if stream is not None and remembered == draft.state:
            return stream
        settings = self._settings
        return PositionStream(
            settings.levels,
            draft.randomness.key("positions"),
            distance=settings.distance,
            delta=settings.delta,
            budget=settings.budget,
            state=draft.state,
        )

    def _forget_ended(self, slot: int) -> None:
        """In a new period forget all streams: they hold the keys of the one before."""
        period = int(slot // (self._settings.period_days * _DAY))
        if period > self._period:
            self._streams.clear()
            self._period = period

    def _remember(self, truck: bytes, state: bytes, stream: PositionStream) -> None:
        if len(self._streams) >= _MOST_STREAMS:
            self._streams.clear()
        self._streams[truck] = state, stream

    def _carried(self, one: Aboard, positions: Sequence[Position]) -> Carried:
        if one.destination is None:
            return Carried(one.keys, level=len(positions) - 1)
        level = self._settings.levels.level(_metres(positions[0], one.destination))
        # From the position that the party sees: it tells nothing that the party does not know.
        return Carried(one.keys, level, round(_metres(positions[level], one.destination)))


def stream_context(truck: bytes) -> bytes:
    """What the sealed state of a truck's stream is bound to."""
    return b"stream of a truck" + truck


def _metres(position: Position, place: tuple[float, float]) -> float:
    return float(metres_between(position.latitude, position.longitude, *place))

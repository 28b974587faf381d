"""The sharing protocol: run times of both suites beside the paper's, and looking for a parcel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import in_turn, seconds_text
from voile_base.randomness import Randomness
from voile_share.protocol import (
    Carried,
    Content,
    PairKeys,
    Position,
    Suite,
    TrackingSecret,
    TruckSlot,
    primitives,
    suite_named,
)
from voile_share.protocol.primitives import SingleUse
from voile_share.protocol.suite import Materials
from voile_share.protocol.suites import ITERATIONS, unwrap, wrap

__all__ = ["run"]

SEED = 2023
TRUCKS, ITEMS = 450, 30
CALLS, SEARCHES = 300, 3
LEAST_FASTER = 20
DAY = 20_000
SLOT = DAY * 86_400
POSITIONS = tuple(Position(52.0, 4.0, SLOT, 2.0**-level) for level in (6, 7, 8))
PAPERS = {
    "key derivation": 0.506,
    "tracking key": 0.438e-3,
    "stealth address": 0.850e-3,
    "recognition": 0.440e-3,
    "ECIES": 0.295e-3,
}
"""Seconds in the paper, on its machine."""
Step = Callable[[], object]


def run() -> Measurement:
    """Time each step in turn for both suites, then look for a parcel in one slot of all trucks."""
    suites = [suite_named(name) for name in ("voile", "paper")]
    sides = {
        f"{step}, {suite.name}": call for suite in suites for step, call in _steps(suite).items()
    }
    for call in sides.values():
        call()
    calls = {name: (5 if "derivation" in name else CALLS, 1) for name in sides}
    taken = in_turn(sides, calls, CALLS)
    searched = _search(suites)
    ratio = searched["paper, one R per item"] / searched["voile, one R per report"]
    alike = searched["voile, one R per item"] / searched["voile, one R per report"]
    return Measurement(
        question="What does each step of the sharing protocol take, and looking for a parcel among "
        f"{TRUCKS} trucks with {ITEMS} parcels each?",
        data=f"synthetic keys; {TRUCKS} reports of {ITEMS} items; PBKDF2 with {ITERATIONS:,} "
        "iterations in suite paper (the paper gives no number)",
        seeds=f"{SEED}",
        protocol=f"one process, one thread; all steps of both suites called in turn, median of "
        f"{CALLS} (key derivation: 5); searches in turn, median of {SEARCHES} ({7 * SEARCHES} with "
        "one R per report); the parcel is in no "
        "report, so all are looked at; reports are in memory and neither decoded nor verified.  "
        "ECIES is wrapping and unwrapping one location key; suite voile has X25519, HKDF and "
        "AES-GCM for it, as in sealed submissions.",
        answer=f"Recognition with one R per report is {ratio:.0f} times faster than the paper's "
        f"suite with one R per item, and {alike:.0f} times faster than the same suite with one R "
        "per item.",
        targets=[
            *(
                Target(
                    f"{step}, suite {suite.name}", f"below {seconds_text(seconds)}",
                    seconds_text(_slowest(taken, step, suite)),
                    _slowest(taken, step, suite) < seconds,
                )
                for step, seconds in PAPERS.items()
                for suite in suites
            ),
            Target(
                f"one parcel among {TRUCKS} reports of {ITEMS} items, against one R per item",
                f"at least {LEAST_FASTER} times faster",
                f"{ratio:.0f} times; {alike:.0f} in one suite",
                min(ratio, alike) >= LEAST_FASTER,
            ),
        ],
        tables=[
            Table(
                "Run times",
                ("step", "suite", "time"),
                [(*name.rsplit(", ", 1), seconds_text(each)) for name, each in taken.items()],
            ),
            Table(
                f"One slot of {TRUCKS} trucks with {ITEMS} parcels each",
                ("suite", "time"),
                [(name, seconds_text(each)) for name, each in searched.items()],
            ),
        ],
    )  # fmt: skip


def _slowest(taken: dict[str, float], step: str, suite: Suite) -> float:
    """A step may have two halves, such as wrapping and unwrapping: the slower one counts."""
    return max(
        seconds
        for name, seconds in taken.items()
        if name.startswith(step) and name.endswith(suite.name)
    )


def _steps(suite: Suite) -> dict[str, Step]:
    place = TruckSlot(bytes(16), SLOT)
    r = Randomness.seeded(SEED).key("r").secret
    materials = Materials(b"sender", b"receiver", bytes(16), bytes(16), r, r[::-1])
    pair = suite.pair_keys(materials)
    secret = suite.tracking_secret(pair, b"parcel", DAY)
    public = suite.tracking_public(secret)
    ephemeral = suite.ephemeral(r)

    def tracking() -> object:
        return suite.tracking_public(suite.tracking_secret(pair, b"parcel", DAY))

    def stealth() -> object:
        return suite.ephemeral(r), suite.address(public, r, place)

    steps: dict[str, Step] = {
        "key derivation": lambda: suite.pair_keys(materials),
        "tracking key": tracking,
        "stealth address": stealth,
        "recognition": lambda: suite.expected_address(secret, ephemeral, place),
    }
    return steps | (_sealing(r) if suite.name == "voile" else _wrapping(secret, r))


def _wrapping(secret: TrackingSecret, r: bytes) -> dict[str, Step]:
    public = primitives.multiple_of_base(secret.opening)
    wrapped = wrap(public, bytes(16), r)
    return {
        "ECIES, wrapping": lambda: wrap(public, bytes(16), r),
        "ECIES, unwrapping": lambda: unwrap(secret.opening, wrapped),
    }


def _sealing(r: bytes) -> dict[str, Step]:
    """What suite voile has for ECIES where there is no stealth secret, as for submissions."""
    own = r[::-1]
    public = primitives.x25519_public(own)

    def cipher(shared: bytes, ephemeral: bytes) -> SingleUse:
        return SingleUse(shared, "benchmark", public, salt=ephemeral)

    def seal() -> tuple[bytes, bytes]:
        ephemeral = primitives.x25519_public(r)
        return ephemeral, cipher(primitives.x25519(r, public), ephemeral).seal(bytes(16), ephemeral)

    ephemeral, box = seal()

    def unseal() -> bytes:
        return cipher(primitives.x25519(own, ephemeral), ephemeral).open(box, ephemeral, "the key")

    return {"ECIES, wrapping": seal, "ECIES, unwrapping": unseal}


def _search(suites: Sequence[Suite]) -> dict[str, float]:
    """Seconds to look for a parcel that is nowhere, so that everything is looked at."""
    randomness = Randomness.seeded(SEED)
    sides: dict[str, Step] = {}
    for suite in suites:
        pair = PairKeys(*(randomness.key(name).secret[:31] + b"\1" for name in "ab"))
        secrets = [suite.tracking_secret(pair, b"parcel %d" % n, DAY) for n in range(ITEMS + 1)]
        wanted, carried = secrets[-1], [Carried(suite.tracking_public(one), 1) for one in secrets]
        content = Content(POSITIONS, carried[:ITEMS])
        places = [TruckSlot(number.to_bytes(16, "big"), SLOT) for number in range(TRUCKS)]
        slot = [(place, suite.compose(place, content, randomness)) for place in places]
        each = "report" if suite.name == "voile" else "item"
        sides[f"{suite.name}, one R per {each}"] = partial(_look, suite, wanted, slot)
        if suite.name == "voile":
            items = [
                (place, suite.ephemeral(r), suite.address(one.keys, r, place))
                for place in places
                for number, one in enumerate(content.parcels)
                for r in [randomness.key("r", place.truck.hex(), f"{number}").secret]
            ]
            sides["voile, one R per item"] = partial(_look_singly, suite, wanted, items)
    return in_turn(sides, {"voile, one R per report": (SEARCHES, 7)}, SEARCHES)


def _look(suite: Suite, secret: TrackingSecret, slot: Sequence[tuple[TruckSlot, bytes]]) -> None:
    assert all(suite.recognise(secret, place, body) is None for place, body in slot)


def _look_singly(
    suite: Suite, secret: TrackingSecret, items: Sequence[tuple[TruckSlot, bytes, bytes]]
) -> None:
    assert all(suite.expected_address(secret, r, place) != p for place, r, p in items)

"""The page's modules, run in a real browser and compared with Python."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from share_tests.page.conftest import Viewer
from share_tests.protocol.scenes import NOON, VOILE, link, report, truck
from voile_base.randomness import Randomness
from voile_geo.geodesy import east_north
from voile_share.arrival import ArrivalTable, Past, SharedPosition
from voile_share.map import Streets
from voile_share.protocol import Reader, ReaderLink, Record, RejectedError, Report
from voile_share.protocol.truck import digest_of_body

pytestmark = pytest.mark.slow

VECTORS = Path(__file__).parents[1] / "protocol" / "vectors.json"
READ = """
const { keysIn } = await load("link");
const { Reader } = await load("reader");
const { Rejected } = await load("rejected");
const octets = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const reader = new Reader(keysIn(given.fragment), given.last ?? -1);
const outcomes = [];
for (const report of given.reports) {
  try {
    const seen = await reader.read(octets(report), given.now);
    outcomes.push(seen && [
      seen.level, seen.latitude, seen.longitude, seen.time, seen.epsilon, seen.remaining,
    ]);
  } catch (fault) {
    if (!(fault instanceof Rejected)) throw fault;
    outcomes.push(fault.reason);
  }
}
return outcomes;
"""


@pytest.fixture
def modules(viewer: Viewer) -> Viewer:
    """A document of the page's origin and policy that runs nothing, in which modules are loaded."""
    viewer.page.goto(f"{viewer.stub.origin}/static/icon.svg")
    return viewer


def read_in_browser(viewer: Viewer, fragment: str, *reports: bytes, **more: Any) -> list[Any]:
    """What the page's reader makes of reports: sightings, None, or reasons."""
    written = [one.hex() for one in reports]
    return viewer.runs(READ, {"fragment": fragment, "reports": written, "now": NOON, **more})


def read_in_python(fragment: str, message: bytes, last: int = -1) -> Any:
    """The same by the package."""
    try:
        _, seen = Reader(ReaderLink.from_fragment(fragment), last).read(message, NOON)
    except RejectedError as error:
        return error.reason.value
    if seen is None:
        return None
    at = seen.position
    return [seen.level, at.latitude, at.longitude, at.time, at.epsilon, seen.remaining]


def test_the_frozen_report_gives_the_frozen_sighting(modules: Viewer) -> None:
    """The vectors of the protocol, decoded in the browser."""
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    message = bytes.fromhex(vectors["report"])
    assert read_in_browser(modules, vectors["fragment"], message) == [vectors["sighting"]]


def test_browser_and_package_judge_reports_alike(modules: Viewer) -> None:
    """Whole, changed, cut, prolonged, foreign: the same sighting or the same reason."""
    fragment = link(days=2).fragment()
    whole = report(parcels=3)
    draws = Randomness.seeded(5).key("changes").stream(60) % np.uint64(len(whole))
    changed = [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in map(int, draws)]
    odd = [
        b"",
        whole[:20],
        whole[:-1],
        whole + b"\0",
        report(slot=NOON + 61),
        report(slot=NOON - 86_400),
    ]
    item = 26 + 130 + 68 * parcel_item(whole)
    # In the parcel's address, in R, in the position, in another item.
    resigned = [signed_again(whole, at) for at in (item + 31, 30, 100, item + 68 + 40)]
    # Items that do not ascend, and an R that is not canonical.
    resigned += [signed_again(whole, at, 0xFF) for at in (item, 57)]
    assert {"field", "tampered", "point"} <= {
        outcome
        for message in resigned
        if isinstance(outcome := read_in_python(fragment, message), str)
    }
    for message in (whole, *changed, *odd, *resigned):
        (ours,) = read_in_browser(modules, fragment, message)
        assert ours == read_in_python(fragment, message)
    other = link(number=7).fragment()
    assert read_in_browser(modules, other, whole) == [None] == [read_in_python(other, whole)]


def parcel_item(message: bytes) -> int:
    """The number of the item that is about the first parcel."""
    whole = Report.decode(message)
    found = VOILE.recognise(link().key(whole.at.slot), whole.at, whole.body)
    assert found is not None
    return found


def signed_again(message: bytes, at: int, value: int | None = None) -> bytes:
    """A report whose truck has signed what no honest one would: one octet of it is another."""
    changed = message[at] ^ 1 if value is None else value
    forged = message[:at] + bytes([changed]) + message[at + 1 :]
    whole = Report.decode(message)
    digest = digest_of_body(VOILE.code, forged[26 : 26 + len(whole.body)])
    record = Record(whole.at, whole.sequence, digest, whole.previous).signed(truck())
    return forged[:-64] + record.signature


def test_slots_only_move_forward(modules: Viewer) -> None:
    """The same report again is replayed, and so is every report of an earlier slot."""
    first, second = report(slot=NOON - 600), report(slot=NOON - 300)
    fragment = link().fragment()
    outcomes = read_in_browser(modules, fragment, first, first, second, first)
    assert [outcomes[1], outcomes[3]] == ["replayed", "replayed"]
    assert outcomes[0] == outcomes[2] == read_in_python(fragment, first)
    assert read_in_browser(modules, fragment, first, last=NOON - 600) == ["replayed"]


def test_the_forecast_is_what_the_package_says(modules: Viewer) -> None:
    """Of 3,000 looks into a table that was fitted: the same interval, or none, as by Python."""
    drawn = np.random.default_rng(5)
    past = []
    for _ in range(260):
        metres = drawn.uniform(50, 40_000, 6)
        times = 1_700_000_000 + drawn.uniform(0, 86_400, 6)
        stops = int(drawn.integers(0, 14)) if drawn.random() < 0.5 else None
        arrived = float(times.max() + 3_000)
        seen = [
            SharedPosition(float(t), float(m), 0.0, stops)
            for t, m in zip(times, metres, strict=True)
        ]
        past.append(Past.of(seen, arrived))
    table = ArrivalTable.fit(past, 7.0)
    asked = [
        SharedPosition(
            float(1_700_000_000 + drawn.uniform(0, 86_400)),
            float(round(np.exp(drawn.uniform(3, 12)))),
            float(drawn.choice([0, 1_500, 1_800])),
            None if drawn.random() < 0.5 else int(drawn.integers(0, 14)),
        )
        for _ in range(3_000)
    ]
    body = """
    const { forecast } = await load("arrival");
    return given.asked.map((one) => {
      const found = forecast(given.table, one);
      return found && [found.low, found.high, found.tours];
    });
    """
    given = {"table": table.document(), "asked": [asdict(one) for one in asked]}
    read = ArrivalTable.read(table.document())
    wanted = [
        None if found is None else [found.low, found.high, found.tours]
        for found in map(read.forecast, asked)
    ]
    assert modules.runs(body, given) == wanted
    assert None in wanted
    assert len({str(one) for one in wanted}) > 50
    body = (
        "const { forecast } = await load('arrival'); return given.map((one) => forecast(one, {}));"
    )
    odd = [
        None,
        7,
        {},
        {"voile": "arrival table", "version": 2},
        {**table.document(), "rows": None},
    ]
    assert modules.runs(body, odd) == [None] * len(odd)


def _uniform(draws: Randomness, name: str, count: int) -> np.ndarray:
    words = draws.key(name).stream(count)
    return np.asarray((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


@pytest.mark.parametrize("displacement", [150.0, 600.0, 2_400.0])
def test_the_circle_holds_nine_of_ten(modules: Viewer, displacement: float) -> None:
    """Of 100,000 Gaussian displacements with the mean 2 / epsilon: 90 % +- 0.4 % (4 sigma)."""
    body = "const { radius } = await load('uncertainty'); return radius(given);"
    radius = modules.runs(body, 2 / displacement)
    uniform = _uniform(Randomness.seeded(3), "displacements", 200_000)
    length = np.hypot(*ndtri(uniform).reshape(2, -1)) * displacement / math.sqrt(math.pi / 2)
    assert length.mean() == pytest.approx(displacement, rel=0.01)
    assert (length <= radius).mean() == pytest.approx(0.9, abs=0.004)


def test_streams_are_read_however_they_are_cut(modules: Viewer) -> None:
    """Events of all line ends, in pieces of every size; comments and unknown fields are nothing."""
    text = (
        ': hello\r\n\r\nevent: terms\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'
        "id: 7\nevent:report\ndata:AQ\nretry: 5\n\n\r\rdata: \u00e9nd\r\revent: lost\ndata: x"
    )
    body = """
    const { eventsOf } = await load("feed");
    const octets = new TextEncoder().encode(given);
    const read = [];
    for (let size = 1; size <= octets.length; size += 1) {
      const stream = new ReadableStream({ start(to) {
        for (let at = 0; at < octets.length; at += size) to.enqueue(octets.slice(at, at + size));
        to.close();
      } });
      const events = [];
      for await (const event of eventsOf(stream)) events.push([event.name, event.data]);
      read.push(JSON.stringify(events));
    }
    return [...new Set(read)];
    """
    (read,) = modules.runs(body, text)
    assert json.loads(read) == [["terms", '{"a":\n1}'], ["report", "AQ"], ["message", "\u00e9nd"]]


def test_the_map_is_read_as_it_was_written(modules: Viewer) -> None:
    """The points of all lines, in degrees, across the date line too, to the unit of the map."""
    latitude = np.array([-17.0, -17.01, -17.02, -17.0, -17.05])
    longitude = np.array([179.98, 179.99, -179.99, -179.97, 179.95])
    ends = np.array([[0, 1], [1, 2], [2, 3], [0, 4]]).T
    rank = np.array([0, 0, 0, 4])
    made = Streets(latitude, longitude, *ends, rank).compact(tolerance=0)
    body = """
    const { roadsIn } = await load("roads");
    const { layers } = roadsIn(given);
    return layers.map(({ rank, pieces }) => [rank, pieces.map(({ points }) => [...points])]);
    """
    layers = dict(modules.runs(body, made.document))
    assert list(layers) == ["street", "motorway"]
    (line,) = layers["motorway"]
    earth = 6_378_137
    x, y = np.degrees(np.array(line).reshape(-1, 2).T / earth)
    north = np.degrees(np.arctan(np.sinh(np.radians(y))))
    order = (
        slice(None)
        if north[0] == pytest.approx(-17.0) and x[0] % 360 < 180
        else slice(None, None, -1)
    )
    assert north[order] == pytest.approx(latitude[:4], abs=1e-5)
    assert x[order] % 360 == pytest.approx(longitude[:4] % 360, abs=1e-5)
    assert np.ptp(x) < 0.1


def test_names_are_written_once_where_there_is_room(modules: Viewer) -> None:
    """Along their streets and never upside down, large places first, none on another.

    What is too small for the scale, longer than its street, or outside of the picture is left out.
    """
    body = """
    const { writeNames } = await load("labels");
    const written = [];
    const context = {
      measureText: (name) => ({ width: 6 * name.length }),
      save() {}, restore() {}, strokeText() {},
      translate(x, y) { this.at = [x, y]; },
      rotate(turn) { this.turn = turn; },
      fillText(name) { written.push([name, ...this.at, this.turn]); },
    };
    const view = { scale: given.scale, box: [0, 0, 1000 / given.scale, 800 / given.scale] };
    writeNames(context, given, view, {});
    return written;
    """

    def street(name: str, *ends: list[float], rank: str = "street") -> dict[str, Any]:
        return {"name": name, "rank": rank, "ends": ends}

    streets = [
        street("Main Street", [100, 100], [300, 100], rank="primary"),
        street("Main Street", [150, 120], [350, 120], rank="primary"),
        street("Across", [200, 50], [200, 150]),
        street("Back Lane", [800, 600], [700, 700]),
        street("Upright", [500, 700], [500, 600]),
        street("A very long name", [600, 100], [640, 100]),
        street("Yard", [600, 300], [700, 300], rank="service"),
        street("Beyond", [3000, 300], [3100, 300]),
    ]
    places = [
        {"name": "Hamlet", "kind": "village", "at": [402, 500]},
        {"name": "City", "kind": "city", "at": [400, 500]},
    ]
    given = {"scale": 0.4, "streets": streets, "places": places}
    near = modules.runs(body, given)
    assert near[0] == ["City", 160, pytest.approx(600), 0]
    assert [name for name, *_ in near] == ["City", "Main Street", "Back Lane", "Upright"]
    assert near[1][1:] == pytest.approx((80, 760, 0))
    larger = {**given, "scale": 0.9}
    shown = {name: turn for name, *_, turn in modules.runs(body, larger)}
    assert shown == {
        "City": 0,
        "Main Street": 0,
        "Back Lane": pytest.approx(math.pi / 4),
        "Upright": pytest.approx(-math.pi / 2),
        "Yard": 0,
    }
    far = {**given, "scale": 0.001}
    assert [name for name, *_ in modules.runs(body, far)] == ["City"]


def test_a_map_of_a_later_version_is_not_drawn(modules: Viewer) -> None:
    """What the page does not know it does not guess at."""
    body = "const { roadsIn } = await load('roads'); return roadsIn(given);"
    assert modules.runs(body, {"format": "voile-road-map", "version": 2}) is None


def test_courses_are_those_of_the_ellipsoid_to_half_a_percent(modules: Viewer) -> None:
    """Metres and direction between positions some kilometres apart, across the date line too."""
    body = "const { course } = await load('plane'); return given.map((pair) => course(...pair));"
    pairs = [
        ((52.0, 4.0), (52.05, 4.1)),
        ((-33.9, 18.4), (-34.0, 18.3)),
        ((-17, 179.99), (-17, -179.98)),
    ]
    given = [[{"latitude": a, "longitude": b} for a, b in pair] for pair in pairs]
    for (start, end), found in zip(pairs, modules.runs(body, given), strict=True):
        east, north = (
            float(side[0]) for side in east_north(*(np.array([side]) for side in start + end))
        )
        assert found["metres"] == pytest.approx(math.hypot(east, north), rel=0.005)
        assert found["direction"] == pytest.approx(
            math.degrees(math.atan2(east, north)) % 360, abs=0.5
        )


def test_lengths_of_time_and_way_are_said_as_people_say_them(modules: Viewer) -> None:
    """Rounded to what can be meant."""
    body = """
    const { ago, distance, direction, rounded } = await load("words");
    return [[5, 60, 200, 5_000, 90_000, 200_000].map(ago), [0, 8, 257, 1_027, 12_345].map(distance),
      [0, 44, 91, 359].map(direction), rounded({ low: 65, high: 3_605 })];
    """
    times, ways, winds, interval = modules.runs(body)
    assert times == [
        "just now",
        "1 minute ago",
        "3 minutes ago",
        "83 minutes ago",
        "25 hours ago",
        "2 days ago",
    ]
    assert ways == ["0 m", "8 m", "260 m", "1.0 km", "12 km"]
    assert winds == ["north", "north-east", "east", "north"]
    assert interval == {"low": 0, "high": 3_900}


@pytest.mark.parametrize(
    ("now", "old", "when", "basis"),
    [
        (0, False, "Between {low} and {high}", "9 of 10"),
        (1_500, False, "Before {high}", "9 of 10"),
        (4_000, False, "Later than usual", "It was expected before {high}."),
        (4_000, True, "Before {high}", "That time has passed, and no newer report has come."),
    ],
)
def test_arrival_is_said_as_people_say_it(
    modules: Viewer, now: int, old: bool, when: str, basis: str
) -> None:
    """Between two times; its end alone once its beginning has passed; and that it is late."""
    noon = modules.noon
    times = {"low": modules.clock(noon + 1_200), "high": modules.clock(noon + 3_300)}
    body = """
    const [tours, noon, now, old] = given;
    const { arrivalWords } = await load("showing");
    return arrivalWords({ low: noon + 1_260, high: noon + 3_280, tours }, noon + now, old);
    """
    said = modules.runs(body, [200, noon, now, old])
    assert said["when"] == when.format(**times)
    assert basis.format(**times) in said["basis"]
    assert ("200 tours" in said["basis"]) == (now < 3_000)
    assert modules.runs("return (await load('showing')).arrivalWords(null, 0, false);") is None

"""Lines RMC of NMEA 0183."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.ingest.messages import ARRIVAL, FIXES, NOW, as_nmea, close, sentence
from voile_share.ingest.fixes import (
    KNOT,
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    Refusal,
    Rules,
)
from voile_share.ingest.formats import decode_nmea

LINE = "GPRMC,115900.00,A,5154.00000,N,00424.00000,E,10.0,54.7,040526,020.3,E,A"
EVER = Rules(past=1e10)


def decode(said: str, arrival: Arrival = ARRIVAL) -> Decoded:
    """A body of one sentence, its checksum added."""
    return decode_nmea(sentence(said).encode(), arrival)


def reason(body: str | bytes, arrival: Arrival = ARRIVAL) -> str:
    with pytest.raises(IngestError) as caught:
        decode_nmea(body if isinstance(body, bytes) else body.encode(), arrival)
    return caught.value.reason


@given(FIXES, st.sampled_from(["GP", "GN", "GL", "GA", "GB", "BD", "II"]))
def test_what_a_receiver_writes_is_read(fix: Fix, talker: str) -> None:
    """Within a millimetre, whoever talks; other values are not in the sentence."""
    (told,) = decode_nmea(as_nmea(fix, talker), ARRIVAL).fixes
    assert close(told, replace(fix, accuracy=None, altitude=None, battery=None))


def test_sentences_of_real_receivers_are_read() -> None:
    """Published examples of gpsd and u-blox with their checksums, and one with blanks (4.1)."""
    lines = {
        "$GPRMC,225446,A,4916.45,N,12311.12,W,000.5,054.7,191194,020.3,E*68": Fix(
            "truck-7",
            49 + 16.45 / 60,
            -(123 + 11.12 / 60),
            datetime(1994, 11, 19, 22, 54, 46, tzinfo=UTC).timestamp(),
            0.5 * KNOT,
            54.7,
        ),
        "$GPRMC,083559.00,A,4717.11437,N,00833.91522,E,0.004,77.52,091202,,,A*57": Fix(
            "truck-7",
            47 + 17.11437 / 60,
            8 + 33.91522 / 60,
            datetime(2002, 12, 9, 8, 35, 59, tzinfo=UTC).timestamp(),
            0.004 * KNOT,
            77.52,
        ),
        sentence(
            "GPRMC,170047.00,A,4121.23302,N,00201.31654,W,2.703, ,200417, , ,A,V"
        ).strip(): Fix(
            "truck-7",
            41 + 21.23302 / 60,
            -(2 + 1.31654 / 60),
            datetime(2017, 4, 20, 17, 0, 47, tzinfo=UTC).timestamp(),
            2.703 * KNOT,
        ),
    }
    decoded = decode_nmea("\r\n".join(lines).encode(), Arrival(NOW, EVER, "truck-7"))
    assert decoded.fixes == tuple(lines.values())
    assert decoded.format is Format.NMEA


def test_other_sentences_say_nothing() -> None:
    """A log of a receiver is read for its lines RMC; a maker's PGRMC is none."""
    others = [
        sentence("GPGGA,115900.00,5154.0,N,00424.0,E,1,08,0.9,3.0,M,46.9,M,,"),
        sentence("PGRMC,A,1,2,3"),
        "!AIVDM,1,1,,B,0000000000000000000000,0*00\n",
    ]
    body = "".join([others[0], sentence(LINE), *others[1:]]).encode()
    assert len(decode_nmea(body, ARRIVAL).fixes) == 1
    assert decode_nmea("".join(others).encode(), ARRIVAL) == Decoded(Format.NMEA)


def test_one_bad_line_does_not_hold_back_the_others() -> None:
    """What is damaged or without a fix is told with its place among the lines RMC."""
    damaged = sentence(LINE).replace("5154", "5155")
    waiting = sentence(LINE.replace(",A,5154", ",V,5154"))
    decoded = decode_nmea((damaged + sentence(LINE) + waiting).encode(), ARRIVAL)
    assert len(decoded.fixes) == 1
    assert decoded.refused == (Refusal(0, "checksum-wrong"), Refusal(2, "no-fix"))


@given(st.integers(1, len(LINE)), st.integers(0x20, 0x7E))
def test_one_changed_character_is_never_taken(place: int, code: int) -> None:
    """The checksum tells every single change; no position is read from a damaged line."""
    line = sentence(LINE).strip()
    changed = line[:place] + chr(code) + line[place + 1 :]
    if changed != line:
        try:
            fixes = decode_nmea(changed.encode(), ARRIVAL).fixes
        except IngestError:
            fixes = ()
        assert fixes == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (",A,5154", ",V,5154", "no-fix"),
        ("E,A", "E,N", "no-fix"),
        ("E,A", "E,S", "no-fix"),
        ("E,A", "E,M", "no-fix"),
        ("5154.00000", "5160.00000", "not-a-number"),
        ("5154.00000", "154.00000", "not-a-number"),
        ("5154.00000", "9154.00000", "coordinates-swapped"),
        ("00424.00000", "19024.00000", "longitude-out-of-range"),
        ("5154.00000,N", ",", "field-missing"),
        ("5154.00000,N", "5154.00000,E", "not-a-number"),
        ("10.0,54.7", "fast,54.7", "not-a-number"),
        ("040526", "310226", "time-unreadable"),
        ("040526", "0405", "time-unreadable"),
        ("040526", "", "field-missing"),
        ("115900.00", "246000.00", "time-unreadable"),
        ("115900.00", "115961.00", "time-unreadable"),
        ("040526", "040527", "time-in-the-future"),
        ("040526", "040525", "time-too-old"),
        (LINE, "GPRMC,115900.00,A", "not-nmea"),
        (LINE, LINE + ",1,2,3", "not-nmea"),
    ],
)
def test_a_bad_sentence_is_refused_with_its_reason(before: str, after: str, expected: str) -> None:
    """Each with a right checksum, so that nothing else is wrong."""
    assert before in LINE
    assert reason(sentence(LINE.replace(before, after))) == expected


def test_what_is_no_sentence_is_refused() -> None:
    """No checksum, a wrong one, none of the format, too long, not text, and no device."""
    assert reason(f"${LINE}\r\n") == "checksum-wrong"
    assert reason(f"${LINE}*00\r\n") == "checksum-wrong"
    assert reason("$") == "not-nmea"
    assert reason("$GPRMC," + "1" * 300) == "not-nmea"
    assert reason("") == "not-nmea"
    assert reason("hello") == "not-nmea"
    assert reason(b"$\xff") == "not-utf-8"
    assert reason(sentence(LINE), Arrival(NOW)) == "device-missing"


@pytest.mark.parametrize(("now", "year"), [(2026, 1990), (2026, 2031), (2085, 2090), (2099, 2102)])
def test_years_of_two_digits_are_those_nearest_to_our_clock(now: int, year: int) -> None:
    """Receivers of 1990 and of 2090 are both understood, each in its time."""
    clock = datetime(now, 6, 1, tzinfo=UTC).timestamp()
    arrival = Arrival(clock, Rules(past=1e10, future=1e10), "truck-7")
    (fix,) = decode(LINE.replace("040526", f"0405{year % 100:02d}"), arrival).fixes
    assert datetime.fromtimestamp(fix.time, UTC).year == year


def test_a_leap_second_is_the_next_one() -> None:
    """23:59:60 is midnight, as on the clock of 1970."""
    (fix,) = decode(LINE.replace("115900.00", "235960.00").replace("040526", "030526")).fixes
    assert fix.time == datetime(2026, 5, 4, tzinfo=UTC).timestamp()

"""Lines RMC of NMEA 0183, as receivers of satellite navigation write them.

What it reads: RMC as the gpsd project describes it (https://gpsd.gitlab.io/gpsd/NMEA.html) and as
receivers implement it (u-blox, ZED-F9P Interface Description, section RMC).

    $GPRMC,hhmmss.ss,A,ddmm.mm,N,dddmm.mm,E,knots,degrees,ddmmyy,variation,E,mode,status*checksum

- The checksum, the exclusive or of all characters between $ and *, must be there and right.
- Status V, and the modes N (not valid), S (simulator) and M (typed in), are refused: no fix.
- A year of two digits is in the century that brings the date nearest to our clock.
- The navigational status, the last field since NMEA 4.1, is not read: receivers that do not
  provide it write V.
- Any talker is taken: GP, GL, GA, GB, ... (one system each), GN (several), II and IN (a ship's
  instruments); but P begins sentences of makers, such as Garmin's PGRMC, which is no RMC.
- Other sentences (GGA, GSV, ...) say nothing here.

The lines name no device; it is that of the token they came with.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import reduce
from operator import xor

from voile_share.ingest.fixes import (
    KNOT,
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    check_size,
    decimal,
    decoded,
    device_name,
    quietly,
    text_of,
)

__all__ = ["checksum", "decode_nmea"]

_LONGEST = 255
_LINE = re.compile(r"[$!](?P<said>[\x20-\x29\x2b-\x7e]*)(?:\*(?P<sum>[0-9A-Fa-f]{2}))?")
_RMC = re.compile(r"[A-OQ-Z][A-Z]RMC")
_OTHER = re.compile(r"(?P<name>[A-Z][A-Z0-9]{2,})(,|$)")
_DATE = re.compile(r"(\d\d)(\d\d)(\d\d)", re.ASCII)
_CLOCK = re.compile(r"(\d\d)(\d\d)(\d\d(?:\.\d{0,9})?)", re.ASCII)
_LATITUDE = re.compile(r"(\d\d)(\d\d(?:\.\d{0,12})?)", re.ASCII)
_LONGITUDE = re.compile(r"(\d\d\d)(\d\d(?:\.\d{0,12})?)", re.ASCII)
_NO_FIX = frozenset("NSM")


def decode_nmea(body: bytes, arrival: Arrival) -> Decoded:
    """The positions of the lines RMC of a body, in their order; other lines say nothing.

    Raises ``IngestError``; a body without a single line of NMEA 0183 is refused.
    """
    check_size(body, arrival.rules)
    lines = [line for line in map(str.strip, text_of(body).splitlines()) if line]
    if not lines:
        raise IngestError("not-nmea")
    items = [line for line in lines if not _is_other(line)]
    return decoded(Format.NMEA, items, lambda line: _fix(line, arrival), arrival)


def checksum(said: str) -> str:
    """Two hexadecimal digits for what stands between $ and *, in ASCII."""
    return f"{reduce(xor, said.encode('ascii'), 0):02X}"


def _is_other(line: str) -> bool:
    """Whether a line is a whole sentence of NMEA 0183 that is not RMC."""
    found = _LINE.fullmatch(line[: _LONGEST + 1])
    name = None if found is None else _OTHER.match(found["said"])
    return name is not None and not _RMC.fullmatch(name["name"])


def _fix(line: str, arrival: Arrival) -> Fix:
    fields = _fields_of(line)
    status, mode = fields[2], fields[12]
    if status != "A" or mode in _NO_FIX:
        raise IngestError("no-fix", "the receiver warns, or does not measure its position")
    return Fix(
        device=device_name(arrival.device),
        latitude=_degrees(_LATITUDE, fields[3], fields[4], "NS"),
        longitude=_degrees(_LONGITUDE, fields[5], fields[6], "EW"),
        time=_time(fields[9], fields[1], arrival.now),
        speed=_scaled(fields[7], "speed", KNOT),
        course=_scaled(fields[8], "course", 1),
    )


def _fields_of(line: str) -> list[str]:
    """The fields of a line RMC whose checksum is right; those at its end that are absent empty."""
    found = _LINE.fullmatch(line) if len(line) <= _LONGEST else None
    if found is None or not _RMC.match(found["said"]):
        raise IngestError("not-nmea")
    if found["sum"] is None or found["sum"].upper() != checksum(found["said"]):
        raise IngestError("checksum-wrong", "it must be there, and right")
    fields = [field.strip() for field in found["said"].split(",")]
    if not 10 <= len(fields) <= 14 or not _RMC.fullmatch(fields[0]):
        raise IngestError("not-nmea", "a line RMC has 9 to 13 fields")
    return fields + [""] * (14 - len(fields))


def _scaled(text: str, name: str, unit: float) -> float | None:
    number = decimal(text or None, name)
    return None if number is None else number * unit


def _degrees(form: re.Pattern[str], text: str, side: str, sides: str) -> float:
    """Degrees of degrees and minutes; the second of ``sides`` is the negative one."""
    name = "latitude" if sides == "NS" else "longitude"
    if not text or not side:
        raise IngestError("field-missing", name)
    found = form.fullmatch(text)
    if found is None or len(side) != 1 or side not in sides or float(found[2]) >= 60:
        raise IngestError("not-a-number", f"the {name} in degrees and minutes")
    size = int(found[1]) + float(found[2]) / 60
    return -size if side == sides[1] else size


def _time(date: str, clock: str, now: float) -> float:
    if not date or not clock:
        raise IngestError("field-missing", "date or time")
    days, parts = _DATE.fullmatch(date), _CLOCK.fullmatch(clock)
    # 60 is a leap second: the clock of 1970 shows the next second twice.
    if days is None or parts is None or int(parts[1]) > 23 or int(parts[2]) > 59:
        raise IngestError("time-unreadable", "date or time")
    if float(parts[3]) >= 61:
        raise IngestError("time-unreadable", "date or time")
    midnights = (_midnight(century + int(days[3]), days) for century in (1900, 2000, 2100))
    possible = [midnight for midnight in midnights if midnight is not None]
    if not possible:
        raise IngestError("time-unreadable", "date or time")
    midnight = min(possible, key=lambda moment: abs(moment - now))
    return midnight + int(parts[1]) * 3600 + int(parts[2]) * 60 + float(parts[3])


def _midnight(year: int, days: re.Match[str]) -> float | None:
    return quietly(
        lambda: datetime(year, int(days[2]), int(days[1]), tzinfo=UTC).timestamp(), ValueError
    )

"""What is said to a device of a position that will be refused for ever.

Phones keep positions in a queue and send the oldest until they are answered by a status below 400:
Traccar Client before 9 every 30 s (traccar-client-android, ``RequestManager``, to which every other
status is an exception, and ``TrackingController``, which reads the same position again), Traccar
Client 9 and others as well (transistorsoft/react-native-background-geolocation, issue 275: until
the server returns 200).  One position that nobody will ever take, such as the oldest of a phone
that was away for eight days, would so hold back all that follow.  Of such a position a device whose
token is right hears that it may go on, and the body of the answer says why nothing was taken.

What somebody should see to is refused all the same: tokens, what is no message or lacks fields, and
files, which people send.  So is a time in the future: it comes, or somebody's clock is put right,
and until then the device keeps the position.
"""

from __future__ import annotations

from voile.sharing.ingest.arrivals import Decoded, Format
from voile.sharing.ingest.detecting import Request, detect
from voile.sharing.ingest.errors import IngestError
from voile.sharing.ingest.fixes import BACKFILL

__all__ = ["passed_over"]

_FOR_EVER = frozenset(
    {
        "coordinates-swapped",
        "latitude-out-of-range",
        "longitude-out-of-range",
        "no-fix",
        "position-at-origin",
        "time-too-old",
        "value-out-of-range",
    }
)


def passed_over(refusal: IngestError, request: Request) -> tuple[str, bytes] | None:
    """Content type and body to answer with status 200; None where it is to be refused."""
    if not refusal.positions or refusal.reason not in _FOR_EVER:
        return None
    form = detect(request.content_type, request.query, request.body, BACKFILL)
    if form is Format.GPX:
        return None
    content_type, body = Decoded(form).reply
    return content_type, body or f"not taken: {refusal.reason}\n".encode()

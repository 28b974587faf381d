"""What phones and trackers send, made into positions; pure, without sockets, disk or clock.

    request -> detect -> decoder -> Decoded(fixes, refused, reply)
    token   -> token_hash -> (the store) -> admit -> the device

Decoders take bytes and texts and return plain values; the only error that they raise is
``IngestError``, which has a reason for programs and a sentence for people and never shows a
position.  The exact positions that they return are private: the publisher of locations perturbs
them before anything is stored.
"""

from voile_share.ingest.fixes import (
    AHEAD_SECONDS,
    BACKFILL,
    LIVE,
    REASONS,
    Arrival,
    Decoded,
    DeviceToken,
    Fix,
    Format,
    IngestError,
    Refusal,
    Region,
    Rules,
    admit,
    check_last,
    issue,
    token_hash,
    token_in,
)
from voile_share.ingest.formats import (
    Request,
    decode_owntracks_mqtt,
    detect,
    device_of_topic,
    passed_over,
)

__all__ = [
    "AHEAD_SECONDS",
    "BACKFILL",
    "LIVE",
    "REASONS",
    "Arrival",
    "Decoded",
    "DeviceToken",
    "Fix",
    "Format",
    "IngestError",
    "Refusal",
    "Region",
    "Request",
    "Rules",
    "admit",
    "check_last",
    "decode_owntracks_mqtt",
    "detect",
    "device_of_topic",
    "issue",
    "passed_over",
    "token_hash",
    "token_in",
]

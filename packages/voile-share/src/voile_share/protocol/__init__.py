"""Protocols 1 to 3 as values and pure functions: no socket, no disk, no clock.

Time and randomness are passed in; machines are frozen and give their successors; one message type
for each step, with one encoding.  A message that is not accepted raises ``RejectedError``, with its
reason, and changes nothing.

    primitives     messages as bytes, why one is refused, keys, points and signatures
    suite          the interface of a suite of ciphers
    suites         the two that there are: the one to use, and that of the paper
    agreement      Protocols 1 and 2: the keys of sender and receiver, and what the truck learns
    truck          Protocol 3: what a truck is, publishes and signs, and who reads it
    parcel_link    a parcel that changes trucks: its links, what its carrier says

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023).
"""

from voile_share.protocol.agreement import (
    Established,
    Pair,
    Readers,
    Receiver,
    Role,
    SealedSubmission,
    Sender,
    Submission,
    TrackingKeys,
    Waybill,
)
from voile_share.protocol.parcel_link import (
    Notice,
    ParcelLink,
    ParcelReader,
    ParcelRoot,
    SealedNotice,
    Stage,
    carrier_number,
)
from voile_share.protocol.primitives import Reason, RejectedError
from voile_share.protocol.suite import (
    LEVELS,
    Carried,
    Content,
    PairKeys,
    Position,
    Sighting,
    Suite,
    TrackingPublic,
    TrackingSecret,
    TruckSlot,
)
from voile_share.protocol.suites import suite_named
from voile_share.protocol.truck import (
    Auditor,
    Reader,
    ReaderLink,
    Record,
    Report,
    ReportPublisher,
    TruckCard,
    TruckSecrets,
    day_of,
    search,
)

__all__ = [
    "LEVELS",
    "Auditor",
    "Carried",
    "Content",
    "Established",
    "Notice",
    "Pair",
    "PairKeys",
    "ParcelLink",
    "ParcelReader",
    "ParcelRoot",
    "Position",
    "Reader",
    "ReaderLink",
    "Readers",
    "Reason",
    "Receiver",
    "Record",
    "RejectedError",
    "Report",
    "ReportPublisher",
    "Role",
    "SealedNotice",
    "SealedSubmission",
    "Sender",
    "Sighting",
    "Stage",
    "Submission",
    "Suite",
    "TrackingKeys",
    "TrackingPublic",
    "TrackingSecret",
    "TruckCard",
    "TruckSecrets",
    "TruckSlot",
    "Waybill",
    "carrier_number",
    "day_of",
    "search",
    "suite_named",
]

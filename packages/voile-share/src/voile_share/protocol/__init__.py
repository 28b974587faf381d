"""Protocols 1 to 3 as values and pure functions: no socket, no disk, no clock.

Time and randomness are passed in; machines are frozen and give their successors; one message type
for each step, with one encoding.  A message that is not accepted raises ``RejectedError``, with its
reason, and changes nothing.

    wire, rejection          messages as bytes, and why one is refused
    group, derivation,       what PyNaCl and ``cryptography`` compute
    signing
    position, keys, truck    what travels, who holds which key
    suite                    the interface of both suites: ``voile_suite``, ``paper_suite``
    establishment            Protocol 1, sender and receiver
    tracking, sealing        Protocol 2, the parties and the truck
    report, audit            Protocol 3, the truck: what it publishes and signs
    reader                   Protocol 3, the reader
    parcel_link, notice      a parcel that changes trucks: its links, what its carrier says

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023).
"""

from voile_share.protocol.audit import Auditor, Record, is_equivocation
from voile_share.protocol.establishment import Established, Pair, Receiver, Sender
from voile_share.protocol.keys import PairKeys, TrackingPublic, TrackingSecret
from voile_share.protocol.notice import Notice, SealedNotice, Stage
from voile_share.protocol.parcel_link import ParcelLink, ParcelReader, ParcelRoot, carrier_number
from voile_share.protocol.position import LEVELS, Position
from voile_share.protocol.reader import Reader, ReaderLink, day_of, search
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.report import Report, ReportPublisher
from voile_share.protocol.sealing import SealedSubmission
from voile_share.protocol.suite import Carried, Content, Sighting, Suite, TruckSlot
from voile_share.protocol.suites import suite_named
from voile_share.protocol.tracking import Readers, Role, Submission, TrackingKeys, Waybill
from voile_share.protocol.truck import TruckCard, TruckSecrets

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
    "is_equivocation",
    "search",
    "suite_named",
]

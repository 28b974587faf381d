"""Reports of trucks that hold their keys: what is looked at before one is stored."""

from __future__ import annotations

from voile_share.platform.access import AccessError
from voile_share.platform.settings import Settings
from voile_share.protocol import Reason, RejectedError, Report, TruckCard
from voile_share.store import Entry, Truck

__all__ = ["checked_entry"]

_EARLY_SECONDS = 60
"""By which the clock of a truck may be ahead."""


def checked_entry(truck: Truck, message: bytes, settings: Settings, now: float) -> Entry:
    """What is to be stored of a report.

    Raises ``RejectedError`` where it is none, is another truck's, is not signed or has a slot that
    has not begun, and ``AccessError`` where its slot is none of the platform's.
    """
    report = Report.decode(message)
    at = report.at
    if not report.suite.signs:
        msg = f"reports of suite {report.suite.name} are not signed, and are not taken"
        raise RejectedError(Reason.SUITE, msg)
    if at.truck != truck.truck:
        msg = "the report is of another truck than the token"
        raise RejectedError(Reason.FOREIGN, msg)
    report.record().check_signature(truck.truck, TruckCard.decode(truck.card).verifying)
    if at.slot > now + _EARLY_SECONDS:
        msg = f"slot {at.slot} has not begun"
        raise RejectedError(Reason.FUTURE, msg)
    if at.slot % settings.slot_seconds:
        raise AccessError("slot-unfit", f"use multiples of {settings.slot_seconds}")
    return Entry(truck.truck, at.slot, message)

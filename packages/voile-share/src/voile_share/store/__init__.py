"""Where a platform keeps things: the interface of stores, and stores in SQLite and PostgreSQL."""

from voile_share.store.outbox import StoredHook, WaitingMessage
from voile_share.store.overview import FleetRow, ParcelRow
from voile_share.store.people import AuditLine, BrowserSession, User, UserRole
from voile_share.store.postgres import PostgresStore
from voile_share.store.protocols import Appended, ConflictError, Directory, ReportLog, StoreError
from voile_share.store.records import (
    AccessToken,
    ArrivalPast,
    Company,
    Device,
    Entry,
    Mail,
    MailBounds,
    Parcel,
    TokenRole,
    TrackingLink,
    Truck,
)
from voile_share.store.sqlite import SQLiteStore
from voile_share.store.upkeep import SealedColumn

__all__ = [
    "AccessToken",
    "Appended",
    "ArrivalPast",
    "AuditLine",
    "BrowserSession",
    "Company",
    "ConflictError",
    "Device",
    "Directory",
    "Entry",
    "FleetRow",
    "Mail",
    "MailBounds",
    "Parcel",
    "ParcelRow",
    "PostgresStore",
    "ReportLog",
    "SQLiteStore",
    "SealedColumn",
    "StoreError",
    "StoredHook",
    "TokenRole",
    "TrackingLink",
    "Truck",
    "User",
    "UserRole",
    "WaitingMessage",
]

"""Where a platform keeps things: the interface of stores, and stores in SQLite and PostgreSQL."""

from voile_share.store.directory import StoredHook, WaitingMessage
from voile_share.store.people import AuditLine, BrowserSession, FleetRow, ParcelRow, User, UserRole
from voile_share.store.postgres import PostgresStore
from voile_share.store.protocols import (
    AccessToken,
    Appended,
    ArrivalPast,
    Company,
    ConflictError,
    Device,
    Directory,
    Entry,
    Mail,
    MailBounds,
    Parcel,
    ReportLog,
    StoreError,
    TokenRole,
    TrackingLink,
    Truck,
)
from voile_share.store.schema import SealedColumn
from voile_share.store.sqlite import SQLiteStore

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

"""Where a platform keeps things: the interface of stores, and stores in SQLite and PostgreSQL."""

from voile_share.store.outbox import Hook, Waiting
from voile_share.store.overview import FleetRow, ParcelRow
from voile_share.store.people import AuditLine, Session, User, UserRole
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
    Role,
    TrackingLink,
    Truck,
)
from voile_share.store.sqlite import SQLiteStore
from voile_share.store.upkeep import Column

__all__ = [
    "AccessToken",
    "Appended",
    "ArrivalPast",
    "AuditLine",
    "Column",
    "Company",
    "ConflictError",
    "Device",
    "Directory",
    "Entry",
    "FleetRow",
    "Hook",
    "Mail",
    "MailBounds",
    "Parcel",
    "ParcelRow",
    "PostgresStore",
    "ReportLog",
    "Role",
    "SQLiteStore",
    "Session",
    "StoreError",
    "TrackingLink",
    "Truck",
    "User",
    "UserRole",
    "Waiting",
]

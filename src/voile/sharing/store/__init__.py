"""Where a platform keeps things: the interface of stores, and stores in SQLite and PostgreSQL."""

from voile.sharing.store.outbox import Hook, Waiting
from voile.sharing.store.overview import FleetRow, ParcelRow
from voile.sharing.store.people import AuditLine, Session, User, UserRole
from voile.sharing.store.postgres import PostgresStore
from voile.sharing.store.protocols import (
    Appended,
    ConflictError,
    Directory,
    ReportLog,
    StoreError,
)
from voile.sharing.store.records import (
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
from voile.sharing.store.sqlite import SQLiteStore
from voile.sharing.store.upkeep import Column

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

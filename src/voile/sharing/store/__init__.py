"""Where a platform keeps things: the interface of stores, and stores in SQLite and PostgreSQL."""

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

__all__ = [
    "AccessToken",
    "Appended",
    "Company",
    "ConflictError",
    "Device",
    "Directory",
    "Entry",
    "Mail",
    "MailBounds",
    "Parcel",
    "PostgresStore",
    "ReportLog",
    "Role",
    "SQLiteStore",
    "StoreError",
    "TrackingLink",
    "Truck",
]

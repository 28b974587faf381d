"""Where the history of each series lives on disk."""

from voile.ledger.audit import Finding
from voile.ledger.store import Ledger
from voile.ledger.summary import SeriesSummary, VersionSummary

__all__ = ["Finding", "Ledger", "SeriesSummary", "VersionSummary"]

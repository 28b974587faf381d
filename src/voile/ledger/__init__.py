"""Where the history of each series, and what each data set spent, live on disk."""

from voile.ledger.audit import Finding
from voile.ledger.budget import BudgetState, CarriedRows, Charge
from voile.ledger.store import Ledger
from voile.ledger.summary import SeriesSummary, VersionSummary

__all__ = [
    "BudgetState",
    "CarriedRows",
    "Charge",
    "Finding",
    "Ledger",
    "SeriesSummary",
    "VersionSummary",
]

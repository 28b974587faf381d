"""Where the history of each series, and what each data set and each trip spent, live on disk."""

from voile.ledger.audit import LedgerFault
from voile.ledger.budget import BudgetState, CarriedRows, Charge, End
from voile.ledger.records import SeriesSummary, VersionSummary
from voile.ledger.store import Ledger
from voile.ledger.trips import FleetCharge, FleetState
from voile.release.trips import TripSums

__all__ = [
    "BudgetState",
    "CarriedRows",
    "Charge",
    "End",
    "FleetCharge",
    "FleetState",
    "Ledger",
    "LedgerFault",
    "SeriesSummary",
    "TripSums",
    "VersionSummary",
]

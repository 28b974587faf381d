"""Where the history of each series, and what each data set and each trip spent, live on disk."""

from voile.ledger.audit import Finding
from voile.ledger.budget import BudgetState, CarriedRows, Charge, End
from voile.ledger.store import Ledger
from voile.ledger.summary import SeriesSummary, VersionSummary
from voile.ledger.trips import FleetCharge, FleetState
from voile.release.trip_sums import TripSums

__all__ = [
    "BudgetState",
    "CarriedRows",
    "Charge",
    "End",
    "Finding",
    "FleetCharge",
    "FleetState",
    "Ledger",
    "SeriesSummary",
    "TripSums",
    "VersionSummary",
]

"""The positions that a moving truck shows: three levels of noise in one, and what they cost."""

from voile_share.positions.levels import Levels, PlaceKey, PrintedNoise, without_ended_key
from voile_share.positions.moving import BudgetSpentError, PositionStream, spent_on, without_time

__all__ = [
    "BudgetSpentError",
    "Levels",
    "PlaceKey",
    "PositionStream",
    "PrintedNoise",
    "spent_on",
    "without_ended_key",
    "without_time",
]

"""When parcels arrive: intervals that were right often enough, or none.

Pure; nothing in the service calls it yet.
"""

from voile.sharing.arrival.calibration import Calibration, Interval, Past

__all__ = ["Calibration", "Interval", "Past"]

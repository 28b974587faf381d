"""Whether intervals of group disclosure hold as often as they say, at all repetitions.

It is what ``audit_intervals`` measures of all risks, of this one alone, which takes a tenth of the
time.
"""

from __future__ import annotations

from benchmarks.audit_intervals import measured_intervals
from benchmarks.record import Measurement
from voile.audit.scenarios import GroupDisclosure

__all__ = ["run"]


def run() -> Measurement:
    """Draw people again and again, and count the intervals that hold."""
    return measured_intervals((GroupDisclosure.name,))

"""Geo-indistinguishability: the reports of trips, moved by noise.

Publishes: trip and time of every report as they are, and in place of its position one that noise
has moved, or the noisy distance that is left to the trip's destination; kept columns as they are.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
sections 2 and 5: planar Laplace noise (after Andrés et al., CCS 2013), eq. 3 for finite precision,
eqs. 4 to 6 for levels and radii, radii by the density of roads (``mapped``), eq. 7 and Algorithms 1
and 2 for angle selection.  Correlated noise and the remaining distance are our own.

Guarantee, by mechanism, for trajectories that are nowhere more than d metres apart; times, trips
and kept columns are not protected:

- ``correlated-gaussian``: all reports of a trip together are mu-Gaussian-differentially private for
  d, with the mu of ``voile_geo.planar.costs``;
- ``planar-laplace``: each report is epsilon-geo-indistinguishable, and n of them cost n epsilon d;
- ``remaining-distance``: the same, for recipients who see distances to one place;
- ``angle-selection`` (the seed's): a single report is; a trajectory is not at any epsilon, because
  the loss of n reports is n epsilon d + (n - 1) kappa, and kappa does not vanish with d.

Which one: in measurements on roads an adversary who knows the mechanism finds the right road least
often under correlated noise of one to four minutes, at equal mean displacement and so at equal
error of the time of arrival; it is the default, with tau = 120 s.  Angle selection is worst against
him, though best against a median filter.  The remaining distance is for those who only wait.

Algorithm: the engine sorts reports by trip and time and draws noise as a function of a key, the
trip's id and the number of the report (``voile_geo.planar``, compiled); positions are rounded to
10^-6 degrees (0.11 m), and planar Laplace noise is drawn with the smaller epsilon of eq. 3 for that
grid.  What each trip costs is charged to its budget in the ledger, if the plan names a fleet.

Cost: two sorts of n reports, 40 to 200 ns a report for the noise, 20 microseconds a trip.

Departures from the source: zones by the last published position, not by the true one, which has no
guarantee at their borders (``zones_by = "true"`` is the seed's); the first direction is uniform,
not 0 (``start = "zero"``); distances on the ellipsoid.
"""

from voile.publish.geo_indistinguishability.mechanisms import (
    AngleSelectionMechanism,
    CorrelatedGaussianMechanism,
    PlanarLaplaceMechanism,
    RemainingDistance,
)
from voile.publish.geo_indistinguishability.publisher import GeoIndistinguishability

__all__ = [
    "AngleSelectionMechanism",
    "CorrelatedGaussianMechanism",
    "GeoIndistinguishability",
    "PlanarLaplaceMechanism",
    "RemainingDistance",
]

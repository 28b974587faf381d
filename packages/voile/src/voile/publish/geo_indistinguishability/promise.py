"""The guarantee in words, for each mechanism.

Two numbers are called epsilon: that of a report is per metre and sets the noise; that of a trip has
no unit, and is what all its reports together promise for trajectories at the stated distance.  Only
the latter says whether anything is protected, so it is the one that is called nothing where it is
too large (``PROTECTS_NOTHING_ABOVE``).

What a custodian is told of a release of trips: its price, what is left out, what is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from voile.publish.geo_indistinguishability.parameters import (
    DECIMALS,
    FARTHEST_LATITUDE,
    WAY_HIDDEN,
    FieldTerms,
    Mechanism,
)
from voile.release import method_claims
from voile.release.release import Guarantee
from voile.release.trips import BusiestVehicle
from voile.table.decisions import Relocated, TripAccounts
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json
from voile_geo.planar.costs import Differences, LossDistribution
from voile_geo.planar.field import RESOLUTION, STILL
from voile_geo.planar.pricing import PROTECTS_NOTHING_ABOVE, largest_epsilon
from voile_geo.planar.steps import MEAN_RADIUS, Zones, gaussian_scale, turn_constant

__all__ = [
    "WAY_SHOWN",
    "CostliestPublishedTrip",
    "Promise",
    "displacement_told",
    "protects_nothing",
    "refuse_row_budget",
    "told_of_thinning",
]


_COMMON = (
    "trips, times and the number of reports are public, and tell nothing about places; reports of "
    "one trip are tied together by its id",
    "columns published as they are tell nothing about positions",
    "nothing else is published about the same trips, or it is accounted for in the same fleet",
)
_GRID = (
    f"positions lie within {FARTHEST_LATITUDE} degrees of the equator, and are published on a grid "
    f"of 10^-{DECIMALS} degrees, for which the noise was made larger (eq. 3 of the source)"
)
_OF_FIELDS = (
    "when a truck stands, and that it comes back to a place, is public, and so is which trips are "
    "of one vehicle",
    "nobody has the secret of the fields, and nobody who knows true positions of the vehicle in "
    "the period is an adversary",
    f"places are rounded to 1/{RESOLUTION} of the length before the field is looked up, and the "
    "field is sampled on lines, so that it is stationary but for the curvature of the earth",
)
_ALONE = (
    "; a single vehicle that moves while others stay is NOT promised to be hard to tell apart, "
    "for who knows where the others were"
)
WAY_SHOWN = (
    f"reports nearer together than {WAY_HIDDEN:g} s show the way driven: the position changes each "
    f'time a truck is {STILL:g} m on, which helps to find its roads; every = "{WAY_HIDDEN:g} s" '
    "hides it"
)
"""What dense reports of a field tell."""
_ROUNDED = "noise is drawn in double precision and rounded afterwards"


@dataclass(frozen=True)
class CostliestPublishedTrip:
    """The published trip that cost most; everybody can compute it from the release."""

    reports: int
    epsilon: float
    """At the distance and the delta of the promise."""

    @property
    def stated(self) -> float:
        """Epsilon as a release states it."""
        return _plain(self.epsilon)

    @property
    def protects_nothing(self) -> bool:
        """Whether the epsilon that is stated is too large to promise anything."""
        return self.stated > PROTECTS_NOTHING_ABOVE

    @staticmethod
    def among(
        trips: TripAccounts, delta: float, distribution: LossDistribution | None
    ) -> CostliestPublishedTrip:
        """The trip of the largest epsilon; private until the release appears, public afterwards."""
        alike = {distribution: trips.alike} if distribution else {}
        most, epsilon = largest_epsilon(trips.epsilon, trips.squared_mu, delta, alike)
        return CostliestPublishedTrip(int(trips.reports[most]), epsilon)


@dataclass(frozen=True)
class Promise:
    """What a guarantee is about."""

    mechanism: Mechanism
    zones: Zones
    """With the epsilons that are promised."""
    distance: float
    delta: float
    tau: float
    deviation: float
    differences: Differences
    uniform_start: bool
    field: FieldTerms | None = None
    """What stays with places, if anything does."""
    composed: bool = False
    """Whether reports are priced together, at the delta."""
    way_driven: bool = False
    """Whether reports are so dense that they show how far a truck has driven."""
    examined: bool = False
    """Whether more reports are paid for than are published."""

    @property
    def of_delta(self) -> bool:
        """Whether what a trip costs is said at the delta."""
        return self.composed or self.mechanism in {"correlated-gaussian", "gaussian-field"}

    @property
    def of_fleet(self) -> bool:
        """Whether vehicles of a fleet have noise in common, so that only its trips are priced."""
        return self.field is not None and self.field.shared > 0

    @property
    def unprotected(self) -> bool:
        """Whether the noise depends on the true position in a way that no epsilon bounds."""
        return self.zones.by == "true" and self.zones.epsilons().size > 1

    def guarantee(
        self, costliest: CostliestPublishedTrip, busiest: BusiestVehicle | None = None
    ) -> Guarantee:
        """The guarantee of a release; ``busiest`` is the vehicle that spends most, if one is."""
        parameters = _parameters(self)
        if self.unprotected:
            statement = (
                f"within one zone {_report(self)}. This is NOT geo-indistinguishability: the zone "
                "is that of the true position, as in the source, and the amount of noise shows on "
                "which side of a zone's border the truck is, which no epsilon bounds"
            )
            unbounded = method_claims.WithinZones(**parameters, trajectory=False)
            return Guarantee((unbounded,), statement, _assumes(self))
        of_vehicle = "" if busiest is None else f". {_vehicle(self, busiest)}"
        most = (
            costliest
            if busiest is None
            else CostliestPublishedTrip(busiest.reports, busiest.epsilon)
        )
        statement = f"{_report(self)}. {_trip(self, costliest)}{of_vehicle}{_warning(most)}"
        claim = method_claims.GeoIndistinguishabilityClaim(
            **parameters,
            trajectory=self.mechanism != "angle-selection",
            costliest_trip=method_claims.Costliest(
                reports=costliest.reports, epsilon=costliest.stated
            ),
            costliest_fleet=None
            if busiest is None or not busiest.of_fleet
            else method_claims.Costliest(reports=busiest.reports, epsilon=_plain(busiest.epsilon)),
            costliest_vehicle=None
            if busiest is None or busiest.of_fleet
            else method_claims.CostliestVehicle(
                reports=busiest.reports, epsilon=_plain(busiest.epsilon), days=busiest.days
            ),
        )
        return Guarantee((claim,), statement, _assumes(self))


def _parameters(promise: Promise) -> Json:
    zones = promise.zones
    stated: Json = {"mechanism": promise.mechanism, "per": "metre"}
    if zones.epsilons().size == 1:
        stated["epsilon"] = _plain(zones.epsilons()[0, 0])
    else:
        stated["epsilon"] = _plain(zones.epsilons().max())
        stated["zones"] = method_claims.ZoneEpsilons(
            epsilons=tuple(tuple(map(_plain, row)) for row in zones.epsilons()), by=zones.by
        )
    stated["distance"] = promise.distance
    return {**stated, **_of_mechanism(promise)}


def _of_mechanism(promise: Promise) -> Document:
    if promise.mechanism in {"correlated-gaussian", "gaussian-field"}:
        return {
            "tau": promise.tau,
            "delta": promise.delta,
            "differences": promise.differences,
            "mu_per_metre": _plain(1 / gaussian_scale(float(promise.zones.epsilons().max()))),
        }
    if promise.composed:
        return {"delta": promise.delta}
    if promise.mechanism == "angle-selection":
        return {
            "deviation": _plain(promise.deviation),
            "kappa": _plain(turn_constant(promise.deviation)),
        }
    return {}


def _epsilon(promise: Promise) -> str:
    epsilons = promise.zones.epsilons()
    least, most = _plain(epsilons.min()), _plain(epsilons.max())
    return f"{most:g}" if least == most else f"the epsilon of its zone, at most {most:g},"


def _report(promise: Promise) -> str:
    """What holds for one report."""
    epsilon = _epsilon(promise)
    if promise.field is not None:
        field = promise.field
        return (
            "positions have Gaussian noise with the mean displacement 2 / epsilon, epsilon being "
            f"{epsilon} per metre: {_staying(field)}, for {field.period:g} days, with a "
            f"correlation that falls to 1/e within {field.length:g} m, and the rest is "
            f"drawn for each trip, with a correlation that falls to 1/e in {promise.tau:g} s of "
            f"driving. Shown exactly are the times at which a truck stands "
            f"(within {STILL:g} m), and, but for the fresh rest, that it is at a place where it "
            "was before; who knows the true position of one report knows the field there for the "
            "rest of the period. One report of two places d metres "
            f"apart is (d epsilon {math.sqrt(math.pi / 8):.4f})-Gaussian-differentially private"
            f"{'. ' + WAY_SHOWN[0].upper() + WAY_SHOWN[1:] if promise.way_driven else ''}"
        )
    if promise.mechanism == "correlated-gaussian":
        return (
            "the positions of a trip have Gaussian noise with the mean displacement 2 / epsilon, "
            f"epsilon being {epsilon} per metre, and a correlation that falls to 1/e in "
            f"{promise.tau:g} s: one report of two places d metres apart is (d epsilon "
            f"{math.sqrt(math.pi / 8):.4f})-Gaussian-differentially private"
        )
    if not promise.uniform_start:
        return (
            f"positions have the radii of planar Laplace noise with epsilon = {epsilon} per metre, "
            "and the first one is moved nearly due north, as in the source: not even a single "
            "report is geo-indistinguishable"
        )
    what = {
        "planar-laplace": "each position",
        "remaining-distance": "each remaining distance",
        "angle-selection": "a single position",
    }[promise.mechanism]
    return (
        f"{what} is epsilon-geo-indistinguishable with epsilon = {epsilon} per metre: for two "
        "places r metres apart the probabilities of whatever is published differ by a factor of at "
        "most e^(epsilon r)"
    )


def _staying(field: FieldTerms) -> str:
    """What stays with a place, in words."""
    if not field.shared:
        return (
            f"{field.stays:g} of its variance is a random field over places, the same for a vehicle"
        )
    return (
        f"{field.stays * field.shared:.4g} of its variance is a random field over places that all "
        f"vehicles of a fleet have in common, and {field.stays * (1 - field.shared):.4g} one of "
        "each vehicle, each the same"
    )


def _trip(promise: Promise, costliest: CostliestPublishedTrip) -> str:
    """What holds for all reports of a trip."""
    many = f"{costliest.reports:,} {_reports(promise, costliest.reports)}"
    spent = f"{costliest.epsilon:.4g}"
    apart = f"nowhere more than {promise.distance:g} m apart"
    if promise.field is not None:
        unit, alone = "vehicle", ""
        if promise.field.shared:
            unit, alone = "fleet", _ALONE
        return (
            f"All reports of a trip together tell whether all that the {unit} did in the period "
            f"lies {promise.distance:g} m elsewhere, by one and the same step, with epsilon = "
            f"{spent} at delta = {promise.delta:g} at most (the costliest trip here has {many}); "
            f"trips of the {unit} in the period add up{alone}. Trajectories that differ otherwise, "
            "such as another stop, are NOT promised to be hard to tell apart"
        )
    if promise.mechanism == "correlated-gaussian":
        moved = (
            "that differ by one and the same step"
            if promise.differences == "shifted"
            else "whatever their differences"
        )
        return (
            f"All reports of a trip together tell two trajectories {apart}, {moved}, apart with "
            f"epsilon = {spent} at delta = {promise.delta:g} at most (the costliest trip here has "
            f"{many})"
        )
    if promise.mechanism == "angle-selection":
        return (
            "A TRAJECTORY IS NOT PROTECTED: the directions of the noise tie the reports of a trip "
            "together, and with each further report two trajectories, however near, may come apart "
            f"by kappa = {turn_constant(promise.deviation):.4g} (here by epsilon = {spent} in all "
            f"for {many} {apart})"
        )
    if promise.composed:
        return (
            f"All reports of a trip together tell two trajectories {apart} apart with epsilon = "
            f"{spent} at delta = {promise.delta:g} at most (the costliest trip here has {many})"
        )
    return (
        f"The losses of a trip add up: two trajectories {apart} come apart with epsilon = "
        f"{spent} at most (the costliest trip here has {many})"
    )


def _vehicle(promise: Promise, busiest: BusiestVehicle) -> str:
    """What holds for all trips of a vehicle, or of a fleet."""
    if busiest.of_fleet:
        return (
            "The unit is the fleet: all trips of this release together tell whether all that a "
            f"fleet did lies {promise.distance:g} m elsewhere with epsilon = "
            f"{busiest.epsilon:.4g} at delta = {promise.delta:g} at most "
            f"({busiest.reports:,} {_reports(promise, busiest.reports)} in all)"
        )
    within = "" if busiest.days is None else f" within any {busiest.days} days on end (UTC)"
    together = (
        f"All trips that a vehicle begins{within} tell together, of all that it did in them, with "
        f"epsilon = {busiest.epsilon:.4g}"
    )
    delta = f" at delta = {promise.delta:g}" if promise.of_delta else ""
    shown = f"{busiest.reports:,} {_reports(promise, busiest.reports)}"
    return f"{together}{delta} at most (the vehicle that spends most here has {shown})"


def _reports(promise: Promise, count: int) -> str:
    plural = "s" * (count != 1)
    return (
        f"published report{plural}, and all that were left out by at_least are paid for"
        if (promise.examined)
        else f"report{plural}"
    )


def _warning(costliest: CostliestPublishedTrip) -> str:
    """That a promise is none, where it is so."""
    if not costliest.protects_nothing:
        return ""
    return (
        f". THIS NUMBER PROTECTS NOTHING, nor does any epsilon above {PROTECTS_NOTHING_ABOVE:g}: "
        "whoever held one of two such trajectories for "
        f"{math.exp(PROTECTS_NOTHING_ABOVE) / 1e6:.0f} million times less likely than the other "
        "may hold it for the likelier one afterwards"
    )


def _assumes(promise: Promise) -> tuple[str, ...]:
    if promise.field is not None:
        return (*_COMMON, _ROUNDED, *_OF_FIELDS)
    own: tuple[str, ...] = (
        _GRID if promise.mechanism in {"planar-laplace", "angle-selection"} else _ROUNDED,
    )
    if promise.composed and promise.mechanism == "planar-laplace":
        own = (*own, f"{_ROUNDED}, for what holds at a delta above 0")
    if promise.mechanism == "remaining-distance":
        own = (
            *own,
            "the destination is public, and distances to other places are not published, or "
            "accounted for as further reports: recipients who pool them locate the truck",
        )
    if promise.zones.epsilons().size > 1 and not promise.unprotected:
        own = (
            *own,
            "the first report of a trip has the smallest epsilon; each later one that of "
            "the zone of the last published position",
        )
    if promise.zones.grid is not None:
        own = (
            *own,
            "radii follow from the roads of a public map alone; beyond the map the largest holds",
        )
    return (*_COMMON, *own)


def _plain(value: float) -> float:
    """Six digits."""
    return float(f"{float(value):.6g}")


def protects_nothing(whose: str, epsilon: float, distance: float) -> str:
    """That the epsilon of a trip or a vehicle is no protection."""
    return (
        f"the costliest {whose} has epsilon = {epsilon:,.4g} at {distance:g} m, and above "
        f"{PROTECTS_NOTHING_ABOVE:g} such a number protects nothing: only attacks tell how well it "
        "is hidden; more noise, or fewer reports (every), cost less"
    )


def told_of_thinning(moved: Relocated) -> Iterator[str]:
    """How many reports were left out, and why."""
    if moved.thinned:
        yield (
            "reports left out, which came too soon after another one or which no budget buys: "
            f"{moved.thinned:,}"
        )
    if moved.near:
        yield (
            "reports left out because they were shown too near to the one before; they are paid "
            f"for: {moved.near:,}"
        )


def displacement_told(zones: Zones) -> str:
    """How far positions are moved on average."""
    epsilons = zones.epsilons()
    near, far = MEAN_RADIUS / epsilons.max(), MEAN_RADIUS / epsilons.min()
    metres = f"{near:,.0f}" if near == far else f"{near:,.0f} to {far:,.0f}"
    return f"moved by {metres} m on average"


def refuse_row_budget(table: PrivateTable) -> None:
    """Raise ``PlanError`` for a budget of rows, which this method does not spend."""
    if table.plan.budget is not None:
        msg = (
            "[budget] is about rows, and this method spends the budgets of trips; leave it out, "
            "and name a fleet and a budget in [method]"
        )
        raise PlanError(msg)

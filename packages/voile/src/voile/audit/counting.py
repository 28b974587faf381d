"""The three risks and those of other packages, counted on a file beside groups of people; private.

Of larger files than ``ROWS`` a sample is looked at, drawn once: the rows of some of the values that
columns show on both sides, so that a person who is looked at has the own row beside.  Where no
columns tell that, nothing is left out: all people are held against all rows, and of targets there
are so many fewer that the pairs of a target and a row are those of ``ROWS`` rows.  Of more than
``_MOST`` rows nothing is told: then the risks are not assessed.

Cost: that of the risks.

The three risks of a study: of a rehearsal, beside the rows that it left out; private.

A release under study holds everybody, so that nobody is left to be its control.  A rehearsal is
made like it of fewer rows, and its three risks are those of the release, as far as fewer rows tell.
It is looked at as an audit looks at a file: how it shows its columns is found out.

Membership by shadow releases: who knows the method, as its plan tells it, and people of whom half
are in the data, makes releases of other halves, and learns from them how a release with a person
differs from one without; private.

A shadow release is made by the plan, with new randomness, of as many persons (or households) as the
original has, with all their rows, drawn from original and control together; each second one has
first the persons that the one before it lacks.  A person with several rows is known by one of them.
Ids that both sides use are of different people.  Budgets are charged to nobody, and of a series it
is the first release.
What the adversary sees of a release and a person is how many rows fit the person in each column and
each two, and in all columns but none, one and two; of counts the square root, whose noise is about
the same for all.  A direction that tells with from without is learnt of all people together, by the
differences of each from the person's own means (linear discriminant).  The score of a person is the
likelihood ratio of the file's place on it, by Student's distributions with the person's own means
and deviation, which few releases tell, so that they are drawn towards those of all people.  People
of the control are scored alike: they were in as many shadow releases, and are in the file never; so
what a file tells of everybody, and chance, finds as many of them, also where the plan is not the
one by which the file was made.

A plan that shows a column otherwise than the file in all shadow releases, or whose method is not
the one that the release states, is refused; where the file fits people more or less than all of
them (Student, at ``_UNLIKE``), it is said.  People of neither side are told so, too.

Sources: shadow models of Shokri et al. (S&P 2017), for made-up rows Stadler, Oprisanu and Troncoso,
"Synthetic data: anonymisation groundhog day" (USENIX Security 2022); the ratio by person of Carlini
et al., "Membership inference attacks from first principles" (S&P 2022); counts of two columns as
what methods of marginals give away: Golob, Pentyala, Maratkhan and De Cock, "High epsilon synthetic
data vulnerabilities in MST and PrivBayes" (2024).

Departures: one direction for all people, not a classifier each; people are not targets alone but
fill the shadow tables, too, so that one set of releases serves all.

Cost: a release, reading it, and p n m^2 operations for p targets, n rows and m columns, each time.
Of 100,000 rows and six columns, with 2,000 targets, that is some 8 s of processor and 500 MiB.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from voile.attack.protocol import Estimate
from voile.audit.beside import GroupedSample, JointCodes
from voile.audit.drift import ComparedSides
from voile.audit.excess import Excess, NearestRows
from voile.audit.foreign import Foreign, as_release
from voile.audit.recognition import recognise
from voile.audit.record import DOES_NOT_APPLY, RE_IDENTIFICATION
from voile.audit.risk import (
    CONTROL,
    ORIGINAL,
    FewFalsePositives,
    Risk,
    Setting,
    risk_inquiries,
)
from voile.audit.scenarios import known_sets
from voile.release.reading import People
from voile.schema.plan import Plan
from voile.study.plans import json_value
from voile.study.record import REHEARSED, RiskDocument, Skipped
from voile.study.rehearsal import SplitRows, Staged
from voile.table.arrays import Frame, frame_of
from voile.table.opening import in_full
from voile_base.errors import InputError, VoileError
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws, Randomness

__all__ = [
    "MEMBERSHIP",
    "ROWS",
    "ExaminedRows",
    "RiskQuery",
    "ShadowReleases",
    "counted",
    "risks_of_rehearsal",
    "unit_of",
]


Floats = NDArray[np.float64]


ROWS = 200_000
"""Rows of each side up to which the three risks look at all."""
_SAMPLE = 50_000
"""Rows of the largest side that they look at elsewhere, where a person has the own row beside."""
_QUICK = 5_000
"""The same where a quick look was asked for, also of smaller files."""
_BESIDE = 0.25
"""The share of people who must have it."""
_FEWEST = 2_000
"""Rows of the smallest side, where it has as many."""
_MOST = 2_000_000
"""Rows of the largest side, up to which all are looked at where no sample can be drawn."""


@dataclass(frozen=True)
class RiskQuery:
    """What is asked of the three risks."""

    sensitive: tuple[str, ...]
    """Columns that nobody may learn."""
    targets: int
    first: tuple[str, ...] | None = None
    """Columns that one of two people holds who link; None: nobody has said."""
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Sets of columns that somebody outside may know of a person, by who that is."""

    def setting(
        self, beside: JointCodes, randomness: Randomness, progress: Callable[[str], None]
    ) -> Setting:
        """What whoever counts a risk of a file has; sensitive columns as far as it shows them."""
        shown = {column.name for column in beside.columns}
        sensitive = tuple(name for name in self.sensitive if name in shown)
        return Setting(
            beside, sensitive, self.first, self.targets, randomness, progress, self.known
        )


def counted(setting: Setting, only: Collection[str] | None = None) -> Iterator[Risk | Skipped]:
    """Each figure of each risk, or why a risk was not counted; ``only``: names of risks, or all."""
    for name in setting.beside.left_out:
        yield Skipped("three risks", f"column {name!r} holds too many texts to compare")
    if not setting.beside.columns:
        yield Skipped("three risks", "no column could be compared")
        return
    for inquiry in risk_inquiries():
        if only is not None and inquiry.name not in only:
            continue
        if reason := inquiry.refusal(setting):
            yield Skipped(inquiry.name, reason)
        elif found := list(inquiry.risks(setting)):
            yield from found
        else:
            yield Skipped(inquiry.name, f"{DOES_NOT_APPLY}: no group of people is small")


def unit_of(people: People) -> str | None:
    """The column that tells persons or households apart; None where each row is another."""
    return None if people.protected == "row" else people.unit_column


@dataclass(frozen=True, eq=False)
class ExaminedRows:
    """The rows of a file and of groups of people that the three risks look at; private."""

    file: Foreign
    people: tuple[Frame, ...]
    places: NDArray[np.int64] | None = None
    """Which rows of the original the first ones are; None where it is all, or cannot be told."""
    note: str | None = None
    """What was left out, as a clause."""
    share: float = 1.0
    """The share of the targets that were asked for, for whom there are rows enough to compare."""
    refusal: str | None = None
    """Why the risks cannot be assessed, as a clause: no column tells a person's row, so that no
    sample can be drawn, and there are too many rows to look at all."""

    def of_original(self, risk: Risk) -> Risk:
        """A risk whose rows are those of the original, where they can be told."""
        if self.places is None:
            return risk
        return replace(risk, rows=tuple(int(self.places[row]) for row in risk.rows))

    @classmethod
    def of(
        cls,
        foreign: Foreign,
        released: Frame,
        people: Sequence[People],
        randomness: Randomness,
        *,
        quick: bool = False,
    ) -> ExaminedRows:
        """All rows, or a sample of them that is drawn once, a smaller one for a ``quick`` look."""
        sizes = [each.frame.height for each in people]
        largest = max(*sizes, released.height)
        if largest <= (_QUICK if quick else ROWS):
            return cls(foreign, tuple(map(_typed, people)))
        share = (_QUICK if quick else _SAMPLE) / largest
        share = min(1.0, max(share, _FEWEST / min(sizes)))
        draws = randomness.key("groups").generator()
        if unit_of(people[0]) is None:
            drawn = GroupedSample.drawn(foreign, people, share, draws)
            if drawn.beside >= _BESIDE:
                rows = np.flatnonzero(drawn.file)
                both = zip(people, drawn.sides, strict=True)
                some = tuple(
                    _typed(People(each.frame.filter(pl.Series(side)), each.plan))
                    for each, side in both
                )
                note = (
                    f"the three risks look at {len(rows):,} of {released.height:,} rows, drawn "
                    "once for all sides by the values of columns that the file shows alike: "
                    f"{drawn.beside:.0%} of the people who are looked at have their own row "
                    "beside, and the others many who are like them"
                )
                places = np.flatnonzero(drawn.sides[0])
                return cls(_gathered(foreign, released, rows), some, places, note)
        refusal = None
        if quick or largest > _MOST:
            why = "--quick looks at a sample" if quick else f"at most {_MOST:,} rows are compared"
            refusal = (
                "not assessed: no column tells which row may be a person's, so that no sample can "
                f"be drawn for all sides, and {why}"
            )
        share = ROWS / largest
        note = (
            "no column tells which row may be a person's: the three risks look at all rows of all "
            f"sides, and at {share:.0%} of the targets"
        )
        frames = tuple(map(_typed, people))
        return cls(foreign, frames, note=note, share=min(share, 1.0), refusal=refusal)


def _typed(people: People) -> Frame:
    """All rows, in columns as the plan types them."""
    return pl.DataFrame([people.column(name).alias(name) for name in people.frame.columns])


def _gathered(foreign: Foreign, released: Frame, rows: NDArray[np.integer]) -> Foreign:
    chosen = pl.Series(rows.astype(np.int64))
    cut = [
        replace(one, columns=tuple(column.gather(chosen) for column in one.columns))
        for one in foreign.recognised
    ]
    return as_release(released[chosen], cut, {})


def risks_of_rehearsal(
    staged: Staged,
    targets: int,
    randomness: Randomness,
    progress: Callable[[str], None],
    only: Collection[str] | None = None,
) -> Sequence[RiskDocument | Skipped]:
    """The three risks and those of other packages, or why one was not counted.

    ``only`` names the risks that are counted; None: all.  Re-identification needs no control, and
    is counted on the release under study, up to ``ROWS`` rows of it: groups of fewer are others.

    Raises a ``VoileError`` where the rows show no column of the original.
    """
    progress("three risks")
    if staged.release.rows > ROWS:
        reason = f"the rehearsal has more than {ROWS:,} rows; run voile audit on the release"
        return (Skipped("three risks", reason),)
    asked = {one.name for one in risk_inquiries()} if only is None else set(only)
    whole = staged.of
    of_release = asked & {RE_IDENTIFICATION}
    if whole is None or whole.release.rows > ROWS:
        of_release = set()
    found: list[RiskDocument | Skipped] = []
    for subject, some in ((staged, asked - of_release), (whole, of_release)):
        if subject is not None and some:
            found += _risks_of(subject, targets, randomness, progress, some)
    return found


def _risks_of(
    staged: Staged,
    targets: int,
    randomness: Randomness,
    progress: Callable[[str], None],
    only: Collection[str],
) -> Iterator[RiskDocument | Skipped]:
    """Some risks of a release, beside the rows that it left out where it is a rehearsal."""
    compared = staged.comparison(randomness)
    release = staged.release if staged.link is None else staged.release.without(staged.link)
    shown = frame_of(release.table.to_arrow())
    foreign = as_release(shown, recognise(shown, compared.original), {})
    sides = [one for one in (compared.original, compared.held_out) if one is not None]
    groups = [_typed(each) for each in sides]
    beside = JointCodes.of(foreign, groups, compared.original.plan, unit_of(compared.original))
    roles = staged.plan.roles
    known = known_sets([c.name for c in beside.columns], roles.quasi_identifiers, roles.identifiers)
    asked = RiskQuery(tuple(roles.sensitive), targets, known=known)
    setting = asked.setting(beside, randomness, progress)
    whole = compared.held_out is None and staged.link is None  # its rows are those of the table
    notes = () if compared.held_out is None else (REHEARSED,)
    for one in counted(setting, only):
        if isinstance(one, Risk):
            rows = one.rows if whole else ()
            yield replace(one, notes=(*one.notes, *notes), rows=rows).document()
        else:
            yield one


MEMBERSHIP = "membership"
_SHARE = 0.5
"""People of the control at least, of as many as the original has."""
_CELLS = 1 << 24
"""Persons times rows times columns that are looked at together."""
_BUT = 3
"""It is counted how many rows fit a person in all columns, and in all but one and but two."""
_RIDGE = 1e-3
_KNOWN = 8.0
"""How many shadow releases the deviation of all people counts for, beside a person's own."""


@dataclass(frozen=True, eq=False)
class ShadowReleases:
    """An adversary who makes releases like the file by its plan, with persons and without."""

    released: Frame
    people: tuple[People, People]
    """The original and the control."""
    plan: Plan
    count: int
    """How many releases he makes."""
    targets: int
    """Of each side."""
    stated: Mapping[str, object] | None = None
    """What the file says of its method, where it is a release of Voile."""

    def refusal(self, setting: Setting) -> str | None:
        """Why he cannot, as a clause."""
        own, control = (each.units[1] for each in self.people)
        if self.plan.method is None:
            return "no plan says by which method the file was made"
        if control < _SHARE * own:
            who = self.people[ORIGINAL].protected
            return f"a control of {control:,} {who}s is too small beside {own:,} of the original"
        if not self._are_alike(setting):
            return "the control differs from the original in its columns"
        return None

    def _are_alike(self, setting: Setting) -> bool:
        """Whether the sides are told apart by nothing; of each person one row is asked."""
        beside = setting.beside
        if all(beside.people(side) == len(beside.units[side]) for side in (ORIGINAL, CONTROL)):
            return setting.compared.are_alike
        draws = setting.randomness.key("a row of each person").generator()
        rows = [beside.drawn(side, beside.people(side), draws) for side in (ORIGINAL, CONTROL)]
        columns = tuple(
            replace(one, value=tuple(v[r] for v, r in zip(one.value, rows, strict=True)))
            for one in beside.columns
        )
        units = tuple(np.arange(len(each)) for each in rows)
        return ComparedSides(replace(beside, columns=columns, units=units)).are_alike

    def risk(self, setting: Setting) -> Risk | Skipped:
        """Who is told to be in the data, beside people of the control."""
        if (why := self.refusal(setting)) is not None:
            return Skipped(MEMBERSHIP, why)
        try:
            asked, scores, doubt = self._scores(setting)
        except VoileError as error:
            return Skipped(MEMBERSHIP, str(error).rstrip("."))
        by_name = {"shadow releases": scores}
        excess, sure = Excess.of(by_name, alike=True)
        _, more = Excess.of({"shadow releases": (scores[CONTROL], scores[ORIGINAL])}, alike=True)
        draws = setting.randomness.key("halves of shadows").generator()
        main, control = Excess.rates(by_name, draws, alike=True)
        order = asked[np.argsort(-scores[ORIGINAL], kind="stable")]
        notes = [f"area under the curve {_area(*scores):.3f}", *filter(None, [doubt])]
        if not sure:
            fewest = Excess.fewest((len(scores[ORIGINAL]), len(scores[CONTROL])))
            notes.append(f"fewer than about {fewest:,} people could not be told")
        return Risk(
            MEMBERSHIP,
            f"{self.count:,} shadow releases",
            "the file is likelier with the person than without, and more so than for nearly all "
            "people of the control",
            len(asked),
            main,
            control,
            Estimate.exactly(control.value),
            tuple(notes),
            persons=excess.at_least if sure else 0,
            reversed=more,
            rates=FewFalsePositives.at_each(by_name),
            rows=tuple(map(int, order[: excess.at_least])) if sure else (),
        )

    def _scores(
        self, setting: Setting
    ) -> tuple[NDArray[np.int64], tuple[Floats, Floats], str | None]:
        """Rows of the original that are targets, scores of both sides, and a doubt of the plan."""
        draws = setting.randomness.key("shadow releases").generator()
        pool = _Pool.of(self.people, self.plan)
        codes = self._codes(self.released, pool.rows, np.arange(len(pool.rows)))
        asked = self._asked(codes, pool, draws)
        both = np.concatenate(asked)
        names = [column.name for column in codes.columns]
        seen, way = _sightings(codes, names, both), _ways(codes)
        del codes
        shadows, inside, ways = [], [], []
        units = draws.permutation(pool.units)
        for number in range(self.count):
            setting.progress(f"shadow release {number + 1:,} of {self.count:,}")
            units = units[::-1] if number % 2 else draws.permutation(pool.units)
            drawn = np.isin(pool.unit, units[: pool.of_original])
            made = self._published(pool.rows.filter(pl.Series(drawn)), setting, number)
            shadow = self._codes(made, pool.rows, both)
            shadows.append(_sightings(shadow, names, np.arange(len(both))))
            inside.append(drawn[both])
            ways.append(_ways(shadow))
        _require_alike(way, ways)
        shown = np.stack(shadows)
        ratios = _ratios(shown, np.stack(inside), seen)
        count = len(asked[ORIGINAL])
        return asked[ORIGINAL], (ratios[:count], ratios[count:]), _unlike(shown, seen)

    def _published(self, rows: Frame, setting: Setting, number: int) -> Frame:
        """What the plan makes of some rows, charged to nobody, with randomness of its own."""
        draws = setting.randomness.within("shadow release", f"{number}")
        staged = SplitRows(rows, None).rehearse(self.plan, draws)
        without = staged.link is None
        release = staged.release if without else staged.release.without(str(staged.link))
        self._require_stated(release.method)
        if not release.rows:
            msg = "the plan publishes no row of some shadow releases; give it more people or budget"
            raise InputError(msg)
        return frame_of(release.table.to_arrow())

    def _require_stated(self, method: Mapping[str, object]) -> None:
        """Raise ``InputError`` where the file says that it was made otherwise than a shadow."""
        assert self.plan.method is not None
        for key in ("name", *self.plan.method.parameters) if self.stated else ():
            says, made = (json_value(one.get(key)) for one in (self.stated or {}, method))
            if says is not None and made is not None and says != made:
                msg = (
                    f"the release says that it was made with {key} = {says}, and the plan says "
                    f"{made}; give the plan by which it was made"
                )
                raise InputError(msg)

    def _codes(self, shown: Frame, pool: Frame, some: NDArray[np.int64]) -> JointCodes:
        """A release beside some people, read without knowing who of all of them is in it."""
        recognised = recognise(shown, People(pool, self.people[ORIGINAL].plan))
        return JointCodes.of(as_release(shown, recognised, {}), [pool[some]], self.plan)

    def _asked(
        self, codes: JointCodes, pool: _Pool, draws: Draws
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Targets of both sides: half the rarest, by one limit for both, and half of the others.

        Of a person with several rows one is drawn, by which the adversary knows the person.
        """
        rows = pool.row_of_each(draws)
        rare = NearestRows.of(codes.columns).most([c.value[0][rows] for c in codes.columns])
        share = min(1.0, self.targets / pool.of_original)
        limit = np.quantile(rare, 1 - share / 2)
        chosen = (rare > limit) | (draws.uniform(size=len(rare)) < share / 2) | (share == 1)
        rows = rows[chosen]
        return rows[rows < pool.own], rows[rows >= pool.own]


@dataclass(frozen=True, eq=False)
class _Pool:
    """People of the original and of the control, one below the other; private."""

    rows: Frame
    unit: NDArray[np.int64]
    """Shape (n,): which person or household each row is of, from 0, the original's first."""
    own: int
    """Rows of the original."""
    of_original: int
    """Persons or households of the original."""

    @classmethod
    def of(cls, sides: tuple[People, People], plan: Plan) -> _Pool:
        """All rows; persons of one side are none of the other, though ids may be issued twice."""
        (own, persons), (others, _) = (each.units for each in sides)
        roles, frames = plan.roles, [in_full(each.frame) for each in sides]
        key = None if plan.method is None else plan.method.parameters.get("record_key")
        for name in {*roles.identifiers, roles.person, roles.household, key}:
            if name in frames[ORIGINAL].columns:
                frames = _told_apart(frames, str(name))
        unit = np.concatenate([own, others + persons]).astype(np.int64)
        return cls(pl.concat(frames), unit, len(own), persons)

    @property
    def units(self) -> int:
        """Persons or households of both sides."""
        return int(self.unit.max()) + 1

    def row_of_each(self, draws: Draws) -> NDArray[np.int64]:
        """One row of each person, in the order of rows."""
        if self.units == len(self.unit):
            return np.arange(len(self.unit))
        order = draws.permutation(len(self.unit))
        return np.sort(order[np.unique(self.unit[order], return_index=True)[1]])


def _told_apart(frames: Sequence[Frame], name: str) -> list[Frame]:
    """Two tables with ids of their own in a column, where they have some in common."""
    both = [frame[name] for frame in frames]
    if not both[0].is_in(both[1].implode()).any():
        return [*frames]
    ids = [each.rank("dense").cast(pl.Int64) for each in both]
    ids[1] += both[0].n_unique()
    if both[0].dtype == pl.String:
        ids = [each.cast(pl.String) for each in ids]
    return [frame.with_columns(new) for frame, new in zip(frames, ids, strict=True)]


_SHOWS = {
    **dict.fromkeys(("exact", "permuted", "synthetic"), "as values"),
    **dict.fromkeys(("averaged", "noisy"), "as numbers near the true ones"),
    "interval": "as intervals",
    "set": "as sets",
}
"""What readings of a column come to; which of one line it is may differ from draw to draw."""
_NOT_SHOWN = "not at all"
_STRANGE = {_SHOWS["noisy"], _SHOWS["set"]}
"""What a column looks like that holds values of people of neither side."""


def _ways(codes: JointCodes) -> dict[str, str]:
    """How each column is shown."""
    return {column.name: _SHOWS[column.how] for column in codes.columns}


def _require_alike(file: Mapping[str, str], shadows: Sequence[Mapping[str, str]]) -> None:
    """Raise ``InputError`` where all shadow releases show a column alike, and the file otherwise.

    Then the plan is not the one by which the file was made, and its releases tell nothing of it.
    Values that nobody of either side has look like noise or like labels, whatever the plan.
    """
    for name in sorted({*file, *(name for one in shadows for name in one)}):
        ways = {one.get(name, _NOT_SHOWN) for one in shadows}
        own = file.get(name, _NOT_SHOWN)
        strange = own in _STRANGE and ways.isdisjoint({_SHOWS["noisy"], _NOT_SHOWN})
        if len(ways) == 1 and own not in ways and not strange:
            msg = (
                f"the plan shows column {name!r} {ways.pop()}, and the file {own}; give the plan "
                "by which the file was made"
            )
            raise InputError(msg)


_UNLIKE = 1e-3
"""How improbable it must be that a file by the plan fits people so much more or less."""


def _unlike(shadows: Floats, seen: Floats) -> str | None:
    """That the file fits people otherwise than releases by the plan do; None where it does not.

    By Student's distribution of what all people see together, (s, p, f) of s releases and (p, f)
    of the file, which is one more of them where the plan made it.
    """
    usual, own = shadows.mean(axis=(1, 2)), float(seen.mean())
    off = own - float(usual.mean())
    scale = float(usual.std(ddof=1)) * np.sqrt(1 + 1 / len(usual))
    if abs(off) <= scale * special.stdtrit(len(usual) - 1, 1 - _UNLIKE / 2):
        return None
    how = "more" if off > 0 else "fewer"
    return (
        f"the file has {how} rows that fit people than releases by the plan: another plan, or "
        "other people, may have made it, and then this tells too little"
    )


def _area(own: Floats, other: Floats) -> float:
    """How often a person of the original scores higher than one of the control."""
    both = np.sort(other)
    ends = (np.searchsorted(both, own, side) for side in ("left", "right"))
    return float(np.mean([end.mean() for end in ends]) / max(len(other), 1))


def _sightings(codes: JointCodes, names: Sequence[str], some: NDArray[np.int64]) -> Floats:
    """Shape (p, f): how many rows fit some people by each column and each two, as deviates.

    A column that a release does not show fits nobody.
    """
    shown = {column.name: column for column in codes.columns}
    pairs = np.triu_indices(len(names))
    found = []
    for part in np.array_split(some, -(-len(some) * codes.rows * len(names) // _CELLS)):
        fits = np.zeros((len(part), len(names), codes.rows), dtype=np.float32)
        for place, name in enumerate(names):
            if (column := shown.get(name)) is not None:
                fits[:, place] = column.covers[column.value[0][part]][:, column.cell]
        counts = (fits @ fits.transpose(0, 2, 1))[:, *pairs]
        agree = fits.sum(axis=1)
        whole = [(agree >= len(names) - less).sum(axis=1) for less in range(_BUT)]
        found.append(np.concatenate([counts, np.stack(whole, axis=1)], axis=1))
    deviates: Floats = 2 * np.sqrt(np.concatenate(found).astype(np.float64) + 3 / 8)
    return deviates


def _means(shadows: Floats, inside: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each person the means with and without, and of how many shadow releases they are."""
    weights = inside.astype(np.float64)[..., np.newaxis]
    many, few = weights.sum(axis=0), (1 - weights).sum(axis=0)
    having = (shadows * weights).sum(axis=0) / np.maximum(many, 1)
    lacking = (shadows * (1 - weights)).sum(axis=0) / np.maximum(few, 1)
    return having, lacking, many, few


def _ratios(shadows: Floats, inside: NDArray[np.bool_], seen: Floats) -> Floats:
    """Shape (p,): how much likelier what is seen of a release is with each person than without.

    ``shadows`` (s, p, f) is the same of s releases, ``inside`` (s, p) who was in them, ``seen``
    (p, f) that of the file.
    """
    having, lacking, many, few = _means(shadows, inside)
    told = ((many > 0) & (few > 0))[:, 0]
    apart = shadows - np.where(inside[..., np.newaxis], having, lacking)
    rest = apart.reshape(-1, shadows.shape[2])
    spread = rest.T @ rest / max(len(rest), 1)
    spread += np.eye(len(spread)) * (_RIDGE * np.trace(spread) / len(spread) + 1e-9)
    direction = np.linalg.solve(spread, (having - lacking)[told].mean(axis=0))
    along = (shadows @ direction)[..., np.newaxis]
    having, lacking, many, few = (one[:, 0] for one in _means(along, inside))
    apart = along[..., 0] - np.where(inside, having, lacking)
    freedom = float(max(len(shadows) - 2, 1))
    usual = max(float((apart**2).sum()) / (freedom * apart.shape[1]), 1e-12)
    variance = (_KNOWN * usual + (apart**2).sum(axis=0)) / (_KNOWN + freedom)
    doubt = variance * (1 / np.maximum(many, 1) + 1 / np.maximum(few, 1))
    step = having - lacking
    mean = float(np.average(step[told], weights=1 / doubt[told]))
    between = max(float(np.mean((step[told] - mean) ** 2 - doubt[told])), 0.0)
    step = np.where(told, mean + between / (between + doubt) * (step - mean), mean)
    share = many / (many + few)
    without = share * having + (1 - share) * lacking - step * share
    freedom += _KNOWN
    off = [
        (seen @ direction - mean) ** 2 / (freedom * variance) for mean in (without, without + step)
    ]
    found: Floats = (freedom + 1) / 2 * (np.log1p(off[0]) - np.log1p(off[1]))
    return found

"""Changes of a plan that may meet a policy, as its reader would write them.

Plans that are tried first differ in k, or in epsilon where a method has no k (``ladder``).  Then a
criterion that is not met asks for changes of its own (``remedies``), and what it is about may be
left out (``changes_for``).

A remedy is computed from the limit that is missed: groups of as many persons as a limit of a risk
or a size asks for, as many values or as near a distribution as it says, the budget that it allows.
Where a limit says no number of [method], the parameter that acts on it is doubled or halved, and
whether that is enough is told by trying it (``choosing``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from math import ceil, inf

from voile.policy.criteria.measured import AttackRate
from voile.policy.ruling import CONFIRMED, SINGLING_OUT, Ruling
from voile.policy.stated import StatedPolicy
from voile.publish.registry import METHODS
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.study.plans import StatedPlan, single_release
from voile.study.verdict import ATTRIBUTE, FIRST_T, IDENTIFICATION, exact_limit, halved
from voile_base.ondemand import dataclass
from voile_base.values import Document

__all__ = [
    "HUMAN",
    "OF_COLUMNS",
    "UNSEEN",
    "PlanChange",
    "changes_for",
    "furthest",
    "grouping_beyond",
    "is_unseen",
    "ladder",
    "least_k",
    "mildest",
    "parameters_of",
    "remedies",
    "remedy_text",
    "strides",
    "untried_text",
]

HUMAN = CONFIRMED | {"publishable"}
"""Kinds of criteria that no plan meets or fails: humans confirm them, or the release to come."""
OF_COLUMNS = frozenset({"risk", "attack", "re-identification"})
"""Kinds of criteria for which fewer columns may do."""
_OF_SENSITIVE = ("l", "t")
"""Parameters that are about sensitive columns."""
_LADDER = (3, 5, 11, 20)
_BUDGETS = (0.5, 0.25, 0.1)
"""Shares of epsilon that are tried."""
_MOST_K = 200
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PlanChange:
    """What a tried plan says otherwise than the plan it was made of."""

    parameters: Document = field(default_factory=dict)
    """Keys of [method]; one with None goes."""
    without: tuple[str, ...] = ()
    """Columns that are left out."""
    grouped: tuple[str, ...] = ()
    """Columns that become quasi-identifiers, and are nothing else any more."""

    @property
    def text(self) -> str:
        """In the words of a plan: "k = 12, without column 'zip'"."""
        said = self.parameters.items()
        keys = [f"{key} = {_in_toml(value)}" for key, value in said if value is not None]
        keys += [f"without {key}" for key, value in said if value is None]
        keys += [f"{name!r} a quasi-identifier" for name in self.grouped]
        return ", ".join([*keys, *(f"without column {name!r}" for name in self.without)]) or (
            "the plan as it is"
        )

    def and_also(self, other: PlanChange) -> PlanChange:
        """Both changes, the other's parameters in the place of these."""
        without = dict.fromkeys((*self.without, *other.without))
        grouped = dict.fromkeys((*self.grouped, *other.grouped))
        kept = tuple(name for name in grouped if name not in without)
        return PlanChange({**self.parameters, **other.parameters}, tuple(without), kept)

    def of_plan(self, given: Document) -> PlanChange:
        """Without what a plan with these parameters says already, which is no change."""
        kept = {key: value for key, value in self.parameters.items() if given.get(key) != value}
        return replace(self, parameters=kept)

    def applied_to(self, stated: StatedPlan) -> StatedPlan:
        """The plan with the change, as a single release of no account."""
        plan = single_release(stated.plan)
        plan = replace(plan, roles=self.roles_of(plan.roles))
        changed = replace(stated, plan=plan)
        return changed.with_parameters(self.text, self.parameters_upon(parameters_of(plan)))

    def parameters_upon(self, given: Document) -> Document:
        """The parameters of the method of a plan with these, once it is changed."""
        both = {**given, **self.parameters}
        return {key: value for key, value in both.items() if value is not None}

    def roles_of(self, roles: Roles) -> Roles:
        """The roles of the changed plan."""
        return replace(
            roles,
            quasi_identifiers=(*self._left(roles.quasi_identifiers), *self.grouped),
            sensitive=self._left(roles.sensitive),
            keep=self._left(roles.keep),
            keep_unique=self._left(roles.keep_unique),
            ranking=self._left(roles.ranking),
        )

    def withholds_all_sensitive(self, roles: Roles) -> bool:
        """Whether every sensitive column of a plan with these roles is left out."""
        return bool(roles.sensitive) and {*roles.sensitive} <= {*self.without}

    def loss_of_all(self, loss: float | None, plan: Plan) -> float | None:
        """A mean loss of quasi-identifiers, where columns that are left out are lost altogether.

        ``loss`` is over those of the changed plan, to which it may have added some.
        """
        if loss is None:
            return None
        every = tuple(dict.fromkeys((*plan.roles.quasi_identifiers, *self.grouped)))
        left = sum(name not in self.without for name in every)
        others = sum(name not in every for name in self.without)
        return (loss * left + len(self.without)) / max(1, len(every) + others)

    def _left(self, names: Sequence[str]) -> tuple[str, ...]:
        moved = {*self.without, *self.grouped}
        return tuple(name for name in names if name not in moved)


def _in_toml(value: object) -> str:
    """A parameter in the words of a plan."""
    if not isinstance(value, Mapping):
        return str(value)
    inside = (f"{key} = {json.dumps(one, default=float)}" for key, one in value.items())
    return f"{{ {', '.join(inside)} }}"


def parameters_of(plan: Plan) -> Document:
    """The parameters of the method of a plan that has one."""
    assert plan.method is not None, "a stated plan has a method"
    return plan.method.parameters


def ladder(plan: Plan, policy: StatedPolicy) -> Iterator[PlanChange]:
    """The plan as it is, and those that differ in k, or else in epsilon."""
    yield PlanChange()
    takes, given = _keys_of(plan, PlanChange()), parameters_of(plan)
    if "k" in takes:
        asked = {
            least_k(policy),
            *(
                ceil(1 / one.limit - _ROUNDING)
                for one in policy.policy.criteria
                if isinstance(one, AttackRate) and one.name in IDENTIFICATION and one.most > 0
            ),
        }
        for k in sorted({*_LADDER, *asked} - {given.get("k"), 1}):
            yield PlanChange({"k": k})
    elif "epsilon" in takes and isinstance(given.get("epsilon"), int | float):
        for share in _BUDGETS:
            yield PlanChange({"epsilon": share * float(given["epsilon"])})


def least_k(policy: StatedPolicy) -> int:
    """The least k that groups must have, whatever their rows are, for its limits of groups."""
    asked = [1]
    for one in policy.policy.criteria:
        if one.kind == "group-size":
            asked.append(int(one.least))
        elif isinstance(one, AttackRate) and one.figure == "worst" and one.most > 0:
            asked += (
                [ceil(1 / one.limit - _ROUNDING)]
                if one.name in ("prosecutor", "journalist")
                else []
            )
    return max(asked)


def changes_for(
    unmet: Sequence[Ruling], made: PlanChange, plan: Plan, columns: Sequence[str]
) -> Iterator[PlanChange]:
    """What may meet the criteria that a plan fails, each upon what was changed already.

    ``columns`` are quasi-identifiers, in the order in which they may be left out.  The only
    sensitive column, for which the table is published, is never left out.  Columns that single
    people out whatever their groups are, and those by which others find them who know more, become
    quasi-identifiers, or are left out; the former stay out of every further plan.
    """
    shown = made.roles_of(plan.roles).published
    unhidden = dict.fromkeys(name for one in unmet for name in one.unhidden if name in shown)
    yield from _grouping(unhidden, made, plan)
    if unhidden and not _is_all_that_is_sensitive(unhidden, made, plan):
        made = made.and_also(PlanChange(without=(*unhidden,)))
        yield made
    shown = made.roles_of(plan.roles).published
    left = [name for name in columns if name not in made.without]
    for ruling in unmet:
        named = _named_in(ruling, shown)
        if ruling.subject == SINGLING_OUT:
            yield from _grouping(shown, made, plan)
        elif ruling.kind == "re-identification":
            yield from _grouping(named, made, plan)
        for change in remedies(ruling, made.parameters_upon(parameters_of(plan))):
            if set(change.parameters) <= _keys_of(plan, made):
                yield made.and_also(change)
        for name in named:
            if not _is_all_that_is_sensitive([name], made, plan):
                yield made.and_also(PlanChange(without=(name,)))
    if len(left) > 1 and any(one.kind in OF_COLUMNS for one in unmet):
        yield made.and_also(PlanChange(without=(left[0],)))


def strides(
    unmet: Sequence[Ruling], made: PlanChange, plan: Plan, columns: Sequence[str], persons: int
) -> tuple[PlanChange, ...]:
    """Ever stricter changes, each upon the one before: larger groups of fewer columns.

    ``columns`` orders all columns.  Sensitive ones go first of which a risk lies beyond its limit:
    what one row shows of them tells each from the others, whatever its group.  Then go
    quasi-identifiers, those that are furthest beyond a limit first.  The last leaves one
    quasi-identifier and one sensitive column, or two columns where none is sensitive, in groups of
    a quarter of all persons at most.  None where the method has no k.
    """
    takes, given = _keys_of(plan, made), made.parameters_upon(parameters_of(plan))
    if "k" not in takes:
        return ()
    roles = made.roles_of(plan.roles)
    by_distance = furthest(unmet)
    every = dict.fromkeys((*columns, *roles.sensitive))
    ordered = sorted((one for one in every if one in roles.quasi_identifiers), key=by_distance)
    secret = [one for one in every if one in roles.sensitive]
    unhidden = {name for one in unmet for name in one.unhidden}
    secret.sort(key=lambda name: name not in unhidden)
    beyond = {name for one in unmet for name in one.columns}
    first = [name for name in secret[:-1] if name in beyond]
    last = [name for name in secret[:-1] if name not in beyond]
    going = [*first, *ordered[: -1 if secret else -2], *last]
    others = [one for one in (*roles.keep, *roles.keep_unique) if one in beyond]
    least, most = int(given.get("k", 2)), max(2, min(_MOST_K, persons // 4))
    found = []
    for step in range(1, _STRIDES + 1):
        share = step / _STRIDES
        k = max(least, round(least * (max(most, least) / least) ** share))
        gone = (*others, *going[: ceil(share * len(going))])
        found.append(made.and_also(PlanChange({"k": k}, gone)))
    return tuple(found)


def mildest(steps: Sequence[PlanChange], meets: Callable[[PlanChange], bool]) -> PlanChange | None:
    """The mildest of ever stricter changes that meets, by bisection between those that were tried.

    The last may show too little to be judged at all.  None where neither it meets, nor the one in
    the middle, nor the one between these.
    """
    middle, last = len(steps) // 2, len(steps)
    ends = ((0, last), (0, middle), (middle, (middle + last) // 2))
    low, high = next((both for both in ends if both[1] and meets(steps[both[1] - 1])), (0, 0))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(steps[middle - 1]) else (middle, high)
    return steps[high - 1] if high else None


def grouping_beyond(unmet: Sequence[Ruling], secret: Sequence[str]) -> PlanChange:
    """Sensitive columns of which a risk lies beyond its limit become quasi-identifiers.

    The last of all stays as it is, unless its own values single people out.
    """
    beyond = {name for one in unmet for name in one.columns}
    unhidden = {name for one in unmet for name in one.unhidden}
    kept = {*secret[-1:]} - unhidden
    return PlanChange(grouped=tuple(name for name in secret if name in beyond - kept))


def furthest(unmet: Sequence[Ruling]) -> Callable[[str], tuple[float, int]]:
    """Orders columns by how far figures of them miss their limit, then by how many do."""
    missed: dict[str, list[float]] = {}
    for one in unmet:
        end = one.high if one.side == "most" else one.low
        far = inf if end is None or one.limit is None else abs(end - one.limit)
        for name in one.columns:
            missed.setdefault(name, []).append(inf if name in one.unhidden else far)
    return lambda name: (-max(missed.get(name, (0.0,))), -len(missed.get(name, ())))


_STRIDES = 8
"""Steps from a plan to the strictest."""


def _is_all_that_is_sensitive(columns: Collection[str], made: PlanChange, plan: Plan) -> bool:
    """Whether a changed plan has these sensitive columns and no others."""
    return set(columns) == set(made.roles_of(plan.roles).sensitive)


def _grouping(names: Collection[str], made: PlanChange, plan: Plan) -> Iterator[PlanChange]:
    """The change with those grouped that no group hides; none where all are, or weigh rows.

    What is asked of sensitive columns goes where none is left.
    """
    roles = made.roles_of(plan.roles)
    free = tuple(one for one in names if one not in {*roles.quasi_identifiers, roles.weight})
    if not free:
        return
    change = made.and_also(PlanChange(grouped=free))
    given = change.parameters_upon(parameters_of(plan))
    gone = {key: None for key in _OF_SENSITIVE if key in given}
    yield change if change.roles_of(plan.roles).sensitive else change.and_also(PlanChange(gone))


def _keys_of(plan: Plan, made: PlanChange) -> frozenset[str]:
    """The parameters that the method of a changed plan takes, with the roles that it has."""
    assert plan.method is not None, "a stated plan has a method"
    keys = frozenset(METHODS.fields_of(plan.method.name))
    return keys if made.roles_of(plan.roles).sensitive else keys - {*_OF_SENSITIVE}


def _named_in(ruling: Ruling, columns: Sequence[str]) -> list[str]:
    """The columns that an unmet criterion is about; of sensitive ones, and of identifiers."""
    return [name for name in columns if name in ruling.columns]


def remedies(ruling: Ruling, parameters: Document | None) -> tuple[PlanChange, ...]:
    """Changes of [method] that may meet an unmet criterion, the smallest first.

    ``parameters`` are those of the plan; None of a file of another make.  None where no parameter
    of a method does.
    """
    if ruling.limit is None or parameters is None or ruling.unhidden:
        return ()
    k, limit = int(parameters.get("k", 2)), ruling.limit
    remedy = _REMEDIES.get(ruling.subject) or _REMEDIES.get(ruling.kind, _none)
    return tuple(remedy(k, limit, parameters))


def _none(k: int, limit: float, given: Document) -> Iterator[PlanChange]:
    del k, limit, given
    return iter(())


def _groups_of(k: int, limit: float, given: Document) -> Iterator[PlanChange]:
    del given
    if limit > k:
        yield PlanChange({"k": ceil(limit)})


def _larger_groups(k: int, limit: float, given: Document) -> Iterator[PlanChange]:
    del limit, given
    if k < _MOST_K:
        yield PlanChange({"k": min(2 * k, _MOST_K)})


def _rarer(k: int, limit: float, given: Document) -> Iterator[PlanChange]:
    """Groups of as many as a rate of identification asks for; twice as many where these fail."""
    exact = ceil(1 / exact_limit(limit) - _ROUNDING) if limit > 0 else _MOST_K + 1
    if k < exact <= _MOST_K:
        yield PlanChange({"k": exact})
    else:
        yield from _larger_groups(k, limit, given)


def _more_values(k: int, limit: float, given: Document) -> Iterator[PlanChange]:
    asked = _number_of(given.get("l", 1))
    if asked is not None:
        yield PlanChange({"l": _with_number(given.get("l"), int(asked) + 1)})
    yield from _larger_groups(k, limit, given)


def _closer_or_larger(k: int, limit: float, given: Document) -> Iterator[PlanChange]:
    yield from _larger_groups(k, limit, given)
    now = _number_of(given.get("t"))
    nearer = halved(now) if now is not None and now > 0 else FIRST_T
    yield from _asking("t", nearer, given)


def _budget(k: int, limit: float, given: Document) -> Iterator[PlanChange]:
    del k
    if "epsilon" in given:
        yield PlanChange({"epsilon": limit})


def _smaller_groups(k: int, limit: float, given: Document) -> Iterator[PlanChange]:
    del limit, given
    if k >= _HALVED:
        yield PlanChange({"k": k // 2})


_HALVED = 4
"""The least k of which half is one."""
_REMEDIES: Mapping[str, Callable[[int, float, Document], Iterator[PlanChange]]] = {
    "group-size": _groups_of,
    "diversity": lambda _, limit, given: _asking("l", ceil(limit), given),
    "closeness": lambda _, limit, given: _asking("t", limit, given),
    **dict.fromkeys(IDENTIFICATION, _rarer),
    **dict.fromkeys(ATTRIBUTE, _more_values),
    "inference": _closer_or_larger,
    "attack": _larger_groups,
    "risk": _larger_groups,
    "privacy-budget": _budget,
    "utility": _smaller_groups,
}
"""By the subject of a criterion, or by its kind."""


def _asking(key: str, number: float, given: Document) -> Iterator[PlanChange]:
    yield PlanChange({key: _with_number(given.get(key), number)})


def _number_of(given: object) -> float | None:
    """The number of a parameter l or t, which may be a table with a value; None without one."""
    value = given.get("value") if isinstance(given, Mapping) else given
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _with_number(given: object, number: float) -> object:
    """A parameter with another number: in its table, where it says of which kind or distance."""
    return {**given, "value": number} if isinstance(given, Mapping) else number


def remedy_text(ruling: Ruling, parameters: Document | None, *, later: bool = False) -> str:
    """What would meet an unmet criterion, in a sentence without a full stop.

    ``parameters`` are those of the method of the release; None of a file of another make.
    ``later`` is a release of a series that has been begun, which keeps them and the roles.
    """
    said = _WITHOUT_PARAMETERS.get(ruling.kind)
    if said is None and ruling.value is None and ruling.countable:
        said = "count it first, as said"
    if said is not None:
        return said
    if parameters is None:
        return "make a release of the original by a plan, which voile choose finds"
    if later or ruling.unhidden or _is_too_wide(ruling):
        return _without_parameters(ruling, later=later)
    found = [
        change
        for change in remedies(ruling, parameters)
        if "series" not in parameters or not _OUTSIDE_SERIES & set(change.parameters)
    ]
    if not found and ruling.kind == "re-identification" and ruling.columns:
        known = ", ".join(map(repr, ruling.columns))
        return (
            f"give the role quasi-identifier to those of {known} that have it not, or leave them "
            "out; voile choose tells whether it is enough"
        )
    if not found:
        return "no parameter of this method meets it; choose another method, or leave columns out"
    told = " or ".join(one.text for one in found)
    return f"try {told}; voile choose tells whether it is enough"


def untried_text(ruling: Ruling, made: PlanChange, given: Document, tried: Collection[str]) -> str:
    """What would meet a criterion that a tried plan fails, and whether that was tried, too.

    ``made`` are the changes of that plan to one with the parameters ``given``; ``tried`` holds the
    texts of all changes that were.
    """
    now = made.parameters_upon(given)
    changes = [made.and_also(one).of_plan(given).text for one in remedies(ruling, now)]
    if not changes or _is_too_wide(ruling):
        return remedy_text(ruling, now)
    left = [one for one in changes if one not in tried]
    if left:
        return f"{' or '.join(left)} may help, and was not tried"
    said = f"{' and '.join(changes)}: tried, and not enough"
    if ruling.is_undecided and ruling.high is not None:
        said += (
            "; undecided, since the limit lies within the interval of the figure: more people make "
            f"it narrower, or a policy of your own with a limit of {ceil(100 * ruling.high) / 100}"
        )
    return said


UNSEEN = (
    "no file of the release shows it: who has the original measures it or confirms it, with voile "
    "study; ask who published the release"
)
"""What a recipient is told of what only the custodian can answer."""
_MEASURED = frozenset({"attack", "copies", "re-identification", "risk", "utility", "worst-off"})
"""Kinds of criteria whose figures need the original."""


def is_unseen(ruling: Ruling) -> bool:
    """Whether a criterion misses its figure or its tick, and published files alone give neither."""
    if ruling.passed or ruling.value is not None:
        return False
    return ruling.countable or ruling.kind in CONFIRMED | _MEASURED


def _is_too_wide(ruling: Ruling) -> bool:
    """Whether only the interval of a figure of people misses the limit."""
    return ruling.kind in _OF_PEOPLE and ruling.told == "STRADDLES"


def _without_parameters(ruling: Ruling, *, later: bool) -> str:
    """Why no parameter is advised, and what else may help."""
    it = "them" if len(ruling.unhidden) > 1 else "it"
    reason, help_ = "", ""
    if ruling.unhidden:
        reason = (
            f"{', '.join(map(repr, ruling.unhidden))} {'are' if it == 'them' else 'is'} published "
            "unchanged, and many rows have a value of their own there, which no k hides"
        )
        help_ = f": in the plan give {it} the role quasi-identifier, or leave {it} out"
    elif ruling.kind in _OF_PEOPLE and ruling.is_undecided:
        reason = (
            "undecided, since the limit lies within the interval of the figure: more people make "
            "the interval narrower"
        )
        help_ = "; else leave the column out"
    if later:
        help_ = f"; {_LATER}" if reason else _LATER
    return f"{reason}{help_}"


_OUTSIDE_SERIES = frozenset({"t"})
"""Parameters that no release of a series has."""
_LATER = (
    "the method, roles and levels stay as in the first release of the series; another policy is "
    "left, or another series if nobody has seen a release of this one"
)
_OF_PEOPLE = frozenset({"risk", "worst-off"})
"""Kinds of criteria whose intervals are narrower where there are more people."""
_CONFIRMED = (
    "confirm it in assumptions.toml, if it holds; where it does not, and the release is accepted "
    'all the same, say so there: by = "ROLE, knowing that ..."'
)
_WITHOUT_PARAMETERS: Mapping[str, str] = {
    **dict.fromkeys(HUMAN, _CONFIRMED),
    "publishable": "publish without --seed",
    "evidence": "audit without --seed",
    "column": "leave the column out",
    "together": "leave out columns that nobody needs, or waive this by name and reason in "
    "assumptions.toml",
    "roles": "name the column under quasi_identifiers, or waive this by name and reason in "
    "assumptions.toml",
    "identifiers": "leave out the columns that are named, or make them coarser",
}
"""What meets criteria that are about no parameter of a method."""

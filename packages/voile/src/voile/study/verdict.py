"""The verdict on one study: which limits its figures keep, and what would keep the others; private.

Thresholds of the worst risk that practice uses, .33, .2, .09 and .05, are groups of 3, 5, 11 and 20
persons: K. El Emam and B. Malin, "Concepts and methods for de-identifying clinical trial data",
appendix B of Institute of Medicine, "Sharing clinical trial data" (2015); .09 is that of the
European Medicines Agency, policy 0070 (EMA/90915/2016), too.  They are 1/3, 1/5, 1/11 and 1/20 in
two decimals: a risk keeps .09 where it is 1/11 at most, for policies, verdicts and remedies alike.

A remedy is computed from the limit that is missed.  Of a method of groups of k, a k keeps a
threshold for whichever rows there are, as the worst risk is 1/k at most; l above 1 leaves no group
with one sensitive value alone; half of a distance t halves what a group may tell of its values.
Where the method has no such parameter, that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from voile.study.record import StudyRecord, rates_of
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json

__all__ = [
    "ATTRIBUTE",
    "FIRST_T",
    "IDENTIFICATION",
    "THRESHOLDS",
    "LimitRuling",
    "exact_limit",
    "halved",
    "limits_document",
    "limits_of",
    "met_thresholds",
]

THRESHOLDS: Mapping[float, str] = {
    0.33: "groups of 3: data for people who have signed an agreement",
    0.2: "groups of 5: data for people who have signed an agreement, usual",
    0.09: "groups of 11: data for the public, as EMA policy 0070 asks",
    0.05: "groups of 20: data for the public that may harm",
}
"""Limits of the worst re-identification risk, and what they are used for; see the module."""

_PERSONS: Mapping[float, int] = {0.33: 3, 0.2: 5, 0.09: 11, 0.05: 20}
"""The groups that the thresholds stand for."""

IDENTIFICATION = ("prosecutor", "journalist", "marketer")
"""The attacks that look for a person's row."""

ATTRIBUTE = ("homogeneity", "background-knowledge", "skewness")
"""The attacks on sensitive values."""
_GROUPS = "k-anonymity"
"""The kind of guarantee whose k bounds the worst risk by 1/k."""
FIRST_T = 0.3
"""The distance t that is proposed where a plan says none."""


@dataclass(frozen=True)
class LimitRuling:
    """A limit, the figure that is held against it, and what would keep it where it is not kept."""

    asks: str
    """A clause: "the worst re-identification risk is at most 1 in 11"."""
    figure: float
    limit: float
    met: bool
    use: str = ""
    """What the limit is used for; empty where nothing is said."""
    remedy: str = ""
    """What would keep it, as a clause; empty where it is kept."""
    change: Document = field(default_factory=dict)
    """The parameters of [method] that would; none where no parameter does."""


def met_thresholds(worst: float) -> tuple[float, ...]:
    """The thresholds of practice that a worst risk keeps."""
    return tuple(limit for limit in THRESHOLDS if worst <= exact_limit(limit))


def exact_limit(limit: float) -> float:
    """A limit of the worst risk of identification; of a threshold of practice, one in its group."""
    persons = _PERSONS.get(limit)
    return limit if persons is None else 1 / persons


def limits_of(record: StudyRecord) -> tuple[LimitRuling, ...]:
    """Each threshold of the worst risk, and guessing for each attack on sensitive values.

    None of what no attack has measured.
    """
    return (*_risks(record), *_attributes(record))


def limits_document(limits: Sequence[LimitRuling]) -> list[Json]:
    """For JSON: each limit with its remedy, None where there is none to be made."""
    return [
        {
            "asks": one.asks,
            "figure": one.figure,
            "limit": one.limit,
            "met": one.met,
            "remedy": one.remedy or None,
            "method": dict(one.change),
        }
        for one in limits
    ]


def _risks(record: StudyRecord) -> Iterator[LimitRuling]:
    for document in record.attacks:
        rates = rates_of(document)
        if document["attack"] != "prosecutor" or rates is None or rates.worst is None:
            continue
        if not rates.bounded:
            continue
        kept = met_thresholds(rates.worst)
        for limit, use in THRESHOLDS.items():
            change, remedy = ({}, "") if limit in kept else _groups(limit, record)
            asks = f"the worst re-identification risk is at most 1 in {_PERSONS[limit]}"
            yield LimitRuling(asks, rates.worst, limit, limit in kept, use, remedy, change)


def _groups(limit: float, record: StudyRecord) -> tuple[Document, str]:
    """The size of groups that a threshold stands for."""
    method = record.release["method"]
    if record.release["guarantee"]["kind"] != _GROUPS:
        return {}, (
            f"no parameter of {method.get('name')} promises it; leave quasi-identifiers out, or "
            "choose generalization"
        )
    k = round(1 / limit)
    return {"k": k}, f"k = {k}, with which it is at most 1/{k}, whichever rows there are"


def _attributes(record: StudyRecord) -> Iterator[LimitRuling]:
    for document in record.attacks:
        rates, name = rates_of(document), document["attack"]
        if name not in ATTRIBUTE or rates is None:
            continue
        met = not rates.beats_guessing
        change, remedy = ({}, "") if met else _diverse(name, record)
        asks = f"the attack {name} on sensitive values finds no more than guessing"
        yield LimitRuling(asks, rates.success, rates.baseline, met, "", remedy, change)


def _diverse(name: str, record: StudyRecord) -> tuple[Document, str]:
    """More sensitive values in each group, or values that are nearer to those of all rows."""
    method = record.release["method"]
    if record.release["guarantee"]["kind"] != _GROUPS:
        return {}, f"no parameter of {method.get('name')} promises it; publish the column apart"
    key, told, usual, narrower = (
        ("t", "with which each group is that near to all rows", FIRST_T, halved)
        if name == "skewness"
        else ("l", "so many different values in each group", 2, _one_more)
    )
    given, further = _parameter(key, record)
    if isinstance(given, int | float) and given:
        asked = narrower(given)
        change = {key: {"value": asked, **further} if further else asked}
        return change, f"{key} = {asked} in place of {given:g}, {told}; voile choose tells more"
    return {}, f"{key} = {usual}, {told}, by generalization, which takes {key}"


def _parameter(key: str, record: StudyRecord) -> tuple[object, Document]:
    """A parameter of groups, l or t, as the release has it, and what else its table says.

    A release that lists it among its parameters no more than by its promise has it all the same.
    """
    stated = record.release["method"].get(key, record.release["guarantee"].get(key))
    if not isinstance(stated, Mapping):
        return stated, {}
    kind = stated.get("distance" if "distance" in stated else "kind")
    name, usual = ("distance", "equal") if key == "t" else ("kind", "distinct")
    c = {"c": stated["c"]} if stated.get("c") is not None else {}
    return stated.get("value"), {} if kind == usual else {name: kind, **c}


def halved(given: float) -> float:
    """Half of a distance t, in three decimals."""
    return round(given / 2, 3)


def _one_more(given: float) -> int:
    return int(given) + 1

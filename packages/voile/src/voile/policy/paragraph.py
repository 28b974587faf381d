"""What an ethics board asks for of a plan that was chosen: a paragraph in full sentences; private.

It says what is published, how surely a person is found by those who know the quasi-identifiers and
by those who know more, what is learned of sensitive values, what is lost, and among how many plans
this one was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from voile.policy.choosing import Choice, TriedPlan
from voile.study.plans import json_value, single_release
from voile.study.record import known_columns, rates_of
from voile.study.verdict import THRESHOLDS

__all__ = ["found_by_others", "paragraph_of"]


def paragraph_of(choice: Choice) -> str:
    """What was chosen, and what is known of it; holds figures of private rows."""
    return " ".join(_sentences(choice))


def _percent(share: float | None) -> str:
    return "not counted" if share is None else f"{100 * share:.3g} %"


def _sentences(choice: Choice) -> Iterator[str]:
    """Of the plan found, or of the nearest one, which then does not meet the policy."""
    best = choice.nearest
    plan = single_release(choice.stated.plan)
    assert plan.method is not None, "a stated plan has a method"
    name = plan.method.name
    settings = json_value(best.change.parameters_upon(plan.method.parameters))
    said = ", ".join(f"{key} = {value}" for key, value in settings.items() if key != "criteria")
    yield f"The table of {choice.rows:,} records is to be published by {name} ({said})."
    if choice.series is not None:
        yield (
            f"The plan publishes in the series {choice.series!r}; all figures here are those of a "
            "single release, and one of the series has others, which voile study of it counts."
        )
    if best.change.without:
        yield f"Columns left out for it: {', '.join(best.change.without)}."
    if best.change.grouped:
        yield f"Columns that become quasi-identifiers for it: {', '.join(best.change.grouped)}."
    yield from _of_risks(best, choice.roles.quasi_identifiers)
    yield (
        f"Information loss is {_percent(best.information_loss)} (non-uniform entropy of the "
        "quasi-identifiers that are published), from 0 % (the original) to 100 % (nothing), and "
        f"{_percent(best.left_out)} of the records are left out."
    )
    yield from _of_search(choice)
    others = () if best.others else dict.fromkeys((*choice.roles.sensitive, *choice.roles.keep))
    known = ", ".join(others)
    more = f", such as {known}, which may single out a person for certain" if known else ""
    yield f"Not counted here: what recipients may know besides{more}, and what humans are asked."


def _of_risks(best: TriedPlan, quasi_identifiers: Sequence[str]) -> Iterator[str]:
    """How surely persons are found, and what is learned of them."""
    yield (
        f"The re-identification risk of the person who is worst off is {_percent(best.worst)}, and "
        f"{_percent(best.mean)} on average, against an intruder who knows that the person is in "
        "the release and knows all quasi-identifiers of the plan."
    )
    if best.population_worst is not None:
        yield (
            f"In the population that the sample stands for it is estimated at "
            f"{_percent(best.population_worst)} and {_percent(best.population_mean)}, by survey "
            "weights (Franconi and Polettini, 2004)."
        )
    if (kept := best.met_thresholds()) and best.worst:
        yield (
            f"That is 1 in {1 / best.worst:,.4g}, and keeps the threshold of {min(kept)} "
            f"({THRESHOLDS[min(kept)]}; El Emam and Malin, 2015)."
        )
    if beyond := found_by_others(best, quasi_identifiers):
        yield f"That does not hold for those who know more: {beyond}."
    for attack in best.sensitive:
        if (rates := rates_of(attack)) is not None:
            yield (
                f"{_LEARNED.get(attack['attack'], _LEARNED_ELSE.format(attack['attack']))} for "
                f"{_percent(rates.success)} of the persons, and guessing for "
                f"{_percent(rates.baseline)}."
            )


def _of_search(choice: Choice) -> Iterator[str]:
    """Among how many plans, on which rows, and whether the policy is met."""
    best, policy = choice.nearest, choice.policy.policy
    number = len({one.change.text for one in choice.tried})
    yield f"It was chosen among {number} plans by the policy {policy.name!r} ({policy.source})."
    if choice.sample is not None and not best.sampled:
        yield (
            f"They were tried on a sample of {choice.sample:,} records, drawn once at random; the "
            "figures above are those of all records."
        )
    elif choice.sample is not None:
        yield f"The figures above are those of a sample of {choice.sample:,} records."
    yield (
        "Trying them is looking at the records, so that the assumption of the promise that "
        "parameters were chosen without looking can be accepted, and not confirmed."
    )
    if choice.found is None:
        kinds = ", ".join(dict.fromkeys(f"{one.asks}" for one in best.unmet))
        yield f"None of them meets the policy; this one, which is the nearest, fails: {kinds}."
    else:
        yield "It meets every criterion that a machine judges, with the least objective of those."


_LEARNED = {
    "homogeneity": "Who knows the quasi-identifiers and takes the most probable sensitive value of "
    "the group is right (homogeneity)",
    "background-knowledge": "Who can rule out one value, too, is right (background-knowledge)",
    "skewness": "Belief in what the sensitive value is more than doubles (skewness)",
}
"""What an attack on sensitive values finds, by its name."""
_LEARNED_ELSE = "The attack {} on sensitive attributes succeeds"


def found_by_others(best: TriedPlan, quasi_identifiers: Sequence[str]) -> str:
    """What somebody finds who knows columns that are no quasi-identifiers, a clause.

    Empty where nobody finds a person more surely than by these.
    """
    others, least = best.others, best.worst
    beyond = [
        (one, [name for name in known if name not in quasi_identifiers])
        for one in others
        for known in [known_columns(one)]
        if (one.get("worst") or 0) > (least or 0)
    ]
    beyond = [(one, names) for one, names in beyond if names]
    likely = [(one, names) for one, names in beyond if not one["of"].startswith("whoever ")]
    found = likely or beyond
    if not found:
        return ""
    one, names = max(found, key=lambda each: each[0]["main"]["value"] or 0)
    who = one["of"].partition(":")[0]
    return (
        f"{who}, who may also know {', '.join(names)}, finds the person who is worst off with "
        f"{_percent(one.get('worst'))}, and a person with {_percent(one['main']['value'])} on "
        "average"
    )

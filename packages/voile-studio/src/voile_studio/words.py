"""Cards of methods, and what people say and read beside them.

Which change would meet a criterion of a policy that is not met, in a sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from voile.publish.publisher import MethodCard
from voile.publish.registry import METHODS
from voile.report.words import listed, percent, spoken, value_text
from voile_base.errors import InputError
from voile_base.values import Document
from voile_studio.planning import ROLES

__all__ = [
    "GUESSES",
    "alternatives",
    "change_text",
    "excess_told",
    "in_percent",
    "method_cards",
    "method_told",
    "most_error",
    "numbers_of",
    "odds_told",
    "parameters_told",
    "remedy_of",
    "without_toml",
]


_SENSITIVE = "the sensitive value is guessed rightly, as the adversary estimates,"
GUESSES: Mapping[str, str] = {
    **dict.fromkeys(("prosecutor", "journalist", "marketer"), "re-identified"),
    "identification": "re-identified, as the adversary estimates,",
    "membership": "known to be in the table, as the adversary estimates,",
    **dict.fromkeys(("homogeneity", "background-knowledge"), _SENSITIVE),
    "skewness": "the belief in the sensitive value more than doubles",
}
"""What an attack does to the person who is worst off, before its probability."""
_SHARE = re.compile(
    r"(?P<before>at most |above |with |\()(?P<share>0?\.[0-9]+)"
    r"(?P<after>(?= of (?:what|the|mistakes)|, on average|, at worst|, rounded|$))"
)


def in_percent(asks: str) -> str:
    """What a criterion asks, with its shares in percent, as figures beside it are told.

    Measures of utility have a scale of their own, and keep theirs.
    """
    if asks.startswith("the measure "):
        return asks
    told = _SHARE.sub(lambda found: f"{found['before']}{percent(float(found['share']))}", asks)
    return told.replace("\xa0", " ")


def alternatives(cell: str) -> str:
    """A cell that stands for several values, as people say it: "Asian, White or missing"."""
    values = cell.split("|")
    named = [*filter(None, values), *(["missing"] if "" in values else [])]
    return f"{', '.join(named[:-1])} or {named[-1]}" if len(values) > 1 else cell


def method_cards() -> tuple[MethodCard, ...]:
    """The cards that methods carry: ours, then those of other packages."""
    cards = (METHODS.class_of(name).capabilities.card for name in METHODS.names)
    return tuple(card for card in cards if card is not None)


def method_told(method: Document) -> str:
    """A method with its parameters, but for those of which several are tried, and tables.

    Words and switches that say what is so without them are left out.
    """
    name = str(method.get("name", ""))
    fields = METHODS.fields_of(name) if name in METHODS.names else {}
    usual = {key: str(one.default) for key, one in fields.items()}
    told = (
        f"{key} = {str(value).strip('; ')}"
        for key, value in method.items()
        if key != "name" and isinstance(value, str | int | float)
        if not isinstance(value, str | bool) or str(value) != usual.get(key)
    )
    return ", ".join((spoken(name), *told))


def parameters_told(
    parameters: Document, levels: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[str]:
    """Parameters of a method as people read them: "k = 11", "age at years, race as it is".

    ``levels`` are the levels of each column in words, where the plan has words for them.
    """
    return [_parameter_told(key, value, levels) for key, value in parameters.items()]


def _parameter_told(key: str, value: object, levels: Mapping[str, Sequence[str]]) -> str:
    name = spoken(key).lower()
    match value:
        case None:
            return f"without {name}"
        case Mapping() if key == "levels":
            return ", ".join(_level_told(one, at, levels.get(one, ())) for one, at in value.items())
        case Mapping():
            return f"{name}: {', '.join(f'{one} {value_text(at)}' for one, at in value.items())}"
        case list() | tuple():
            named = [one for one in value if not isinstance(one, Mapping)]
            told = "; ".join(map(_listed_value, named)) or f"{len(value)} of the plan"
            return f"{name}: {told}"
        case int() | float() if key == "suppression_limit":
            return f"up to {percent(value)} of the rows left out".replace("\xa0", " ")
    return f"{key.replace('_', ' ')} = {value_text(value)}"


def _listed_value(value: object) -> str:
    return listed([str(one) for one in value]) if isinstance(value, list | tuple) else str(value)


def _level_told(column: str, level: object, names: Sequence[str]) -> str:
    """The level of a column, all of whose rows have it: "race as it is"."""
    known = names[level] if isinstance(level, int) and level < len(names) else ""
    if known == "*":
        return f"{column} wholly hidden"
    if level == 0:
        return f"{column} as it is"
    return f"{column} by {known}" if known else f"{column} at level {level}"


def change_text(tried: Document, levels: Mapping[str, Sequence[str]]) -> str:
    """How a plan that a search has tried differs from the one at which it began, in words."""
    grouped, gone = list(tried.get("grouped") or ()), list(tried.get("without") or ())
    verb = "becomes a quasi-identifier" if len(grouped) == 1 else "become quasi-identifiers"
    parts = [", ".join(parameters_told(tried["method"], levels))]
    parts += [f"{listed(grouped, len(grouped))} {verb}" if grouped else ""]
    parts += [f"left out: {listed(gone, len(gone))}" if gone else ""]
    return "; ".join(filter(None, parts)) or "the plan as it is"


def excess_told(ruling: Document, attempts: int | None) -> str:
    """The figure of a risk beyond its control, with its interval and of how many attempts it is.

    ``attempts`` is how many there were, where the record of the release tells.
    """
    value, low, high = ruling["value"], ruling.get("low"), ruling.get("high")
    beside = "guessing" if "against guessing" in ruling["why"] else "the control"
    told = [f"not beyond {beside}" if value <= 0 else percent(value)]
    if low is not None and high is not None and high > low:
        told.append(f"95 % interval {percent(max(low, 0))} to {percent(max(high, 0))}")
    counts = next((one for one in ruling.get("notes") or () if "predicates fit" in one), "")
    if counts or attempts is not None:
        told.append(counts or f"{attempts:,} attempts")
    if _is_undecided(ruling):
        told.append("undecided: the limit lies within the interval")
    return "; ".join(told).replace("\xa0", " ")


def numbers_of(text: str, what: str, example: str = "5, 10, 20") -> list[int | float]:
    """The numbers of a field, with commas between; raises ``InputError`` for anything else.

    A nought before a comma may begin a decimal, which has a point here.
    """
    found: list[int | float] = []
    if decimal := re.search(r"(?<![\d.])0,(\d+)", text):
        msg = (
            f"{what}: write decimals with a point, 0.{decimal[1]}, or a space after the comma "
            "between two numbers"
        )
        raise InputError(msg)
    for part in text.replace(";", ",").split(","):
        said = part.strip()
        if not said:
            continue
        try:
            number = float(said)
        except ValueError:
            number = float("nan")
        if not abs(number) < 1e15:
            msg = f"{what}: write numbers with commas between, for example {example}"
            raise InputError(msg)
        found.append(int(said) if said.lstrip("+-").isdigit() else number)
    return found


_ROLE = re.compile(r"\[roles\] (\w+)")
_KEYS = {
    "bounds": "the public bounds",
    "hierarchy": "the levels",
    "intervals": "the levels",
    "tree": "the levels",
    "prefix": "the levels",
    "kind": "the kind",
}
"""Keys of a column that a field of the screen Plan sets."""
_COLUMN = re.compile(
    r"\[columns\.(?:\"([^\"\]]+)\"|'([^'\]]+)'|([^\]]+))\](?: (" + "|".join(_KEYS) + r")\b)?"
)
_LED = re.compile(r"(^|: )\[method\] (?=[a-z])")
"""What leads a whole sentence about the method."""
_SENTENCE = re.compile(r"(no|the|a|an|not) ")
_TABLES = {
    "[roles]": "the roles on Plan",
    "[method]": "the method",
    "[input]": "how the file is read",
    "[budget]": "the budget",
    "[[steps]]": "the steps",
    "[columns]": "the columns on Plan",
    "suppression_limit": "the share of rows that may be left out",
    "accept_questions": "accepting open questions",
    "voile choose": "“Find the least change that meets this policy”",
    "voile recount": "the check of a release",
}


def without_toml(message: str) -> str:
    """A message of a command in the words of the screens: fields and roles, no tables of TOML."""
    message = _LED.sub(r"\1", message)
    told = _COLUMN.sub(_field_told, message)
    told = _ROLE.sub(_role_told, told)
    for table, words in _TABLES.items():
        told = told.replace(table, words)
    begins = message.startswith("[") or bool(_SENTENCE.match(message))
    return told[:1].upper() + told[1:] if begins else told


def _field_told(found: re.Match[str]) -> str:
    name, key = next(part for part in found.groups()[:3] if part is not None), found[4]
    if key is None:
        return f"column “{name}” on Plan"
    return f"{_KEYS[key]} of column “{name}” on Plan"


def _role_told(found: re.Match[str]) -> str:
    return f"the role “{ROLES.get(found[1], found[1])}” on Plan"


def odds_told(epsilon: float) -> str:
    """What an epsilon means: how sure a bet of one to one may become."""
    if epsilon > 20:
        return "no bound that means something"
    factor = math.exp(epsilon)
    return f"{factor:.3g} to 1: right {100 * factor / (1 + factor):.3g} times out of 100"


def most_error(epsilon: float, widths: Mapping[str, float]) -> Mapping[str, float]:
    """How far noise moves a number of each column on average, at most, in the column's unit.

    ``widths`` are the widths of the public bounds of the columns that share ``epsilon``.  Laplace
    noise of scale width * columns / epsilon is as far on average as its scale; clusters, where they
    help, make it less.  It holds where a person has one row.
    """
    return {name: width * len(widths) / epsilon for name, width in widths.items()}


_TICK = "Tick it below, in the role of the person who has made sure of it."
_MORE_PRIVATE = (
    "Which change meets it is known only once it is tried, and a larger k alone may not: “Find the "
    "least change that meets this policy” tries k, levels and columns, and says which meets it, or "
    "that none of them does."
)
_LATER_IN_SERIES = (
    "k, roles and levels stay as in the first release of the series. If none of its releases was "
    "handed over, withdraw them on Sign off and begin another series there, with another k or "
    "fewer columns. Else a policy for recipients who are bound by more is left, or to wait until "
    "the table has grown."
)
_CONCRETE = {
    "group-size": ("k", "Groups of k = {limit:.0f} persons or more."),
    "diversity": ("l", "At least l = {limit:.0f} different values in each group."),
    "closeness": ("t", "Values in each group within t = {limit:g} of those of all rows."),
}
"""Criteria that a parameter of the method meets."""
_GENERAL = {
    "publishable": "Publish again without a seed.",
    "column": "On Plan give the column the role “leave out” or “publish unchanged”, then publish.",
    "identifiers": "On Plan give the columns that are named the role “leave out”, then publish.",
    "privacy-budget": "On Try choose a method with differential privacy, of at most {limit:g}.",
    "utility": "On Try choose a smaller k or another method, or on Plan set finer levels.",
    "copies": _MORE_PRIVATE,
    "risk": _MORE_PRIVATE,
    "attack": _MORE_PRIVATE,
    "worst-off": _MORE_PRIVATE,
    "re-identification": _MORE_PRIVATE,
    "recipient": _TICK,
    "assumptions": _TICK,
    "question": _TICK,
    "unexamined": _TICK,
}
_COUNTED = frozenset({"risk", "attack", "worst-off", "re-identification"})
"""Criteria whose figures evidence has."""
_BY_GROUP = ("prosecutor", "journalist", "marketer")
"""Attacks whose probability is one over those who look alike."""


def remedy_of(ruling: Document, *, in_series: bool = False) -> tuple[str, Document]:
    """What would meet a criterion that is not met, as ``verdict.json`` has it; empty if it is met.

    Beside it the parameter of the method that would, none where no parameter does: releases of a
    series (``in_series``) keep theirs.  Nothing is
    known of criteria of other packages but what they say themselves.
    """
    if ruling["passed"]:
        return "", {}
    kind, limit, value = ruling["kind"], ruling["limit"], ruling["value"]
    if limit is not None and value is None and kind in _COUNTED:
        return _uncounted(ruling["why"]), {}
    if kind == "attack" and limit and any(f" {name} " in ruling["asks"] for name in _BY_GROUP):
        k = math.ceil(1 / limit - 1e-4)
        return f"Groups of k = {k} persons or more.", {"k": k}
    if limit is not None and kind in _CONCRETE:
        key, told = _CONCRETE[kind]
        return told.format(limit=limit), {key: limit if key == "t" else round(limit)}
    remedy = _GENERAL.get(kind, "").format(limit=limit or 0)
    remedy = _LATER_IN_SERIES if in_series and remedy == _MORE_PRIVATE else remedy
    if remedy and value is not None and _is_undecided(ruling):
        return (
            "Undecided, since the limit lies within the interval: more people or attempts make it "
            f"narrower. {remedy}"
        ), {}
    return remedy, {}


_NO_FIGURE = re.compile(r"\bnull\b")
"""What is said of a figure that a record does not have."""


def _uncounted(why: str) -> str:
    """What would give a figure that is missing."""
    if _NO_FIGURE.search(why):
        return "Publish again: a figure is missing from the record."
    if "was not counted" in why or "was not measured" in why:
        return "Publish again: each new release is attacked, and its three risks are counted."
    return "The line above says what keeps it from being counted: change that on Plan."


def _is_undecided(ruling: Document) -> bool:
    """Whether the limit that is missed lies within the interval of the figure."""
    low, high, limit = (ruling.get(one) for one in ("low", "high", "limit"))
    if ruling.get("passed") or low is None or high is None or limit is None:
        return False
    return bool(low <= limit <= high)

"""Values that cross a boundary: what is refused, and in which words."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, replace
from decimal import Decimal
from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError

from voile_base.errors import PlanError, TableError
from voile_base.values import of_valid
from voile_base.values.value import (
    Exact,
    Number,
    Says,
    Several,
    Value,
    checked,
    json_schema,
    read,
)


class Square(Value):
    """A figure with one length."""

    kind: Literal["square"] = "square"
    side: Annotated[Exact, Field(gt=0)]


class Circle(Value):
    """A figure with another."""

    kind: Literal["circle"] = "circle"
    radius: float
    colour: Literal["red", "green"] | None = None


class Drawing(Value):
    """Figures, and how many copies are made of them."""

    figures: tuple[Annotated[Square | Circle, Field(discriminator="kind")], ...]
    copies: Annotated[int, Field(ge=1)] = 1
    names: Mapping[str, str] | None = None


def figures(*documents, **more):
    """A drawing of figures."""
    return {"figures": list(documents), **more}


@pytest.mark.parametrize("side", [1, 0.1, Decimal("0.30000000000000000001")])
def test_numbers_are_exact(side):
    """A float stands for the decimal that a reader sees, and decimals keep all their digits."""
    (found,) = read(Drawing, figures({"kind": "square", "side": side}), "here").figures
    assert found.side == Decimal(str(side))
    assert found.document() == {"kind": "square", "side": float(side)}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"figure": []}, "plan.toml: unknown key 'figure'; did you mean 'figures'?"),
        ({}, "plan.toml: needs 'figures'"),
        ([], "plan.toml: the document must be a table of keys and values"),
        (figures(copies=0), "plan.toml: copies must be a whole number of at least 1"),
        (figures(copies="7"), "plan.toml: copies must be a whole number"),
        (figures(copies=True), "plan.toml: copies must be a whole number"),
        (figures(names={"a": 1}), "plan.toml: names.a must be a text"),
        (figures(3), "plan.toml: figures[1] must be"),
        (figures({"side": 1}), "plan.toml: figures[1] needs 'kind', which says what it is"),
        (figures({"kind": "square"}), "plan.toml: figures[1]: needs 'side'"),
        (figures({"kind": "square", "side": 0}), "figures[1].side must be a number above 0"),
        (figures({"kind": "square", "side": float("nan")}), "figures[1].side must be"),
        (
            figures({"kind": "circle", "radius": 1}, {"kind": "circle", "radios": 1, "radius": 2}),
            "figures[2]: unknown key 'radios'; did you mean 'radius'? (known: kind, radius, col",
        ),
    ],
)
def test_mistakes_are_told_in_a_sentence(document, said):
    """What is wrong, where it stands, and what is allowed there."""
    with pytest.raises(PlanError) as caught:
        read(Drawing, document, "plan.toml", PlanError)
    assert said in str(caught.value)


def test_what_a_document_holds_is_quoted_only_where_it_is_public():
    """A name that is nearly right is told to those who may read the document."""
    secret = figures({"kind": "squaer", "side": 1})
    with pytest.raises(TableError) as caught:
        read(Drawing, secret, "here", TableError)
    assert str(caught.value) == "here: figures[1]: unknown kind (known: square, circle)"
    with pytest.raises(TableError, match="unknown kind 'squaer'; did you mean 'square'"):
        read(Drawing, secret, "here", TableError, public=True)
    coloured = figures({"kind": "circle", "radius": 1, "colour": "gren"})
    with pytest.raises(TableError, match=r"must be one of 'red', 'green'$"):
        read(Drawing, coloured, "here", TableError)
    with pytest.raises(TableError, match="did you mean 'green'"):
        read(Drawing, coloured, "here", TableError, public=True)


def test_values_do_not_change():
    """A value is a fact, and equal to any other of the same content."""
    circle = Circle(radius=1.0)
    assert circle == Circle(radius=1)
    with pytest.raises(ValidationError):
        circle.radius = 2.0


def test_what_says_nothing_is_not_written():
    """None is an absent key."""
    assert Circle(radius=1.5).document() == {"kind": "circle", "radius": 1.5}


@checked(PlanError)
@dataclass(frozen=True)
class Range:
    """Two numbers, as people make them in Python."""

    low: Annotated[Number, Field(ge=0, lt=10)]
    high: Annotated[Number | None, Says("the larger number")] = None
    names: Several[str] = ()
    mode: Literal["open", "closed"] = "open"

    def __post_init__(self) -> None:
        if self.high is not None and self.low > self.high:
            msg = "low is above high"
            raise PlanError(msg)


@checked(PlanError)
@dataclass(frozen=True)
class Ranges:
    """Ranges by name."""

    by_name: dict[str, Range]


def test_a_checked_class_is_made_as_any_dataclass():
    """By place or by name, with lists for tuples; numbers become exact; it is replaced in part."""
    made = Range(0.1, names=["a"])
    assert made == Range(low=Decimal("0.1"), names=("a",))
    assert replace(made, high=3).high == Decimal(3)
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(TypeError, match="too many arguments"):
        Range(1, 2, (), "open", 5)
    with pytest.raises(FrozenInstanceError):
        made.low = 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs 'low'"),
        ({"low": 10}, "low must be a number of at least 0 and below 10"),
        ({"low": "1"}, "low must be a number of at least 0 and below 10"),
        ({"low": True}, "low must be a number of at least 0 and below 10"),
        ({"low": float("nan")}, "low must be a number of at least 0 and below 10"),
        ({"low": 1, "high": "x"}, "high must be the larger number"),
        ({"low": 1, "high": 0}, "low is above high"),
        ({"low": 1, "names": "a"}, "names must be a list of texts"),
        ({"low": 1, "mode": "clsed"}, "'open', 'closed'; did you mean 'closed'?"),
        ({"lo": 1}, "unknown key 'lo'; did you mean 'low'? (known: low, high, names, mode)"),
    ],
)
def test_mistakes_are_told_alike_from_python_and_from_a_document(given, said):
    """The constructor and the reader say the same; the reader says in which table."""
    with pytest.raises(PlanError) as caught:
        Range(**given)
    assert said in str(caught.value)
    with pytest.raises(PlanError) as caught:
        read(Ranges, {"by_name": {"x": given}}, "p", PlanError, public=True, tables=True)
    assert str(caught.value).startswith("p: [by_name.x]")
    assert said in str(caught.value)


def test_the_schema_of_a_class_says_its_limits():
    """Limits, choices and what is required."""
    schema = json_schema(Range)
    assert schema["required"] == ["low"]
    assert (schema["properties"]["low"]["minimum"], schema["additionalProperties"]) == (0, False)
    assert schema["properties"]["mode"]["enum"] == ["open", "closed"]


def test_a_value_of_valid_fields_is_the_checked_one_and_checks_itself() -> None:
    """It equals the validated one, has the defaults, and ``__post_init__`` still refuses."""
    made = of_valid(Range, low=Decimal(1), high=Decimal(2))
    assert made == Range(1, 2)
    assert of_valid(Range, low=Decimal(1), high=Decimal(2)) == made
    with pytest.raises(PlanError, match="low is above high"):
        of_valid(Range, low=Decimal(2), high=Decimal(1))

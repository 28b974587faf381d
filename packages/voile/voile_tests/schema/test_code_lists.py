"""Public lists of codes as hierarchies that ship with the package."""

from __future__ import annotations

import pytest

from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.taxonomy import CODE_LISTS, CodeList, CodeListName, public_list
from voile.schema.plan import parse_plan
from voile_base.errors import PlanError


def _ladder(name: CodeListName, *texts: str | None, unlisted: str = "refuse") -> list[list[str]]:
    """What each value becomes, level by level."""
    values = DistinctValues("text", tuple(texts))
    bound = CodeList(name, unlisted).bind("code", values)  # type: ignore[arg-type]
    for low, high in zip(bound.codes, bound.codes[1:], strict=False):
        pairs = set(zip(low.tolist(), high.tolist(), strict=True))
        assert len(pairs) == len({one for one, _ in pairs}), "a level is no coarsening"
    return [
        [str((shown.texts or texts)[code[place]]) for shown, code in _levels(bound)]
        for place in range(len(texts))
    ]


def _levels(bound):  # type: ignore[no-untyped-def]
    return list(zip(bound.values, bound.codes, strict=True))


@pytest.mark.parametrize("name", CODE_LISTS)
def test_every_list_says_where_it_is_from(name: CodeListName) -> None:
    """A list has a title, a source, terms of use, and codes whose groups are equally many."""
    listed = public_list(name)
    assert min(map(len, (listed.title, listed.source, listed.terms))) > 10
    assert len({len(above) for above in listed.groups.values()}) == 1
    assert len(listed.groups) > 25


@pytest.mark.parametrize(
    ("name", "value", "ladder"),
    [
        ("icd-9-cm", "250.83", ["250*", "3 Endocrine, nutritional, metabolic, immunity", "*"]),
        ("icd-9-cm", "25083", ["250*", "3 Endocrine, nutritional, metabolic, immunity", "*"]),
        ("icd-9-cm", "8", ["008*", "1 Infectious and parasitic diseases", "*"]),
        ("icd-9-cm", "V27", ["V27*", "V Factors influencing health status", "*"]),
        ("icd-10-cm", "c50.911", ["C50*", "II Neoplasms", "*"]),
        ("icd-10-cm", "M1A.0", ["M1A*", "XIII Musculoskeletal system and connective tissue", "*"]),
        ("nace-2", "47.11", ["47*", "G Wholesale and retail trade", "*"]),
        ("nace-2", "1.11", ["01*", "A Agriculture, forestry and fishing", "*"]),
        ("isco-08", "2221", ["222*", "22 Health professionals", "2 Professionals", "*"]),
        ("us-states", "MA", ["New England", "Northeast", "*"]),
        ("us-states", "6", ["Pacific", "West", "*"]),
        ("countries", "United-States", ["Northern America", "Americas", "*"]),
        ("countries", "Trinidad&Tobago", ["Latin America and the Caribbean", "Americas", "*"]),
        ("countries", "Guinea-Bissau", ["Sub-Saharan Africa", "Africa", "*"]),
        ("nuts", "DE212", ["DE21*", "DE2*", "DE Germany", "*"]),
    ],
)
def test_a_code_climbs_its_list(name: CodeListName, value: str, ladder: list[str]) -> None:
    """Lost zeros, dots, small letters and hyphens make no difference."""
    assert _ladder(name, value, unlisted="group") == [[value, *ladder]]


def test_values_that_a_list_does_not_have_are_refused_or_grouped() -> None:
    """The first of them is named, with the way out; a group of their own keeps levels nested."""
    with pytest.raises(PlanError, match=r"misses the value 'Utopia'; write code_list = \{ name"):
        _ladder("countries", "Peru", "Utopia")
    ladders = _ladder("countries", None, "Peru", "Utopia", "Wonderland", unlisted="group")
    assert ladders[2][1:] == ladders[3][1:] == ["unlisted", "unlisted", "*"]
    assert ladders[0] == ["None", "None", "None", "*"]


def test_a_plan_names_a_list_or_a_list_with_what_becomes_of_others() -> None:
    """Both spellings are read; an unknown list is refused with those there are."""
    roles = {"quasi_identifiers": ["c"]}
    for said in ("countries", {"name": "countries"}):
        plan = parse_plan({"roles": roles, "columns": {"c": {"code_list": said}}})
        assert plan.columns["c"].hierarchy == CodeList("countries")
    with pytest.raises(PlanError, match=r"\[columns\.c\] code_list must be .*icd-9-cm, icd-10-cm"):
        parse_plan({"roles": roles, "columns": {"c": {"code_list": "icd"}}})

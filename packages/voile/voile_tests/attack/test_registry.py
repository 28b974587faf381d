"""Attacks by their names, and the table in the documentation that says where each makes sense."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields

import polars as pl
import pytest

from voile.attack.earlier_releases import AgainstEarlierReleases
from voile.attack.protocol import AttackOutcome, Knowledge
from voile.attack.registry import ATTACKS, attack_named, attack_names
from voile.publish.registry import method_names
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_testing.plugin import ROOT
from voile_tests.attack.small_releases import ALL_METHODS, PEOPLE, SCORES, small_plan, small_release

PAGE = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
ABSENT = SCORES.with_columns(pl.col("age") + 1)
"""People who are not in the table, for whoever needs some."""


def made(name, method):
    """An attack that knows what it cannot do without."""
    earlier = [] if name == "minimality" else [small_release(method)]  # of no series
    return attack_named(name).told(Knowledge(absent=ABSENT, earlier=earlier))


@pytest.mark.parametrize("name", attack_names())
def test_every_name_leads_to_its_attack(name):
    """It goes by that name, and its fields, the background knowledge, cannot be changed."""
    attack = attack_named(name)
    assert attack.name == name
    knowledge = fields(attack)[0].name
    with pytest.raises(AttributeError):
        setattr(attack, knowledge, None)


def test_knowledge_is_given_by_name():
    """The fields of an attack are its parameters."""
    attack = attack_named("background-knowledge", columns=["age", "age"], ruled_out=2)
    assert (attack.columns, attack.ruled_out) == (("age",), 2)
    with pytest.raises(InputError, match="ruled_out must be at least 1"):
        attack_named("background-knowledge", ruled_out=0)


def test_unknown_names_are_refused_with_the_nearest_known():
    """For attacks and for what their adversaries know."""
    with pytest.raises(InputError, match=r"no attack 'homogenity'; did you mean 'homogeneity'\?"):
        attack_named("homogenity")
    with pytest.raises(
        InputError, match=r"'skewness' has no parameter 'gains'; did you mean 'gain'.*known: "
    ):
        attack_named("skewness", gains=3)


@pytest.mark.slow
def test_attacks_are_loaded_when_they_are_asked_for():
    """Naming them loads none; a process that asks for one loads no other that has its own code."""
    code = (
        "import sys; from voile.attack.registry import attack_named, attack_names; attack_names();"
        "before = [m for m in sys.modules if m.startswith('voile.attack.')];"
        "attack_named('homogeneity');"
        "print(*before); print(*(m for m in sys.modules if m.startswith('voile.attack.')))"
    )
    # The package itself offers two attacks by name, which is not what is asked here.
    code = "import types, sys; import voile; " + code
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    homes = {place.split(":")[0] for place in ATTACKS.own.values()}
    offered = {"voile.attack.identification"}
    assert not homes & set(shown[0].split()) - offered
    assert homes & set(shown[1].split()) - offered == {"voile.attack.sensitive_values"}


def table_of(heading):
    """The rows of the table under a heading of the page, as lists of cells."""
    part = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = re.findall(r"^\|(.*)\|$", part, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines if "---" not in line]


def test_the_page_says_where_each_attack_makes_sense():
    """Real releases of every method are asked: the table has their answers and their reasons."""
    (_, *methods), *rows = table_of("Which attack runs on which method")
    assert methods == list(ALL_METHODS)
    counts = {
        "flows",
        "dp-synthesis",
        "dp-tables",
    }  # of which the page says in a sentence that no attack runs
    assert set(method_names()) - counts <= set(methods)
    assert [row[0] for row in rows] == list(attack_names())
    reasons: dict[str, set[str]] = {}
    for name, reason in table_of("Why not elsewhere")[1:]:
        reasons.setdefault(name, set()).add(reason)
    refused = {}
    for name, *cells in rows:
        for method, cell in zip(methods, cells, strict=True):
            reason = made(name, method).refusal(small_release(method), small_plan(method))
            assert cell == ("no" if reason else "yes"), (name, method)
            if reason:
                refused.setdefault(name, set()).add(reason)
    assert reasons == refused


@pytest.mark.parametrize("method", ALL_METHODS)
def test_what_makes_sense_runs(method):
    """On a real release of every method: each attack that is not refused ends in an outcome."""
    release, plan = small_release(method), small_plan(method)
    for name in attack_names():
        attack = made(name, method)
        if attack.refusal(release, plan) is not None:
            continue
        found = attack.run(release, SCORES, plan, Randomness.seeded(1))
        assert isinstance(found, AttackOutcome)
        assert found.attack == name
        assert 0 <= found.success.low <= found.success.value <= found.success.high <= 1
        assert 0 <= found.baseline <= 1
        assert json.loads(json.dumps(found.document()))["attack"] == name


def test_the_page_describes_every_attack():
    """With the four things that a reader must know of each."""
    headings = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert headings == list(attack_names())
    for part in PAGE.split("\n### ")[1:]:
        name, _, text = part.partition("\n")
        for word in ("Knows", "Success", "Baseline", "Read it"):
            assert f"- **{word}:**" in text, (name, word)


def test_differencing_ends_in_an_outcome_like_all_others(publish):
    """Five people, and a sixth joins, whose value is what the old group lacks."""
    old = publish([(name, value, 1) for name, value in zip("abcde", range(5), strict=True)])
    new = publish([(name, value, 1) for name, value in zip("abcdef", range(6), strict=True)])
    original = pl.DataFrame({"person": list("abcdef"), "salary": range(6)})
    attack = AgainstEarlierReleases([old], ["new", "old"])
    found = attack.run(new, original)
    assert (found.attack, found.targets, found.checked) == ("differencing", 6, False)
    assert found.success.value == pytest.approx(1 / 6)
    assert found.probability.value == pytest.approx((5 * 1 / 5 + 1) / 6)
    assert (found.baseline, found.typical) == (0, None)
    assert found.worst.known == {"person": "f"}
    assert found.worst.probability == 1
    assert (
        found.goal
        == "fewer than 3 values of 'salary' are possible for a person, or they span less than 2"
    )
    assert found.notes[0] == "compared with old; the newest release alone exposes nobody"
    assert found.notes[-1] == "the claim about the worst victim is true"
    lied = original.with_columns(salary=pl.Series([5, 4, 3, 2, 1, 0]))
    assert attack.run(new, lied).notes[-1] == "the claim about the worst victim is false"
    alone = AgainstEarlierReleases().run(new, original)
    assert (alone.success.value, alone.worst) == (0, None)
    assert alone.notes == (
        "compared with no earlier release; the newest release alone exposes nobody",
    )


def test_differencing_is_refused_where_nothing_is_permuted():
    """And it wants as many names as there are releases."""
    with pytest.raises(InputError, match="makes no sense here: it compares groups"):
        AgainstEarlierReleases().run(small_release("generalization"), PEOPLE)
    with pytest.raises(InputError, match="give 2 names"):
        AgainstEarlierReleases([small_release("ke-anonymity")], ["new"])
    with pytest.raises(InputError, match="k must be at least 1"):
        AgainstEarlierReleases(k=0)

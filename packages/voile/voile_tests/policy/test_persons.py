"""What a policy asks of groups, where persons have several rows."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from voile.policy.case import Case
from voile.policy.criteria.groups import ClosenessCriterion, DiversityCriterion, GroupSize
from voile.schema.plan import parse_plan
from voile.study.evidence import EvidenceTerms
from voile.study.single import make_study

STAYS = pl.DataFrame(
    {
        "who": [number // 2 for number in range(240)],
        "age": [20 + number % 40 for number in range(240)],
        "sex": ["f", "m"] * 120,
        "illness": ["flu", "gout", "none"] * 80,
    }
)


@pytest.mark.slow
def test_what_is_promised_of_persons_meets_a_policy(tmp_path: Path) -> None:
    """Persons with several rows: l and t are those of the release, and no more than it promises."""
    plan = parse_plan(
        {
            "roles": {
                "person": "who",
                "quasi_identifiers": ["age", "sex"],
                "sensitive": ["illness"],
            },
            "columns": {"age": {"bounds": [0, 99]}},
            "method": {"name": "generalization", "k": 11, "l": 3, "t": 0.4},
        }
    )
    make_study(STAYS, plan, tmp_path / "one", terms=EvidenceTerms(("prosecutor",)))
    case = Case.open(tmp_path / "one")
    for least, most, met in ((3, "0.4", True), (4, "0.3", False)):
        asked = (
            DiversityCriterion(least=least),
            ClosenessCriterion(most=Decimal(most)),
            GroupSize(least=11),
        )
        rulings = [one for each in asked for one in each.rulings(case, ())]
        assert [one.passed for one in rulings] == [met, met, True]
        assert all("persons, as the release promises" in one.why for one in rulings)

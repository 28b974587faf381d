"""Tables with noise are audited as a black box, for neighbours that differ in a person.

Persons have five rows in one town each, of which all take part.  The event is chosen beforehand: a
town's count is at least the one with its person.  The lower bound of the loss is right with 99.9 %.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from voile.publish.dp_tables import DPTables
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile.tabular.counting import plan_of_noise
from voile_base.randomness import Randomness
from voile_testing.statistics import least_loss

TOWNS, OTHERS, ROWS = 2_000, 12, 5
EPSILON = 1.0
FALSE_ALARM = 1e-3


def counts(person: str, rows: int, most: int | None, seed: int) -> np.ndarray:
    """The published count of each town, which has so many rows of one more person."""
    alone = np.arange(TOWNS * OTHERS)
    own = np.repeat(np.arange(TOWNS), rows)
    frame = pl.DataFrame(
        {
            "town": [f"t{town}" for town in np.concatenate([alone // OTHERS, own]).tolist()],
            "who": [f"p{who}" for who in np.concatenate([-1 - alone, own]).tolist()],
        }
    )
    limit = {} if most is None else {"rows_per_person": most}
    plan = parse_plan(
        {
            "roles": {"person": person},
            "columns": {"town": {"values": [f"t{town}" for town in range(TOWNS)]}},
            "tables": [{"dimensions": ["town"]}],
            "protection": {"kind": "differential-privacy", "epsilon": EPSILON, **limit},
        }
    )
    method = plan_of_noise(plan, plan.protection)
    release = DPTables(**method.method.parameters).publish(
        open_frame(frame, method), Randomness.seeded(seed)
    )
    columns = release.table.to_arrow().to_pydict()
    of_town = dict(zip(columns["town"], columns["count"], strict=True))
    return np.array([of_town[f"t{town}"] for town in range(TOWNS)])


def loss(person: str, most: int | None, seed: int) -> float:
    """The least loss that the two draws leave possible."""
    with_person, without = (counts(person, rows, most, seed + rows) for rows in (ROWS, 0))
    event = OTHERS + ROWS
    return least_loss(with_person >= event, without >= event, 0.0, FALSE_ALARM)


def test_a_mechanism_that_protects_a_row_and_not_a_person_is_caught() -> None:
    """The noise of a row does not hide a person of five rows; the noise of a person does."""
    assert loss("who", ROWS, 1) < EPSILON
    assert loss("row", None, 101) > EPSILON

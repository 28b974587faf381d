"""Proofs by alternative tables, and the patterns of the heuristic that come with them."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.release.recounting import Recount
from voile.schema.plan import parse_plan
from voile.tabular.breaches import InsiderKnowledge, MeasureProof, PatternAttack
from voile.tabular.moves import CellMove
from voile.tabular.published import columns_of_cells
from voile.tabular.publishing import make_tables
from voile_base.errors import InfeasibleError
from voile_testing.plugin import some_slow
from voile_tests.tabular.small_tables import BruteForce, counted, protected, random_small
from voile_tests.tabular.test_brute_force import rows_of_cells

FOUR = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"]}
TABLE = {"dimensions": ["a", "b"], "count": "n"}


def grid_rows(seed: int, sizes: tuple[int, ...], people: int) -> dict[str, list[Any]]:
    """A row for each person, in the cells of a skewed table."""
    draw = np.random.default_rng(seed)
    cells = np.array(list(product(*map(range, sizes))))
    share = draw.dirichlet(np.full(len(cells), 0.2))
    chosen = cells[draw.choice(len(cells), people, p=share)]
    return {f"d{axis}": [f"v{one}" for one in chosen[:, axis]] for axis in range(len(sizes))}


@pytest.mark.parametrize("seed", some_slow(range(20), {1, 2, 6, *range(11, 17)}))
def test_no_table_of_brute_force_narrows_what_the_heuristic_proves(seed: int) -> None:
    """Outsider and insiders alike, among all whole-number tables of the same total."""
    small = random_small(seed)
    zeros = "show" if seed % 2 else "hide"
    total = [{each if isinstance(each, str) else each[-1]: "Total"} for each in ("a", "b")]
    fixed = [{**total[0], **total[1]}]
    cells, primary = counted(small.rows, small.tables, minimum=3, zeros=zeros)
    if primary.cells[0]:
        return
    try:
        rule: dict[str, Any] = {"minimum": 3, "zeros": zeros, "search": "heuristic"}
        if "c" not in small.rows and "g" not in small.rows:
            rule["publish"] = fixed
        made = protected(small.rows, small.tables, **rule)
    except InfeasibleError:
        return
    of_row = rows_of_cells(cells)
    hidden = made.pattern.suppressed
    assert made.pattern.proof is not None
    assert made.pattern.proof.verified(hidden)
    assert not list(PatternAttack(made.cells, made.primary).breaches(hidden))
    if not hidden[0]:
        brute = BruteForce(small.rows, columns_of_cells(cells, hidden))
        assert brute.protects(hidden[of_row], primary.cells[of_row])


def proof_of_four(n: list[int], change: list[int]) -> tuple[MeasureProof, np.ndarray]:
    """Four cells of which the first is primary; the pattern hides them; one move of theirs."""
    cells, primary = counted({**FOUR, "n": n}, [TABLE], minimum=2)
    hidden = np.zeros(cells.system.cells, dtype=np.bool_)
    inner = np.arange(cells.system.cells - 4, cells.system.cells)
    hidden[inner] = True
    proof = MeasureProof(cells.measures[0], primary.protections[0], cells.system.constraints)
    proof.add(CellMove(inner, np.array(change)))
    return proof, hidden


def test_a_proof_must_add_up_in_whole_numbers() -> None:
    """A move along the square proves the pattern; none that does not add up, or takes too much."""
    assert proof_of_four([1, 9, 8, 7], [1, -1, -1, 1])[0].verified(
        proof_of_four([1] * 4, [1] * 4)[1]
    )
    for change in ([1, -1, -1, 2], [1, 1, 1, 1], [-2, 2, 2, -2]):
        proof, hidden = proof_of_four([1, 9, 8, 7], change)
        assert not proof.verified(hidden)


def test_a_proof_changes_no_published_cell() -> None:
    """The same move is no proof where one of its cells is published."""
    proof, hidden = proof_of_four([1, 9, 8, 7], [1, -1, -1, 1])
    hidden[-1] = False
    assert not proof.verified(hidden)


def test_a_table_that_an_insider_knows_to_be_wrong_proves_nothing_to_him() -> None:
    """The only person of the second cell knows that it is not empty; a second table convinces."""
    proof, hidden = proof_of_four([1, 1, 8, 7], [1, -1, -1, 1])
    knowledge = InsiderKnowledge.of(proof.measure, hidden)
    (lacking,) = [each for each in proof.lacking(knowledge) if each.insiders]
    assert lacking.cell == proof.moves[0].cells[0]
    assert not proof.verified(hidden)
    proof.add(CellMove(proof.moves[0].cells, -proof.moves[0].change))
    assert proof.verified(hidden)


@pytest.mark.slow
def test_the_heuristic_costs_little_more_than_the_least() -> None:
    """On eight small systems at most a quarter more in all."""
    heuristic, exact = 0, 0
    for seed in range(8):
        small = random_small(seed)
        for search in ("heuristic", "exact"):
            try:
                made = protected(small.rows, small.tables, minimum=2, zeros="show", search=search)
            except InfeasibleError:
                continue
            if search == "exact":
                exact += made.pattern.cost
            else:
                heuristic += made.pattern.cost
    assert exact <= heuristic <= 1.25 * exact


def document(sizes: tuple[int, ...], **protection: Any) -> dict[str, Any]:
    """A plan of one table by all dimensions."""
    names = [f"d{axis}" for axis in range(len(sizes))]
    return {"tables": [{"dimensions": names}], "protection": protection}


@pytest.mark.slow
@pytest.mark.parametrize("zeros", ["show", "hide"])
def test_a_table_beyond_the_exact_search_is_proved_and_recounted(
    tmp_path: Path, zeros: str
) -> None:
    """3,360 cells of four dimensions: verified in whole numbers, read back, no primary shown."""
    sizes = (11, 9, 6, 3)
    rows = pl.DataFrame(grid_rows(5, sizes, 2_000))
    plan = parse_plan(document(sizes, minimum=3, zeros=zeros))
    made = make_tables(rows, plan, tmp_path / "out")
    assert made.cells.system.cells == 12 * 10 * 7 * 4
    assert made.pattern.search == "heuristic"
    assert not (made.primary.cells & ~made.pattern.suppressed).any()
    assert made.pattern.proof is not None
    assert made.pattern.proof.verified(made.pattern.suppressed)
    assert Recount.of(tmp_path / "out").refusal() is None


@pytest.mark.slow
def test_the_proof_of_a_pattern_proves_nothing_of_a_smaller_one() -> None:
    """Without its secondary cells, a large pattern is not verified."""
    sizes = (11, 9, 6, 3)
    plan = document(sizes, minimum=3, zeros="show", search="heuristic")
    made = protected(grid_rows(6, sizes, 2_000), plan["tables"], **plan["protection"])
    assert made.pattern.proof is not None
    assert made.secondary
    assert not made.pattern.proof.verified(made.primary.cells)


def test_what_cannot_be_proved_is_not_published() -> None:
    """A large table all of whose other columns are forced: how many cells, and a remedy."""
    values = [f"v{number}" for number in range(60)]
    rows = {"d0": [a for a in values for _ in values], "d1": values * 60, "n": [9] * 3_600}
    rows["n"][0] = 1
    forced = [{"d0": "Total"}, {"d1": "Total"}, *({"d1": each} for each in values[1:])]
    table = {"dimensions": ["d0", "d1"], "count": "n"}
    with pytest.raises(InfeasibleError, match="no pattern was found that protects 1 of the prim"):
        protected(rows, [table], minimum=3, publish=forced)

"""Missing values as a category: risks are those of who knows which cells hold missing values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voile.attack.identification import IdentificationAttack
from voile.attack.linkage import ProsecutorAttack
from voile.disclosure.interval import ANYTHING, Interval, named_values
from voile.publish.generalization import Generalization
from voile.release.release import Release
from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples

KNOWN = ("age", "sex", "job")
METHODS = (
    {"algorithm": "mondrian"},
    {"algorithm": "mondrian", "relaxed": True},
    {"algorithm": "mondrian", "sets": True},
    {"algorithm": "flash"},
    {"algorithm": "flash", "suppression_limit": 0.3},
    {"algorithm": "datafly", "suppression_limit": 0.2},
    {"algorithm": "k-optimize", "suppression_limit": 0.2},
    {},
)


def plan_of(known, *, rounded=False):
    """Missing values are a category; numbers have bounds and ranges."""
    steps = [{"kind": "rounding", "columns": ["age"], "base": 5}] if rounded else []
    return {
        "nulls": "category",
        "roles": {
            "person": "row",
            "quasi_identifiers": list(known),
            "sensitive": ["ill"],
            "keep": ["id"],
            "keep_unique": ["id"],
        },
        "columns": {"age": {"bounds": [0, 100], "intervals": {"widths": [10, 50]}}},
        **({"steps": steps} if steps else {}),
    }


def table_of(seed, rows, share):
    """People of whom a share misses each of three values."""
    draws = np.random.default_rng(seed)
    columns = {
        "age": draws.integers(20, 20 + draws.choice([6, 60]), rows),
        "sex": draws.choice(["f", "m"], rows),
        "job": draws.choice(["baker", "clerk", "smith"], rows),
    }
    frame = pl.DataFrame(
        {"id": draws.permutation(rows), **columns, "ill": ["flu", "gout"] * (rows // 2)}
    )
    gone = {name: pl.Series(draws.random(rows) < share) for name in KNOWN}
    return frame.with_columns(
        pl.when(gone[name]).then(None).otherwise(pl.col(name)).alias(name) for name in KNOWN
    )


class Linker:
    """A linker who knows of each combination of cells which of its missing cells are mixed."""

    def __init__(self, release: Release, people: pl.DataFrame, known, *, rounded: bool) -> None:
        shown = release.table.to_native()
        self.disclosure, self.known, self.rounded = release.disclosure, known, rounded
        self.rows = shown.to_dicts()
        value = {person["id"]: person for person in people.to_dicts()}
        self.targets = [value[row["id"]] for row in self.rows]
        self.mixed = set()
        for row, own in zip(self.rows, self.targets, strict=True):
            for name in known:
                if own[name] is not None:
                    self.mixed.add((self.combination(row), name))

    def cell(self, row, name):
        """What a row shows of a column."""
        return tuple(row[column] for column in self.disclosure.columns_of(name))

    def combination(self, row):
        """What a row shows of all that is known."""
        return tuple(self.cell(row, name) for name in self.known)

    def fits(self, row, own, own_row):
        """Whether a row may be that of a person, who has a row."""
        return all(self.fits_in(name, row, own[name], own_row) for name in self.known)

    def fits_in(self, name, row, value, own_row):
        """The same in one column."""
        shown = self.disclosure.columns[name].behind
        cell = self.cell(row, name)
        if getattr(shown, "level", None) not in {None, "differs"} or shown.kind == "exact":
            return cell == self.cell(own_row, name)  # one map for all rows
        if all(side is None for side in cell):
            return value is None or (self.combination(row), name) in self.mixed
        if isinstance(shown, Interval):
            if value is None:
                return False
            value = 5 * round(value / 5) if self.rounded else value
            return cell[0] <= value <= cell[1]
        if shown.kind == "set":
            named = named_values(cell[0])
            return named is None or value in named
        return cell[0] in {value, ANYTHING}

    def prosecutor(self):
        """The risk of each row that is published."""
        pairs = list(zip(self.rows, self.targets, strict=True))
        return [1 / sum(self.fits(row, own, mine) for row in self.rows) for mine, own in pairs]


def released(tmp_path, people, method, known, *, rounded):
    """A release of some people; None where there is none."""
    plan = plan_of(known, rounded=rounded)
    try:
        if not rounded:
            made = Generalization(k=3, **method)
            return made.publish(open_frame(people, parse_plan(plan)), Randomness.seeded(1))
        whole = {**plan, "method": {"name": "generalization", "k": 3, **method}}
        return make_release(people, parse_plan(whole), tmp_path / "out").release
    except InfeasibleError:
        return None


@pytest.mark.parametrize("method", METHODS, ids=lambda each: "-".join(map(str, each.values())))
@pytest.mark.parametrize("rounded", [False, True], ids=["as they are", "rounded"])
def test_the_prosecutor_is_a_linker_who_knows_the_missing_values(tmp_path, method, rounded):
    """Worst and mean are those by definition, however cells show that values are missing."""
    looked_at = 0
    for seed in range(examples(40)):
        draws = np.random.default_rng(seed)
        known = KNOWN[: draws.integers(1, 4)]
        people = table_of(seed, int(draws.integers(6, 25)) * 2, draws.choice([0.05, 0.2, 0.5]))
        folder = tmp_path / str(seed)
        folder.mkdir()
        release = released(folder, people, method, known, rounded=rounded)
        if release is None:
            continue
        risks = Linker(release, people, known, rounded=rounded).prosecutor()
        plan = parse_plan(plan_of(known))
        for attack in (ProsecutorAttack, IdentificationAttack):
            found = attack(columns=known, link="id", targets=None).run(release, people, plan)
            assert found.worst.probability == pytest.approx(max(risks)), (seed, attack)
            mean = sum(risks) / len(people if attack is IdentificationAttack else risks)
            assert found.success.value == pytest.approx(mean), (seed, attack)
        blind = people.drop("id")
        found = ProsecutorAttack(columns=known).run(release, blind, plan)
        if found.checked and found.exact:
            assert found.worst.probability >= max(risks) - 1e-12, seed
            assert found.success.value >= sum(risks) / len(risks) - 1e-12, seed
        looked_at += 1
    assert looked_at

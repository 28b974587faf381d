"""Missing values as a category: risks are those of who knows which cells hold missing values."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from voile.attack.identification import IdentificationAttack
from voile.attack.linkage import JournalistAttack, ProsecutorAttack
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
MOST_UNCLEAR = 9
"""Missing cells of which all readings are tried."""
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


class Linkers:
    """All linkers: each reads every missing cell of a combination as missing alone, or as any."""

    def __init__(self, release: Release, people: pl.DataFrame, known, *, rounded: bool) -> None:
        shown = release.table.to_native()
        self.disclosure, self.known, self.rounded = release.disclosure, known, rounded
        self.rows = shown.to_dicts()
        value = {person["id"]: person for person in people.to_dicts()}
        self.targets = [value[row["id"]] for row in self.rows]
        everybody = [(person, None) for person in value.values()]
        own = {person["id"]: row for person, row in zip(self.targets, self.rows, strict=True)}
        self.people = [(person, own.get(person["id"])) for person, _ in everybody]

    def cell(self, row, name):
        """What a row shows of a column."""
        return tuple(row[column] for column in self.disclosure.columns_of(name))

    def combination(self, row):
        """What a row shows of all that is known."""
        return tuple(self.cell(row, name) for name in self.known)

    def fits_in(self, name, row, value, own_row, *, others: bool):
        """Whether a row may be that of a person, who has a row, by one column.

        ``others`` says whether a missing cell stands for other values, too.
        """
        shown = self.disclosure.columns[name].behind
        cell = self.cell(row, name)
        if getattr(shown, "level", None) not in {None, "differs"} or shown.kind == "exact":
            return own_row is not None and cell == self.cell(own_row, name)  # one map for all rows
        if all(side is None for side in cell):
            return value is None or (others and self.disclosure.columns[name].mixes_missing)
        if isinstance(shown, Interval):
            if value is None:
                return False
            value = 5 * round(value / 5) if self.rounded else value
            return cell[0] <= value <= cell[1]
        if shown.kind == "set":
            named = named_values(cell[0])
            return named is None or value in named
        return cell[0] in {value, ANYTHING}

    def readings(self):
        """For each linker whether a row (r) may be that of a person (p): shape (r, p)."""
        either = [
            np.array(
                [
                    [
                        [
                            self.fits_in(name, row, person[name], own, others=others)
                            for person, own in self.people
                        ]
                        for row in self.rows
                    ]
                    for name in self.known
                ]
            )
            for others in (False, True)
        ]
        cells = [(self.combination(row), name) for row in self.rows for name in self.known]
        apart = (either[0] != either[1]).any(axis=2).T.ravel()
        unclear = list(dict.fromkeys(one for one, two in zip(cells, apart, strict=True) if two))
        if len(unclear) > MOST_UNCLEAR:
            return
        place = {cell: at for at, cell in enumerate(unclear)}
        of_row = np.array([place.get(cell, -1) for cell in cells]).reshape(-1, len(self.known))
        for reads in product([False, True], repeat=len(unclear)):
            any_value = np.array([*reads, False])[of_row].T[:, :, np.newaxis]
            yield np.where(any_value, either[1], either[0]).all(axis=0)

    def greatest(self):
        """The greatest risk of each published row, by prosecutor and journalist; None of many."""
        own = [
            next(at for at, (person, _) in enumerate(self.people) if person is target)
            for target in self.targets
        ]
        every = np.arange(len(own))
        found = None
        for fits in self.readings():
            right = fits[every, own]
            rows, people = fits.sum(axis=0)[own], fits.sum(axis=1)
            risks = np.stack([right / np.maximum(count, 1) for count in (rows, people)])
            found = risks if found is None else np.maximum(found, risks)
        return found


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
def test_each_risk_is_the_greatest_of_all_who_read_missing_cells(tmp_path, method, rounded):
    """Worst and mean, by trying every reading; without a link no less than with one."""
    looked_at = 0
    for seed in range(examples(25)):
        draws = np.random.default_rng(seed)
        known = KNOWN[: draws.integers(1, 4)]
        people = table_of(seed, int(draws.integers(6, 25)) * 2, draws.choice([0.05, 0.2, 0.5]))
        folder = tmp_path / str(seed)
        folder.mkdir()
        release = released(folder, people, method, known, rounded=rounded)
        if release is None:
            continue
        risks = Linkers(release, people, known, rounded=rounded).greatest()
        if risks is None:
            continue
        plan = parse_plan(plan_of(known))
        of_attack = zip((ProsecutorAttack, IdentificationAttack), risks[[0, 0]], strict=True)
        for attack, risk in of_attack:
            found = attack(columns=known, link="id", targets=None).run(release, people, plan)
            assert found.checked, (seed, attack)
            assert found.bounded, (seed, attack)
            assert found.worst.probability == pytest.approx(max(risk)), (seed, attack)
            mean = sum(risk) / len(people if attack is IdentificationAttack else risk)
            assert found.success.value == pytest.approx(mean), (seed, attack)
        if len(release.table.to_native()) == len(people):
            found = JournalistAttack(columns=known, link="id").run(release, people, plan)
            assert found.bounded
            assert found.worst.probability == pytest.approx(max(risks[1])), seed
            assert found.success.value == pytest.approx(risks[1].mean()), seed
        blind = people.drop("id")
        found = ProsecutorAttack(columns=known).run(release, blind, plan)
        if found.checked and found.exact and found.bounded:
            assert found.worst.probability >= max(risks[0]) - 1e-12, seed
            assert found.success.value >= risks[0].mean() - 1e-12, seed
        looked_at += 1
    assert looked_at


def test_what_is_weighed_row_by_row_is_what_is_counted_in_full(tmp_path, monkeypatch):
    """Of all targets, where missing cells have two readings."""
    looked_at = 0
    for seed in range(20):
        draws = np.random.default_rng(seed)
        known = KNOWN[: draws.integers(1, 4)]
        people = table_of(seed, int(draws.integers(6, 25)) * 2, draws.choice([0.05, 0.2, 0.5]))
        release = released(tmp_path, people, METHODS[0], known, rounded=False)
        if release is None:
            continue
        plan = parse_plan(plan_of(known))
        for attack in (ProsecutorAttack, JournalistAttack):
            aimed = attack(columns=known, link="id", targets=None)
            counted = aimed.run(release, people, plan)
            with monkeypatch.context() as patched:
                patched.setattr(attack, "_counted_in_full", lambda *_: None)
                weighed = aimed.run(release, people, plan)
            assert weighed.success.value == pytest.approx(counted.success.value)
            assert weighed.worst.probability == pytest.approx(counted.worst.probability)
            looked_at += any("missing cells" in note for note in counted.notes)
    assert looked_at

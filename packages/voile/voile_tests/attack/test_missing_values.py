"""Missing values as a category: risks are those of who knows which cells hold missing values."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

from voile.attack import posterior
from voile.attack.identification import IdentificationAttack
from voile.attack.joining import JoinTask, Owners, least_owners
from voile.attack.linkage import JournalistAttack, ProsecutorAttack
from voile.attack.posterior import Candidates, Crowd, plain_weights, telling_columns
from voile.disclosure.interval import ANYTHING, Interval, named_values
from voile.publish.generalization import Generalization
from voile.release.claims import UnknownClaim
from voile.release.reading import People, PublishedRows, Sightings
from voile.release.release import Guarantee, Release
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
        """The greatest risk of each published row, by three linkers; None of many readings.

        Prosecutor, journalist, and the journalist who reads nothing by which fewer people fit a
        combination than it has rows.
        """
        own = [
            next(at for at, (person, _) in enumerate(self.people) if person is target)
            for target in self.targets
        ]
        every = np.arange(len(own))
        shown = [self.combination(row) for row in self.rows]
        alike = np.array([shown.count(one) for one in shown])
        found = None
        for fits in self.readings():
            right = fits[every, own]
            rows, people = fits.sum(axis=0)[own], fits.sum(axis=1)
            risks = np.stack([right / np.maximum(count, 1) for count in (rows, people)])
            risks = np.stack([*risks, np.where(people >= alike, risks[1], 0)])
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


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda each: "-".join(map(str, each.values())))
@pytest.mark.parametrize("rounded", [False, True], ids=["as they are", "rounded"])
def test_each_risk_is_the_greatest_of_all_who_read_missing_cells(
    tmp_path, method, rounded, monkeypatch
):
    """Worst and mean, by trying every reading; without a link no less than with one."""
    looked_at = bounds = 0
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
            assert max(risks[2]) - 1e-12 <= found.worst.probability <= 1 / 3 + 1e-12, seed
            assert found.worst.probability <= max(risks[1]) + 1e-12, seed
            mean = found.success.value
            assert risks[2].mean() - 1e-12 <= mean <= risks[1].mean() + 1e-12, seed
        blind = people.drop("id")
        found = ProsecutorAttack(columns=known).run(release, blind, plan)
        with monkeypatch.context() as patch:  # as where no closed form is found
            patch.setattr(ProsecutorAttack, "_counted_in_full", lambda *_: None)
            weighed = ProsecutorAttack(columns=known).run(release, blind, plan)
        assert weighed.bounded, seed
        for one in (found, weighed):
            if one.bounded and one.exact:
                assert one.worst.probability >= max(risks[0]) - 1e-12, seed
                assert one.success.value >= risks[0].mean() - 1e-12, seed
            unclear = any("missing cells may stand" in note for note in one.notes)
            assert one.upper_bound == (one.bounded and unclear), seed
        bounds += weighed.exact and not weighed.checked
        looked_at += 1
    assert looked_at
    assert bounds or method.get("algorithm") != "mondrian"


@pytest.mark.parametrize("seed", range(examples(20)))
def test_published_rows_are_of_as_many_persons_at_least(tmp_path, seed):
    """By trying all sets of persons; of a file of another make nothing follows."""
    draws = np.random.default_rng(seed)
    people = table_of(seed, 24, 0.2)
    release = released(tmp_path, people, METHODS[0], KNOWN, rounded=False)
    whose = draws.integers(0, 5, len(people))
    named = people.with_columns(who=pl.Series(whose))
    plan = plan_of(KNOWN)
    of_persons = parse_plan({**plan, "roles": {**plan["roles"], "person": "who"}})
    held = np.bincount(whose, minlength=5)
    rows = np.arange(1, len(people) + 1)
    fewest = [
        min(sum(taken) for taken in product((0, 1), repeat=5) if held @ np.array(taken) >= count)
        for count in rows.tolist()
    ]
    published = PublishedRows.of(release)
    found = least_owners(published, People(named, of_persons), rows)
    assert found.tolist() == fewest
    assert least_owners(published, People(people, parse_plan(plan)), rows).tolist() == rows.tolist()
    nothing = Guarantee((UnknownClaim(kind="none", parameters={}),), "nothing is promised")
    foreign = replace(release, guarantee=nothing)
    unknown = least_owners(PublishedRows.of(foreign), People(named, of_persons), rows)
    assert (unknown == 1).all()


def test_a_register_that_lists_each_person_once_hides_nobody():
    """Six rows without an age are of two persons: nobody of them is looked for among six."""
    rows = [("A", None, "f")] * 5 + [("A2", None, "f"), ("B", None, "m"), ("C", 40, "m")]
    rows += [(f"D{number}", 30, sex) for number, sex in enumerate("f" * 6 + "m" * 6)]
    people = pl.DataFrame(rows, ["who", "age", "sex"], orient="row").with_row_index("id")
    roles = {"person": "who", "quasi_identifiers": ["sex", "age"], "keep": ["id"]}
    plan = parse_plan({"nulls": "category", "roles": {**roles, "keep_unique": ["id"]}})
    made = Generalization(k=2).publish(open_frame(people, plan), Randomness.seeded(1))
    register = people.unique("who", maintain_order=True)
    for link in ("id", None):
        attack = JournalistAttack(population=register, columns=["age", "sex"], link=link)
        found = attack.run(made, people, plan)
        assert any("missing cells" in note for note in found.notes)
        assert found.worst.probability >= 1 / 2


@pytest.mark.slow
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


def drawn_releases(tmp_path):
    """Releases of every method, with the people, the plan, and some rows that are drawn."""
    for seed in range(examples(30)):
        draws = np.random.default_rng(seed)
        known = KNOWN[: draws.integers(1, 4)]
        people = table_of(seed, int(draws.integers(6, 25)) * 2, draws.choice([0.05, 0.2, 0.5]))
        method = METHODS[seed % len(METHODS)]
        release = released(tmp_path, people, method, known, rounded=False)
        if release is not None:
            published = PublishedRows.of(release)
            some = draws.choice(published.frame.height, draws.integers(1, 6), replace=False)
            yield published, People(people, parse_plan(plan_of(known))), known, np.sort(some)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [None, 1], ids=["by bits of values", "by rows"])
def test_candidates_are_all_who_fit_a_row_that_was_drawn(tmp_path, monkeypatch, pairs):
    """And they are weighed as among everybody."""
    if pairs is not None:
        monkeypatch.setattr(posterior, "PAIRS", pairs)
        monkeypatch.setattr(posterior, "_PACKED", 1)
    fewer = 0
    for published, people, known, rows in drawn_releases(tmp_path):
        for columns in (known, telling_columns(published, people)):
            crowd = Crowd.of(people, columns)
            every = Sightings.of(published, people, columns, crowd.first)
            weights = np.concatenate([w for _, w in plain_weights(every, len(crowd.first))])
            table = weights[crowd.number][:, every.place[rows]]
            found = Candidates.of(published, people, columns, rows)
            assert found.there.tolist() == np.flatnonzero(table.any(axis=1)).tolist()
            assert found.crowd.count.sum() == len(found.there)
            seen, many = found.sightings, len(found.crowd.first)
            weights = np.concatenate([np.zeros((0, len(seen.rows))),
                                      *(w for _, w in plain_weights(seen, many))])  # fmt: skip
            assert (weights[found.crowd.number][:, seen.place] == table[found.there]).all()
            own = found.people_at(np.arange(len(table)))
            assert (own >= 0).tolist() == table.any(axis=1).tolist()
            fewer += len(found.there) < len(table)
    assert fewer


@pytest.mark.slow
def test_the_risk_of_a_row_is_the_same_whichever_others_are_drawn(tmp_path):
    """Also where none of these shows a missing cell that has two readings."""
    looked_at = 0
    for published, people, known, rows in drawn_releases(tmp_path):
        draws = Randomness.seeded(1)
        task = JoinTask.at_rows(published, people, known, "id", None, draws)
        whole = task.owner_of_each_row()
        for row in rows:
            owner = Owners(task.owners.person[[row]], told=True)
            alone = replace(task, rows=task.rows[[row]], owners=owner).owner_of_each_row()
            assert alone.right == pytest.approx(whole.right[[row]])
            assert alone.given == pytest.approx(whole.given[[row]])
        looked_at += bool(task.unclear)
    assert looked_at

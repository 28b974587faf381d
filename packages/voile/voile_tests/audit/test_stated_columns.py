"""What a plan says of columns is held against the file before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voile.audit import foreign
from voile.audit.common_rows import contradicted
from voile.audit.examine import audit
from voile.audit.foreign import StandingTogether, stand_together
from voile.audit.recognition import named_cells, recognise
from voile.audit.record import COPYING, DOES_NOT_APPLY, ROWS_OF_PEOPLE, AuditRecord, Inquiry
from voile.audit.renaming import RenamedColumns, renamed_columns
from voile.release.reading import People
from voile.schema.plan import parse_plan
from voile_tests.audit.tables import marginals, people

ROWS = 1500
ORIGINAL, CONTROL = (
    people(ROWS, seed).with_columns(born=pl.int_range(ROWS) * 37 % 401 + 5000) for seed in (1, 2)
)
COPIED = pl.concat([marginals(ORIGINAL, 3)[60:], ORIGINAL[:60]]).sample(
    fraction=1, shuffle=True, seed=1
)


def _doubts(said: dict[str, str], released: pl.DataFrame) -> dict[str, str]:
    original = People(ORIGINAL)
    return dict(contradicted(said, named_cells(released, original), original))


def _audited(folder: Path, released: pl.DataFrame, said: dict[str, str]) -> AuditRecord:
    files = {"released": released, "original": ORIGINAL, "control": CONTROL}
    for name, frame in files.items():
        frame.write_csv(folder / f"{name}.csv")
    plan = '[roles]\nquasi_identifiers = ["age", "sex", "town", "education", "hours", "born"]\n'
    plan += 'sensitive = ["income"]\n'
    plan += "".join(f'[columns.{name}]\nshown = "{how}"\n' for name, how in said.items())
    (folder / "plan.toml").write_text(plan)
    places = (folder / f"{name}.csv" for name in files)
    return audit(*places, folder / "plan.toml", inquiry=Inquiry(100, ()), seed=1)


@pytest.mark.parametrize("how", ["averaged", "noisy", "permuted", "withheld"])
def test_a_statement_that_people_contradict_row_by_row_is_not_believed(how: str) -> None:
    """Of 4 % of the rows, which were copied, though all others are of nobody."""
    assert list(_doubts({"born": how}, COPIED)) == ["born"]
    both = _doubts({"born": how, "hours": how}, COPIED)
    assert set(both) == {"born", "hours"}
    (told,) = _doubts({"born": how}, COPIED).values()
    assert told.startswith(f"column 'born': the plan says that it is {how}, and ")


def test_a_column_that_hides_the_copies_beside_it_is_told_all_the_same() -> None:
    """One other column of each copied row was drawn anew, or cells of it are texts."""
    moved = COPIED.with_columns(pl.Series("town", marginals(ORIGINAL, 9)["town"]))
    assert set(_doubts({"born": "averaged"}, moved)) == {"born"}
    texts = COPIED.with_columns(pl.col("born").cast(pl.Float64).cast(pl.String))
    texts = pl.concat([texts[:-1], texts[-1:].with_columns(born=pl.lit("NA"))])
    assert set(_doubts({"born": "averaged"}, texts)) == {"born"}


def test_true_statements_are_believed() -> None:
    """Of values of other rows, of pairs of rows, of groups of three, of noise, and of nobody."""
    draws = np.random.default_rng(4)
    order = draws.permutation(ROWS)
    values = ORIGINAL["born"].to_numpy()
    pairs, means = values.copy(), values.astype(float)
    swap = draws.random(ROWS // 2) < 0.5
    for pair, swapped in zip(order.reshape(-1, 2), swap, strict=True):
        pairs[pair] = values[pair[::-1]] if swapped else values[pair]
    for three in order.reshape(-1, 3):
        means[three] = values[three].mean()
    for how, shown in (
        ("permuted", draws.permutation(values)),
        ("permuted", pairs),
        ("averaged", means),
        ("noisy", values + draws.integers(-3, 4, ROWS)),
    ):
        released = ORIGINAL.with_columns(pl.Series("born", shown))
        assert _doubts({"born": how}, released) == {}, how
    said = dict.fromkeys(ORIGINAL.columns, "permuted")
    assert _doubts(said, marginals(ORIGINAL, 3)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "said", [{"born": "averaged"}, dict.fromkeys(ORIGINAL.columns, "permuted")]
)
def test_copies_are_counted_whatever_the_plan_says(tmp_path: Path, said: dict[str, str]) -> None:
    """The notices say which statements were not believed."""
    found = _audited(tmp_path, COPIED, said)
    (risk,) = (one for one in found.risks if one["risk"] == COPYING)
    assert risk["persons"] > 20
    told = [notice for notice in found.notices if "the plan says that it is" in notice]
    assert len(told) == len(said)


@pytest.mark.slow
def test_rows_that_the_plan_alone_hides_are_not_taken_for_no_copies(tmp_path: Path) -> None:
    """Values that repeat by themselves are no averages: copying is not assessed, and fails."""
    found = _audited(tmp_path, marginals(ORIGINAL, 3), {"hours": "averaged"})
    assert not [one for one in found.risks if one["risk"] == COPYING]
    (reason,) = (one.reason for one in found.risks_skipped if one.name == COPYING)
    assert not reason.startswith(DOES_NOT_APPLY)
    assert reason != ROWS_OF_PEOPLE
    assert "the plan says that 'hours' is averaged" in reason
    assert "rows would not be looked at" in reason


@pytest.mark.slow
def test_rows_all_of_whose_columns_were_permuted_are_of_nobody(tmp_path: Path) -> None:
    """So that copying judges them, and does not pass as if each were a person's."""
    said = dict.fromkeys(ORIGINAL.columns, "permuted")
    found = _audited(tmp_path, marginals(ORIGINAL, 3), said)
    (risk,) = (one for one in found.risks if one["risk"] == COPYING)
    assert risk["persons"] == 0


def _renamed_columns(file: pl.DataFrame, original: pl.DataFrame) -> RenamedColumns:
    shown = recognise(file, People(original))
    return renamed_columns(file, [one for one in shown if one.columns], People(original))


def _renamed(file: pl.DataFrame, original: pl.DataFrame) -> Mapping[str, str]:
    return _renamed_columns(file, original).reasons


def _next(column: pl.Series) -> pl.Series:
    """Each value under the name of the next one."""
    values = column.unique().sort()
    return column.replace_strict(values, pl.concat([values[1:], values[:1]]))


@pytest.mark.parametrize("rows", [2000, 1950, 1000])
def test_a_cipher_of_a_column_is_told_of_all_rows_and_of_a_sample(rows: int) -> None:
    """That column is named, and no other."""
    original = people(2000, 1).select("town", "education", "sex")
    file = original.with_columns(_next(original["education"])).sample(rows, seed=1)
    assert list(_renamed(file, original)) == ["education"]


@pytest.mark.parametrize("share", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("others", ["people", "nobody"])
def test_a_cipher_is_told_though_many_rows_are_others(share: float, others: str) -> None:
    """Rows of other people under their own names, or values that were drawn from the cipher."""
    original = people(2000, 1)
    ciphered = original.with_columns(_next(original["education"]))
    beside = marginals(ciphered, 8) if others == "nobody" else people(2000, 5)
    count = round(share * 2000)
    file = pl.concat([ciphered[count:], beside[:count]]).sample(fraction=1, shuffle=True, seed=1)
    assert list(_renamed(file, original)) == ["education"]


def test_a_cipher_that_tells_nothing_of_others_is_told_by_its_counts() -> None:
    """One row in twenty is another: counts lie nearer to the original's than of people anew."""
    draws = np.random.default_rng(1)
    odds = draws.permutation(np.arange(1, 41) / 820)
    original = pl.DataFrame({"code": draws.choice(40, 4000, p=odds), "sex": ["f", "m"] * 2000})
    hidden = original.with_columns(_next(original["code"]))
    file = pl.concat([hidden[200:], marginals(hidden, 2)[:200]])
    assert list(_renamed(file.sample(fraction=1, shuffle=True, seed=1), original)) == ["code"]


def _recoded(original: pl.DataFrame, share: float = 0.0) -> StandingTogether:
    """Two columns under other names and codes, of which a share of rows is drawn anew."""
    file = pl.DataFrame(list(_hidden(original, 0, *original.columns).values()))
    count = round(share * original.height)
    file = pl.concat([file[count:], marginals(file, 3)[:count]])
    return stand_together(_cells(file), People(original))


def _cells(file: pl.DataFrame) -> dict[str, pl.Series]:
    return {column.name: column for column in file}


def _hidden(original: pl.DataFrame, decoys: int, *names: str) -> dict[str, pl.Series]:
    """Columns under other names and codes behind others, each of which was shuffled by itself."""
    draws = np.random.default_rng(decoys)
    shuffled = {
        f"d{n}": original[original.columns[n % original.width]].gather(
            draws.permutation(original.height)
        )
        for n in range(decoys)
    }
    cells = {**shuffled, **{f"v{name}": original[name] for name in names}}
    return {
        name: (f"{name} " + column.cast(pl.String)).alias(name) for name, column in cells.items()
    }


def _few_valued(rows: int, kinds: int = 4) -> pl.DataFrame:
    """People by columns of few values, of which sex and region depend on each other."""
    draws = np.random.default_rng(rows)
    sex = draws.choice(2, rows, p=[0.48, 0.52])
    odds = np.array([0.4, 0.3, 0.2, 0.1][:kinds])
    region = np.where(draws.random(rows) < 0.4, sex, draws.choice(kinds, rows, p=odds / odds.sum()))
    school = draws.choice(4, rows, p=[0.38, 0.3, 0.2, 0.12])
    owner = draws.choice(2, rows, p=[0.45, 0.55])
    return pl.DataFrame({"sex": sex, "region": region, "school": school, "owner": owner})


@pytest.mark.slow
@pytest.mark.parametrize("decoys", [24, 60])
def test_recoded_columns_behind_many_decoys_are_told(decoys: int) -> None:
    """All sets of two and three columns are asked about, and no decoy is told."""
    original = _few_valued(4000)
    found = stand_together(_hidden(original, decoys, "sex", "region"), People(original))
    assert found.names == {"vsex": "sex", "vregion": "region"}
    assert found.unasked == 0


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "decoys"), [(400, 20), (4000, 60)])
def test_columns_too_alike_to_decide_are_not_assessed(rows: int, decoys: int) -> None:
    """Two columns of two values agree as exactly as some do by chance, among so many."""
    original = _few_valued(rows, kinds=2)
    found = stand_together(_hidden(original, decoys, "sex", "region"), People(original))
    assert {"vsex", "vregion"} <= found.names.keys() or found.undecided
    assert bool(found.not_assessed) == bool(found.undecided)


def test_sets_of_columns_beyond_a_limit_are_not_assessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how many were left out, and what helps."""
    monkeypatch.setattr(foreign, "_MOST_ASKED", 3)
    original = _few_valued(400)
    found = stand_together(_hidden(original, 8, "sex", "region"), People(original))
    assert found.unasked > 0
    ((asks, why),) = found.not_assessed.items()
    assert "none of the original's" in asks
    assert f"{found.unasked} sets of two or three columns were not held against" in why
    assert "leave out" in why


def test_columns_that_were_each_shuffled_by_themselves_are_not_told_together() -> None:
    """Those of the original do not depend on each other, so that their counts agree anyway."""
    original = _few_valued(4000).select("school", "owner", "sex")
    found = stand_together(_hidden(original, 12), People(original))
    assert not found.names


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_real_table_of_other_people_under_other_names_is_assessed(
    shared_data: Path, seed: int
) -> None:
    """None of its 24 columns is told, and nothing is left open; its own people are told."""
    table = pl.read_csv(shared_data / "census" / "nist-acs-ma2019.csv", infer_schema=False)
    rows = table.fill_null("none").sample(fraction=1, shuffle=True, seed=seed)
    original, others = rows[:3000], rows[3000:6000]
    assert original.width == 24
    found = stand_together(_hidden(others, 0, *others.columns), People(original))
    assert not found.names
    assert not found.not_assessed
    drawn = marginals(original, seed)
    assert not stand_together(_hidden(drawn, 0, *drawn.columns), People(original)).names
    own = stand_together(_hidden(original, 0, "SEX", "MSP", "EDU", "OWN_RENT"), People(original))
    assert own.names == {f"v{name}": name for name in ("SEX", "MSP", "EDU", "OWN_RENT")}


@pytest.mark.parametrize(("rows", "share"), [(400, 0.0), (2000, 0.005)])
def test_recoded_columns_of_few_values_are_told_together(rows: int, share: float) -> None:
    """Each by itself has too few values to tell it, under whatever name it stands in the file."""
    found = _recoded(_few_valued(rows).select("sex", "region"), share)
    assert found.names == {"vsex": "sex", "vregion": "region"}


@pytest.mark.parametrize("share", [0.0, 0.005])
def test_recoded_columns_that_tell_nothing_of_each_other_are_not_assessed(share: float) -> None:
    """Shuffled by themselves they would stand together nearly as often."""
    found = _recoded(people(2000, 1).select("sex", "education"), share)
    assert not found.names
    assert found.not_assessed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_new_columns_of_other_people_or_drawn_ones_stand_for_none(seed: int) -> None:
    """Their values are as often as in the same town, and not nearer."""
    original = people(1000, seed)
    for file in (people(1000, 100 + seed), marginals(original, seed), people(400, 200 + seed)):
        cells = {f"v{name}": file[name] for name in ("sex", "education", "town")}
        assert not stand_together(cells, People(original)).names


def test_a_cipher_of_two_values_is_told_beside_another_column() -> None:
    """Men and women are as many here, and stand otherwise beside the trades."""
    original = pl.DataFrame(
        {"sex": ["f", "m"] * 300, "trade": ["nurse", "smith"] * 200 + ["smith", "clerk"] * 100}
    )
    file = original.with_columns(_next(original["sex"]))
    found = _renamed(file.sample(fraction=1, shuffle=True, seed=1), original)
    assert "beside column 'trade'" in found["sex"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_files_under_their_own_names_show_no_cipher(seed: int) -> None:
    """Samples, columns drawn by themselves, other people, and people drawn with replacement."""
    original, draws = people(500, seed), np.random.default_rng(seed)
    for file in (
        original.sample(250, seed=seed),
        marginals(original, seed),
        people(500, 100 + seed),
        original[draws.integers(0, 500, 500)],
        original[draws.integers(0, 500, 1500)],
        original.filter(pl.col("age") < 60),
        original.filter(pl.col("sex") == "f"),
        original.with_columns(original["education"].shuffle(seed=seed)),
        original.with_columns(_redrawn(original["education"], 0.6, draws)),
        original.sort("age", "hours").with_columns(
            pl.col("education").gather(_within_groups(500, 5, draws))
        ),
    ):
        assert not _renamed(file, original)


def _redrawn(column: pl.Series, share: float, draws: np.random.Generator) -> pl.Series:
    """Values of which a share is another one, all alike: PRAM."""
    anew = pl.Series(draws.choice(column.unique().sort().to_numpy(), len(column)))
    return anew.zip_with(pl.Series(draws.random(len(column)) < share), column).alias(column.name)


def _within_groups(rows: int, size: int, draws: np.random.Generator) -> list[int]:
    """Rows in another order within groups: values are exchanged as M-Shuffle does."""
    groups = np.arange(rows).reshape(-1, size)
    return draws.permuted(groups, axis=1).ravel().tolist()


@pytest.mark.parametrize("of", ["another value", "everything", "its own value", "two values"])
def test_labels_that_a_plan_explains_falsely_are_told(of: str) -> None:
    """A label for each education hides nobody, whatever the plan says that it names."""
    original = people(900, 1).select("town", "education", "sex")
    values = original["education"].unique().sort().to_list()
    labels = {value: f"L{place}" for place, value in enumerate(values)}
    if of == "two values":
        labels = {value: f"L{place // 2}" for place, value in enumerate(values)}
    named: dict[str, list[str]] = {}
    for value, following in zip(values, [*values[1:], values[0]], strict=True):
        below = {"another value": [following], "everything": values}.get(of, [value])
        named[labels[value]] = [*named.get(labels[value], []), *below]
    tree = {"education": {"tree": named}} if of != "everything" else {}
    plan = parse_plan({"roles": {"quasi_identifiers": ["education"]}, "columns": tree})
    file = original.with_columns(pl.col("education").replace_strict(labels))
    shown = recognise(file, People(original, plan))
    if of == "everything":  # a tree names a value once: the reading is that of such a hierarchy
        shown = [replace(one, unread=()) for one in shown]
    found = renamed_columns(file, shown, People(original, plan)).reasons
    assert list(found) == (["education"] if of in {"another value", "everything"} else [])


def _with_flags(rows: int, seed: int, kinds: int = 2) -> pl.DataFrame:
    """People of whom two columns show the same few values, about as often."""
    draws = np.random.default_rng(seed)
    town = people(rows, seed)
    member = (draws.random(rows) < 0.2 + 0.3 * (town["age"].to_numpy() > 50)).astype(int)
    owner = (draws.random(rows) < 0.2 + 0.3 * (town["hours"].to_numpy() > 40)).astype(int)
    if kinds > 2:
        member, owner = (one * 2 + draws.integers(0, 2, rows) for one in (member, owner))
    return town.with_columns(member=member, owner=owner)


def _exchanged(original: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Each column under the name of the one before it."""
    return original.with_columns(
        original[name].alias(before)
        for name, before in zip(names, (names[-1], *names), strict=False)
    )


@pytest.mark.parametrize(("kinds", "rows"), [(2, 400), (4, 400), (2, 399), (4, 370)])
def test_columns_of_the_same_values_under_each_others_names_are_told(kinds: int, rows: int) -> None:
    """Of all rows, without one, and where some are left out; and no other column is told."""
    original = _with_flags(400, 1, kinds)
    file = _exchanged(original, "member", "owner").sample(rows, shuffle=True, seed=1)
    found = _renamed_columns(file, original)
    assert set(found.reasons) == {"member", "owner"}
    assert "as the values of column 'owner'" in found.reasons["member"]


@pytest.mark.parametrize("rows", [1000, 999])
def test_columns_of_one_law_under_each_others_names_are_told(rows: int) -> None:
    """Though their tables lie as near to each other as those of people who are drawn anew."""
    town, draws = people(1000, 3), np.random.default_rng(3)
    likely = 0.1 + 0.3 * (town["age"].to_numpy() > 50)
    ill = {n: pl.Series((draws.random(1000) < likely).astype(int)) for n in ("deaf", "lame")}
    original = town.with_columns(**ill)
    file = _exchanged(original, "deaf", "lame").sample(rows, shuffle=True, seed=1)
    assert set(_renamed(file, original)) == {"deaf", "lame"}


def test_columns_that_stand_under_each_others_names_are_told_among_other_rows() -> None:
    """One row in ten is drawn by columns themselves, and half of the people are left out."""
    original = _with_flags(2000, 2)
    made = _exchanged(original, "member", "owner")
    for file in (
        pl.concat([made[200:], marginals(made, 8)[:200]]),
        made.sample(1000, seed=1),
    ):
        assert set(_renamed(file, original)) == {"member", "owner"}


@pytest.mark.parametrize("key", ["town", "age"])
def test_a_cipher_that_another_column_turns_is_told(key: str) -> None:
    """Each town, or each age, has its own order of the levels of education."""
    original = people(400, 1)
    draws = np.random.default_rng(4)
    levels = original["education"].unique().sort().to_list()
    turned = {
        one: dict(zip(levels, draws.permutation(levels), strict=True))
        for one in original[key].unique()
    }
    cells = [turned[one][value] for one, value in original.select(key, "education").iter_rows()]
    file = original.with_columns(pl.Series("education", cells))
    found = _renamed(file.sample(fraction=1, shuffle=True, seed=1), original)
    assert list(found) == ["education"]
    assert f"beside each value of {key!r}" in found["education"]


@pytest.mark.parametrize("kept", [True, False])
def test_a_cipher_that_a_column_of_nobody_turns_is_told(kept: bool) -> None:
    """Each age that was drawn, or each number of a new column, has its own order of illnesses."""
    draws = np.random.default_rng(4)
    ill = draws.choice(["none", "asthma", "cancer", "gout"], 2000, p=[0.8, 0.1, 0.06, 0.04])
    original = people(2000, 1).with_columns(ill=pl.Series(ill))
    key = draws.choice(original["age"].to_numpy(), 2000)
    kinds = original["ill"].unique().sort().to_list()
    turned = {one: dict(zip(kinds, draws.permutation(kinds), strict=True)) for one in set(key)}
    cells = [turned[one][value] for one, value in zip(key, ill, strict=True)]
    file = original.with_columns(ill=pl.Series(cells))
    file = file.with_columns(pl.Series("age" if kept else "group", key))
    found = _renamed(file.sample(fraction=1, shuffle=True, seed=1), original)
    assert list(found) == ["ill"]
    assert f"beside each value of {'age' if kept else 'group'!r}" in found["ill"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_files_with_columns_of_the_same_values_show_no_exchange(seed: int) -> None:
    """Samples, other people, drawn columns, values drawn anew in part, one value alone."""
    original, draws = _with_flags(500, seed), np.random.default_rng(seed)
    for file in (
        original,
        original.sample(250, seed=seed),
        _with_flags(500, 100 + seed),
        marginals(original, seed),
        original[draws.integers(0, 500, 500)],
        original.with_columns(
            _redrawn(original[n], 0.6, draws).cast(original[n].dtype) for n in ("member", "owner")
        ),
        original.with_columns(original["owner"].shuffle(seed=seed)),
        original.filter(owner=1),
    ):
        found = _renamed_columns(file, original)
        assert not found.reasons
        assert not found.undecided


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_columns_of_rare_values_show_no_exchange_and_no_key(seed: int) -> None:
    """Nor do few rows, of which cells were suppressed, shuffled, or swapped with near ones."""
    draws = np.random.default_rng(seed)
    rare = pl.DataFrame(draws.random((300, 5)) < 0.05, [f"f{n}" for n in range(5)])
    rare = rare.select(pl.all().cast(pl.String))
    few = pl.DataFrame(draws.integers(0, 3, (60, 4)), [f"f{n}" for n in range(4)])
    for original in (rare, few):
        rows = original.height
        hidden = [pl.Series(draws.random(rows) < 0.2) for _ in original.columns]
        for file in (
            original.select(
                pl.when(away).then(None).otherwise(pl.col(name)).alias(name)
                for name, away in zip(original.columns, hidden, strict=True)
            ),
            original.with_columns(original[name].shuffle(seed=seed) for name in ("f2", "f3")),
            pl.DataFrame([_swapped(one, draws) for one in original]),
        ):
            found = _renamed_columns(file, original)
            assert not [why for why in found.reasons.values() if "stand beside" in why]
            assert not [why for why in found.reasons.values() if "beside each value" in why]


def _swapped(column: pl.Series, draws: np.random.Generator) -> pl.Series:
    """Values in the place of others of near ranks."""
    order, rows = column.arg_sort().to_numpy(), len(column)
    moved = np.argsort(np.arange(rows) + draws.uniform(-rows / 10, rows / 10, rows))
    at = np.empty(rows, dtype=np.int64)
    at[order] = order[moved]
    return column.gather(at)

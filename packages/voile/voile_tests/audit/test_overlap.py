"""Whether the same people stand in the original and in the control."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voile.audit import sides
from voile.audit.beside import JointCodes
from voile.audit.drift import ComparedSides, _disjoint
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.audit.sides import _shared_people
from voile.release.reading import People
from voile_testing.plugin import ROOT
from voile_tests.audit.tables import marginals, people

CENSUS = ROOT.parent / "shared" / "data" / "census"


def _with_ids(frame: pl.DataFrame, start: int) -> pl.DataFrame:
    return frame.with_columns(id=pl.arange(start, start + frame.height, eager=True))


def _changed(own: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The same people as somebody shows them who wants them to pass for others."""
    moved = own.with_columns(pl.col("age") + 1)
    return {
        "shuffled": own.sample(fraction=1, shuffle=True, seed=1),
        "new ids": own.with_columns(pl.col("id") + 10**6),
        "one column": moved,
        "new ids and one column": moved.with_columns(pl.col("id") + 10**6),
        "new ids and two columns": moved.with_columns(
            pl.col("id") + 10**6, pl.col("town").replace("t1", "t99")
        ),
        "capitals": own.with_columns(pl.col(pl.String).str.to_uppercase()),
        "spaces": own.with_columns(pl.format("  {}\u00a0", pl.col("town")).alias("town")),
        "half": pl.concat([own[: own.height // 2], _with_ids(people(own.height // 2, 9), 10**7)]),
        "half with new ids": pl.concat([own[::2], _with_ids(people(own.height // 2, 9), 0)])
        .drop("id")
        .pipe(_with_ids, 10**6),
    }


@pytest.mark.parametrize("change", _changed(_with_ids(people(2, 0), 0)))
@pytest.mark.parametrize("ids", [(), ("id",)])
def test_the_same_people_are_seen_whatever_was_changed(change: str, ids: tuple[str, ...]) -> None:
    """Ids issued anew, or a column or two that were moved, hide nobody; half of them are enough."""
    own = _with_ids(people(3_000, 1), 0)
    found = _shared_people(own, _changed(own)[change], ids)
    assert found is not None
    assert "give a control of people who were not in the data" in found


@pytest.mark.slow
def test_other_people_of_the_same_town_are_no_doubt() -> None:
    """Of 200 true controls, of rows of many and of few different values, none is voided.

    The rule states .001 a comparison in all: more than two of 200 have a probability of .0011.
    """
    wrong = 0
    for seed in range(100):
        both = _with_ids(people(1_500, 100 + seed), 0)
        few = both.select("sex", "town", "education", pl.col("age") // 5)
        for frame in (both, few):
            wrong += _shared_people(frame[:1_000], frame[1_000:], ()) is not None
    assert wrong <= 2


def test_few_different_values_still_tell_the_same_file() -> None:
    """A table whose rows are seldom alone is told from itself by those that are."""
    own = people(2_000, 3).select("sex", "town", "education", "age")
    assert _shared_people(own, own.sample(fraction=1, shuffle=True, seed=1), ()) is not None


@pytest.mark.slow
@pytest.mark.skipif(not CENSUS.is_dir(), reason="the shared census data are not here")
def test_people_of_a_survey_are_told_from_each_other_and_from_themselves() -> None:
    """Another year and 20 random halves are true controls; ids and a moved column hide nobody."""
    read = {"infer_schema_length": None, "null_values": ["N"]}
    own = pl.read_csv(CENSUS / "nist-acs-ma2019.csv", **read)
    year = pl.read_csv(CENSUS / "nist-acs-ma2018.csv", **read)
    year = year.select([year[c].cast(own[c].dtype, strict=False) for c in own.columns])
    assert _shared_people(own, year, ()) is None
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(own.height)
        mixed, half = own[rows], own.height // 2
        assert _shared_people(mixed[:half], mixed[half:], ()) is None, seed
        few = mixed.select("SEX", "MSP", "RAC1P", "PUMA", "EDU")
        assert _shared_people(few[:half], few[half:], ()) is None, seed
    for moved in (own.with_columns(pl.col("AGEP") + 1), own.with_columns(pl.col("PUMA") + "x")):
        assert _shared_people(own, moved, ()) is not None
    assert _shared_people(own, pl.concat([own[::4], year[:1_900]]), ()) is not None


@pytest.mark.parametrize("shared", [0, 1_500])
def test_a_look_at_some_values_first_changes_no_verdict(
    monkeypatch: pytest.MonkeyPatch, shared: int
) -> None:
    """Of many rows those of some values are looked at first: the verdict is that of all rows."""
    both = _with_ids(people(6_000, 5), 0)
    own, control = both[:3_000], pl.concat([both[3_000 : 6_000 - shared], both[:shared]])
    whole = _shared_people(own, control, ("id",))
    assert (whole is not None) == (shared > 0)
    monkeypatch.setattr(sides, "_LOOKED_AT", 1_500)
    monkeypatch.setattr(sides, "_TELLING", 100)
    assert _shared_people(own, control, ("id",)) == whole


def _varied(own: pl.DataFrame, others: pl.DataFrame, seed: int = 1) -> pl.DataFrame:
    """The same people, each with the value of somebody else in one column."""
    column = np.random.default_rng(seed).integers(0, own.width, own.height)
    return own.with_columns(
        pl.when(pl.Series(column == at))
        .then(others[name][: own.height])
        .otherwise(name)
        .alias(name)
        for at, name in enumerate(own.columns)
    )


def _made(own: pl.DataFrame, copied: int) -> pl.DataFrame:
    """Rows of nobody, and so many that are people's."""
    return pl.concat([marginals(own, 4)[copied:], own[:copied].select(own.columns)])


def _compared(released: pl.DataFrame, own: pl.DataFrame, control: pl.DataFrame) -> str | None:
    foreign = as_release(released, recognise(released, People(own)), {})
    return ComparedSides(JointCodes.of(foreign, [own, control], None)).made_with_control


def test_a_few_copies_in_a_control_are_told() -> None:
    """One row in thirty of a control that is a row of the original voids it, though 5 % are not."""
    both = people(5_000, 5)
    own, control = both[:2_500], both[2_500:]
    assert _shared_people(own, control, ()) is None
    found = _shared_people(own, pl.concat([control[80:], own[:80]]), ())
    assert found is not None
    assert "of the 2,500 rows of the control are rows of the original" in found


def test_people_like_those_copied_are_told_in_a_control() -> None:
    """A control that was given people who differ in a column from those copied hides nobody."""
    both = people(5_000, 6)
    own, control = both[:2_500], both[2_500:]
    released = _made(own, 75)
    assert _compared(released, own, control) is None
    near = pl.concat([control[75:], _varied(own[:75], both[1_000:])])
    found = _compared(released, own, near)
    assert found is not None
    assert "like rows of the original that the file shows" in found


def test_pairs_without_a_row_in_common_are_those_of_one_walk() -> None:
    """Of 200 lists of pairs those are kept that a walk takes which skips rows it has seen."""
    draws = np.random.default_rng(0)
    for _ in range(200):
        rows = int(draws.integers(2, 30))
        some = [draws.choice(rows, 2, replace=False) for _ in range(draws.integers(0, 60))]
        seen: set[int] = set()
        kept = []
        for at, pair in enumerate(some):
            if seen.isdisjoint(pair.tolist()):
                seen.update(pair.tolist())
                kept.append(at)
        pairs = np.array(some, dtype=np.int64).reshape(-1, 2).T
        assert _disjoint(pairs).tolist() == kept


@pytest.mark.slow
def test_true_controls_hold_no_people_like_those_copied() -> None:
    """Of 60 files, of nobody or with a few or many people copied, none is voided.

    The rule states .002 a file: more than one of 60 has a probability of .007.
    """
    wrong = 0
    for seed in range(20):
        both = people(3_000, 300 + seed)
        own, control = both[:1_500], both[1_500:]
        wrong += sum(_compared(_made(own, some), own, control) is not None for some in (0, 45, 450))
    assert wrong <= 1

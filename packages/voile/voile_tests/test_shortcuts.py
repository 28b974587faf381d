"""One call for each method gives what the command line gives, for frames of every kind."""

import doctest
import inspect
import json
import random
from functools import partial

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import voile
from voile import shortcuts
from voile.cli.publish import _publish_command
from voile.schema.plan import parse_plan
from voile_base.errors import InputError, PlanError, TableError
from voile_testing.plugin import some_slow

AGES = {
    "age": {"bounds": [0, 110], "edges": [0, 20, 40, 60, 80], "intervals": {"widths": [10, 50]}},
    "sex": {"values": ["f", "m"]},
    "pay": {"bounds": [0, 10_000], "edges": [0, 5000]},
}
CALLS = {
    "k_anonymize": {"quasi_identifiers": ["age", "sex"], "sensitive": ["illness"], "k": 4, "l": 2},
    "ke_anonymize": {"quasi_identifiers": ["age"], "sensitive": "pay", "k": 3, "e": 500.5},
    "k_anonymize_ranking": {"ranking": ["pay"], "top": 40, "by": {"pay": 0.5}},
    "m_shuffle": {"quasi_identifiers": ["age", "sex"], "sensitive": ["pay"], "clusters": 8},
    "add_laplace_noise": {"quasi_identifiers": ["age"], "epsilon": 0.1},
    "dp_generalize": {"quasi_identifiers": ["age"], "epsilon": 3, "k": 5},
    "dp_synthesize": {"quasi_identifiers": ["age"], "sensitive": ["pay"], "epsilon": 1e-1,
                      "delta": 1e-6},
}  # fmt: skip
DECLARED = {"add_laplace_noise": ["age"], "dp_generalize": ["age"], "dp_synthesize": ["age", "pay"]}


def people(rows=240):
    dice = random.Random(7)
    return {
        "name": [f"P{number}" for number in range(rows)],
        "age": [dice.randint(18, 90) for _ in range(rows)],
        "sex": [dice.choice("fm") for _ in range(rows)],
        "illness": [dice.choice(["asthma", "flu", "gout"]) for _ in range(rows)],
        "pay": [dice.randint(1000, 9000) for _ in range(rows)],
    }


def released(name, frame, **more):
    facts = {column: AGES[column] for column in DECLARED.get(name, ())}
    keywords = {"identifiers": ["name"], "person": "row", "columns": facts, "seed": 11}
    return getattr(voile, name)(frame, **CALLS[name], **(keywords | more))


@pytest.mark.parametrize("name", some_slow(CALLS, {"dp_synthesize"}))
def test_the_command_line_gives_the_same(name, tmp_path):
    """A call and ``voile publish`` with its plan and its seed publish the same rows and record."""
    frame = pl.DataFrame(people())
    made = released(name, frame, out=tmp_path / "call")
    frame.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "plan.toml").write_text(made.toml)
    arguments = [str(tmp_path / "people.parquet"), "--plan", str(tmp_path / "plan.toml"), "--out"]
    run = CliRunner().invoke(_publish_command, [*arguments, str(tmp_path / "line"), "--seed", "11"])
    assert run.exit_code == 0, run.output
    rows = [pl.read_parquet(tmp_path / side / "data.parquet") for side in ("call", "line")]
    assert rows[0].equals(rows[1])
    assert rows[0].equals(made.frame)
    said = [json.loads((tmp_path / side / "release.json").read_text()) for side in ("call", "line")]
    for document in said:
        del document["release_id"]
    assert said[0] == said[1]
    assert made.record["guarantee"] == json.loads(json.dumps(said[0]["guarantee"]))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_same_kind_comes_out(kind):
    """A frame of pandas, Polars or Arrow comes back as its kind, with the same rows."""
    made = released("k_anonymize", kind(people()))
    assert isinstance(made.frame, type(kind({"a": [1]})))
    assert "name" not in list(getattr(made.frame, "column_names", made.frame.columns))
    same = released("k_anonymize", pl.DataFrame(people())).frame
    assert pl.DataFrame(made.frame).equals(same)


def test_numbers_keep_their_digits():
    """Numbers of Python and NumPy reach the method as they are written, and None says nothing."""
    import numpy as np  # noqa: PLC0415 - numbers of another make

    frame = pl.DataFrame(people())
    made = voile.ke_anonymize(
        frame, quasi_identifiers=pd.Index(["age"]), sensitive="pay", k=np.int64(3), e=0.1,
        person="row", columns=None,
    )  # fmt: skip
    assert made.release.method["k"] == 3
    assert str(made.release.method["e"]) == "0.1"
    assert "columns" not in made.toml


def test_what_notebooks_show_is_small_and_escaped():
    """The page of a release has five rows, no markup of its values, and says what is unfit."""
    rows = people() | {"illness": ["<b>flu</b>", "<i>gout</i>"] * 120}
    made = released("k_anonymize", pd.DataFrame(rows))
    shown = made._repr_html_()
    assert "<b>flu" not in shown
    assert "&lt;b&gt;flu" in shown or "&lt;i&gt;gout" in shown
    assert shown.count("<tr>") == 6
    assert "NOT fit for publication" in shown
    assert "NOT fit for publication" in repr(made)
    assert "NOT fit" not in repr(released("k_anonymize", pd.DataFrame(rows), seed=None))


def test_a_release_is_written_once(tmp_path):
    """A release is written as a folder that reads back, and never over another."""
    made = released("k_anonymize", pl.DataFrame(people()))
    made.write(tmp_path / "out")
    assert voile.read_release(tmp_path / "out").guarantee == made.release.guarantee
    with pytest.raises(InputError):
        made.write(tmp_path / "out")


@pytest.mark.parametrize(
    ("keywords", "error", "says"),
    [
        ({"perso": "row"}, InputError, "no keyword 'perso'; did you mean 'person'"),
        ({"quasi_identifiers": ["aeg"]}, PlanError, "did you mean 'age'"),
        ({"quasi_identifiers": "age"}, PlanError, "a list of column names"),
        ({"k": 1}, PlanError, "at least 2"),
        ({"columns": {"age": {"bounds": object()}}}, PlanError, "holds a value that is neither"),
        ({"columns": {"age": {"bound": [0, 1]}}}, PlanError, "did you mean 'bounds'"),
        ({"engine": "pandas"}, InputError, "no engine 'pandas'"),
    ],
)
def test_what_is_wrong_is_said(keywords, error, says):
    """A wrong keyword, column or value is an error that names it."""
    asked = CALLS["k_anonymize"] | {"person": "row"} | keywords
    with pytest.raises(error, match=says):
        voile.k_anonymize(pl.DataFrame(people(20)), **asked)


def test_what_is_no_frame_is_refused():
    """What is no data frame is refused by its type, and nothing of it is shown."""
    with pytest.raises(TableError, match="from list"):
        voile.k_anonymize([["Ann", 31]], quasi_identifiers=["age"])


def test_a_plan_of_any_method():
    """``anonymize`` takes the tables of a plan, or its file, of any method."""
    plan = {
        "roles": {"quasi_identifiers": ["age"], "person": "row"},
        "columns": {"age": AGES["age"]},
        "method": {"name": "clustered-laplace", "epsilon": 1},
    }
    made = voile.anonymize(pl.DataFrame(people()), plan)
    assert made.frame.height == 240
    with pytest.raises(InputError, match="no keyword 'person'"):
        voile.anonymize(pl.DataFrame(people()), plan, person="row")


def test_keywords_are_keys_of_plans():
    """Each keyword that all calls share is read by the plan, and stands in every signature."""
    said = {
        "identifiers": ["name"], "keep": ["sex"], "keep_unique": ["sex"], "person": "p",
        "household": "h", "columns": {"sex": {"type": "text"}}, "nulls": "drop", "missing": ["?"],
        "budget": {"data_set": "d", "epsilon": 1},
    }  # fmt: skip
    top = ("columns", "nulls", "missing", "budget")
    plan = parse_plan(
        {name: said[name] for name in top}
        | {"roles": {name: one for name, one in said.items() if name not in top}}
    )
    assert plan.roles.keep_unique == ("sex",)
    for name in CALLS:
        assert set(said) | {"seed", "out", "ledger"} <= set(
            inspect.signature(getattr(voile, name)).parameters
        )


@pytest.mark.slow
@pytest.mark.slow
def test_an_audit_of_frames_makes_shadow_releases():
    """As many as are asked for, by the plan that made the frame; without a control the reason."""
    roles = {"person": "row", "quasi_identifiers": ["age", "sex"], "sensitive": ["illness", "pay"]}
    plan = {"roles": roles, "method": {"name": "generalization", "k": 5}}
    table = pl.DataFrame(people(300)).drop("name")
    original, control = table[:150], table[150:]
    released = voile.anonymize(original, plan).frame
    call = partial(voile.audit_frame, released, original, plan=plan, attacks=[], shadows=8)
    found = [one["of"] for one in call(control).record.risks if one["risk"] == "membership"]
    assert found == ["8 shadow releases"]
    assert "there is no control" in {one.reason for one in call().record.risks_skipped}
    with pytest.raises(InputError, match="at least 8"):
        call(control, shadows=4)


def test_an_audit_of_frames_is_that_of_files(tmp_path):
    """Frames of any kind are judged like files of the same rows, and leave nothing behind."""
    rows = people(120)
    table = pl.DataFrame(rows)
    control = pd.DataFrame(people(200)).iloc[120:]
    attacks = ["prosecutor"]
    plan = {"roles": {"identifiers": ["name"], "quasi_identifiers": ["age", "sex"],
                      "sensitive": ["illness", "pay"]}}  # fmt: skip
    shown = table.drop("name")
    audit = voile.audit_frame(
        shown.to_pandas(), table.to_arrow(), control, plan=plan, attacks=attacks
    )
    for name, frame in {"released": shown, "original": table,
                        "control": pl.DataFrame(control.to_dict("list"))}.items():  # fmt: skip
        frame.write_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "plan.toml").write_text(
        '[roles]\nidentifiers = ["name"]\nquasi_identifiers = ["age", "sex"]\n'
        'sensitive = ["illness", "pay"]\n'
    )
    from voile.audit.examine import Inquiry, audit as of_files  # noqa: PLC0415, I001

    record = of_files(
        *(tmp_path / f"{name}.parquet" for name in ("released", "original", "control")),
        tmp_path / "plan.toml",
        inquiry=Inquiry(1000, tuple(attacks)),
    )
    assert audit.record.risks == record.risks
    assert audit.record.attacks == record.attacks
    assert audit.risks["singling out"] > 0.5  # exact rows single everybody out
    assert "PRIVATE" in repr(audit)
    assert "PRIVATE" in audit._repr_html_()


def test_examples_in_docstrings_give_what_they_show():
    """Those of the calls are run, with ``...`` for what differs or is long."""
    run = doctest.testmod(shortcuts, optionflags=doctest.ELLIPSIS, report=False)
    assert run.failed == 0
    assert run.attempted >= 10

"""Files and controls that were made to pass: each fails a policy though everything was ticked."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import Result
from pyarrow import ipc, parquet
from xlsxwriter import Workbook

from voile.audit.record import AuditRecord
from voile.audit.sides import joined, read_sides
from voile.policy.stated import StatedPolicy
from voile.policy.templates import template_text
from voile.table.reading import beside_the_table
from voile_base.errors import InputError
from voile_tests.audit.tables import marginals
from voile_tests.policy.cases import CONTROL, ORIGINAL, PLAN, audited, policy, tick_all, voile

N = ORIGINAL.height
RISKS = "singling out finds at most"


def mixed(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in another order."""
    return rows.sample(fraction=1, shuffle=True, seed=1)


def renumbered() -> pl.DataFrame:
    """The original with ids that were issued anew."""
    numbers = np.random.default_rng(3).permutation(10 * N)[:N]
    return ORIGINAL.with_columns(id=pl.Series([f"X{number:06}" for number in numbers]))


def banded() -> pl.DataFrame:
    """Numbers in some twenty bands."""
    age, income = pl.col("age") // 4 * 4, pl.col("income") // 2 * 2
    return ORIGINAL.with_columns(
        age=pl.format("{}-{}", age, age + 3), income=pl.format("{}-{}", income, income + 1)
    )


def spelt() -> pl.DataFrame:
    """Texts in capitals, with spaces around them."""
    texts = ("town", "education", "sex")
    return ORIGINAL.with_columns(
        pl.format(" {} ", pl.col(n).str.to_uppercase()).alias(n) for n in texts
    )


def nearly() -> pl.DataFrame:
    """Numbers that are right or one too large."""
    draws = np.random.default_rng(5)
    ones = {n: pl.col(n) + pl.Series(draws.integers(0, 2, N)) for n in ("age", "hours")}
    return ORIGINAL.with_columns(**ones)


def coded() -> pl.DataFrame:
    """Texts under codes of their own."""
    towns = {f"t{i}": f"c{(i * 7) % 12}" for i in range(12)}
    return ORIGINAL.with_columns(
        pl.col("town").replace(towns), pl.col("sex").replace({"f": "1", "m": "2"})
    )


def ciphered() -> pl.DataFrame:
    """Each value under the name of the next one, in every column."""

    def next_of(name: str) -> dict[object, object]:
        values = ORIGINAL[name].unique().sort().to_list()
        return dict(zip(values, [*values[1:], values[0]], strict=True))

    return ORIGINAL.with_columns(
        pl.col(name).replace_strict(next_of(name), return_dtype=ORIGINAL[name].dtype)
        for name in ORIGINAL.columns
    )


def ciphered_but(*names: str) -> pl.DataFrame:
    """The same in some columns alone."""
    return ORIGINAL.with_columns(ciphered().select(names))


def numbered() -> pl.DataFrame:
    """Ages and hours as numbers that a secret gives each of them, and one row less."""
    draws = np.random.default_rng(6)

    def secret(name: str) -> pl.Expr:
        values = ORIGINAL[name].unique().to_list()
        numbers = (draws.permutation(10_000)[: len(values)] + 1_000).tolist()
        return pl.col(name).replace_strict(dict(zip(values, numbers, strict=True)))

    return ORIGINAL.select(secret("age"), secret("hours"), "sex")[1:]


def beside_decoys(*shown: pl.Series | pl.Expr) -> pl.DataFrame:
    """Rows of nobody under the names of the original, and more columns beside them."""
    return pl.concat([marginals(ORIGINAL, 3), ORIGINAL.select(shown)], how="horizontal")


def recoded() -> pl.DataFrame:
    """Two columns of few values under other names and codes, beside decoys of their own names."""
    schooling = {"none": 3, "school": 1, "college": 4, "doctor": 2}
    return beside_decoys(
        pl.col("sex").replace_strict({"f": "A", "m": "B"}).alias("v"),
        pl.col("education").replace_strict(schooling).alias("w"),
    )


def ciphered_in_part() -> pl.DataFrame:
    """Each level of education under the name of the next, and one row in ten drawn."""
    made = ciphered_but("education")
    return pl.concat([made[N // 10 :], marginals(made, 8)[: N // 10]])


def hashed() -> pl.DataFrame:
    """Each value as the digest of a word and itself."""

    def digest(value: object) -> str:
        return blake2b(f"word {value}".encode(), digest_size=5).hexdigest()

    return ORIGINAL.select(
        pl.col(name).map_elements(digest, return_dtype=pl.String) for name in ORIGINAL.columns
    )


def two_labels() -> pl.DataFrame:
    """Each value with an a before it in every other row, else a b."""
    sign = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    return ORIGINAL.select(pl.concat_str(sign, n).alias(n) for n in ORIGINAL.columns)


def curved() -> pl.DataFrame:
    """Numbers by their logarithms, squares and reciprocals, and nothing else."""
    return ORIGINAL.select(
        age=pl.col("age").log(), hours=pl.col("hours") ** 2 + 0.5, income=1 / (1 + pl.col("income"))
    )


FILES: dict[str, tuple[Callable[[], pl.DataFrame], str]] = {
    "ids that were issued anew": (renumbered, RISKS),
    "twenty bands": (banded, RISKS),
    "rows in order with one left out": (
        lambda: ORIGINAL.filter(pl.int_range(pl.len()) != 77).select("town", "education", "sex"),
        RISKS,
    ),
    "decoys": (lambda: pl.concat([ORIGINAL, *(marginals(ORIGINAL, i) for i in (1, 2, 4))]), RISKS),
    "other spellings": (spelt, RISKS),
    "other units": (
        lambda: ORIGINAL.with_columns(age=pl.col("age") * 12.0, income=pl.col("income") * 1.07 + 3),
        RISKS,
    ),
    "one too large": (nearly, RISKS),
    "a number in two columns": (
        lambda: ORIGINAL.with_columns(tens=pl.col("age") // 10, ones=pl.col("age") % 10).drop(
            "age"
        ),
        RISKS,
    ),
    "half of the people": (lambda: ORIGINAL.sample(N // 2, seed=1), RISKS),
    "each row twice": (lambda: pl.concat([ORIGINAL, ORIGINAL]), RISKS),
    "other codes": (coded, RISKS),
    "a cipher of every column": (ciphered, "may be published"),
    "a cipher with one row left out": (lambda: ciphered()[1:], "may be published"),
    "a cipher of half of the people": (lambda: mixed(ciphered())[: N // 2], "may be published"),
    "a cipher of columns of few values": (
        lambda: ciphered_but("sex", "education"),
        "column 'education' may be published",
    ),
    "digests with one row left out": (lambda: hashed()[1:], "column 'age' may be published"),
    "numbers for numbers": (numbered, "column 'age' may be published"),
    "columns under other names": (
        lambda: beside_decoys(*(pl.col(n).alias(f"v{i}") for i, n in enumerate(ORIGINAL.columns))),
        "column 'v0' may be published",
    ),
    "rows in one column": (
        lambda: beside_decoys(pl.concat_str(pl.all(), separator="|").alias("code")),
        "column 'code' may be published",
    ),
    "a word before each value": (
        lambda: ORIGINAL.select(pl.format("is {}", n).alias(n) for n in ORIGINAL.columns),
        "column 'age' may be published",
    ),
    "few values under codes beside decoys": (recoded, "column 'v' may be published"),
    "a cipher among other rows": (ciphered_in_part, "column 'education' may be published"),
    "digests": (hashed, "column 'age' may be published"),
    "two labels for each value": (two_labels, "column 'age' may be published"),
    "curves": (curved, RISKS),
    "one in twenty among rows of nobody": (
        lambda: pl.concat([marginals(ORIGINAL, 3)[:-20], ORIGINAL[:20]]),
        "with 0.01 of mistakes at most",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("cheat", FILES)
def test_a_file_that_was_disguised_fails(tmp_path: Path, cheat: str) -> None:
    """The three risks find it, or the copies of a few do."""
    make, criterion = FILES[cheat]
    made = make()
    told = unmet(tmp_path, made if "in order" in cheat else mixed(made), CONTROL)
    assert any(line.startswith("FAIL") and criterion in line for line in told)


@pytest.mark.slow
@pytest.mark.parametrize(
    "control",
    [ORIGINAL.with_columns(pl.col("age") + 1), mixed(ORIGINAL), None, CONTROL[:1]],
    ids=["a year older", "the release", "the released rows of nobody", "one person"],
)
def test_a_control_that_was_chosen_fails(tmp_path: Path, control: pl.DataFrame | None) -> None:
    """Beside people of the original, the file itself or one person nothing can be told."""
    file = mixed(ORIGINAL) if control is not None else marginals(ORIGINAL, 3)
    told = unmet(tmp_path, file, file if control is None else control)
    assert any(line.startswith(("FAIL", "MISSING")) and RISKS in line for line in told)


def unmet(folder: Path, released: pl.DataFrame, control: pl.DataFrame) -> list[str]:
    """The lines of criteria that are not met after a careless human ticked all that is asked."""
    judged = audited(folder, released, control)
    voile("check", judged, "--policy", "gdpr")
    tick_all(judged)
    found = voile("check", judged, "--policy", "gdpr")
    assert found.exit_code == 4
    return [one for one in lines_of(found) if one.startswith(("FAIL", "STRADDLES", "MISSING"))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_copies_with_two_columns_of_other_copied_people_fail(
    tmp_path: Path, shared_data: Path, seed: int
) -> None:
    """Of 2,500 people of a survey 75, whose places and ages are permuted; nobody without them."""
    table = pl.read_csv(shared_data / "census" / "nist-acs-ma2019.csv", infer_schema=False)
    shown = ["PUMA", "AGEP", "SEX", "MSP", "RAC1P", "NPF", "OWN_RENT", "INDP_CAT", "EDU"]
    sensitive = ["PINCP_DECILE", "DPHY", "DREM"]
    rows = (
        table.select(shown + sensitive)
        .fill_null("none")
        .sample(fraction=1, shuffle=True, seed=seed)
    )
    original, control = rows[:2500], rows[2500:5000]
    drawn = marginals(original, seed)
    moved = original[:75].with_columns(original[n][:75].shuffle(seed) for n in ("PUMA", "AGEP"))
    plan = f"[roles]\nquasi_identifiers = {shown}\nsensitive = {sensitive}\n"
    asked = policy(tmp_path, 'kind = "copies"\nmost = 0')
    codes = []
    for name, file in (("null", drawn), ("copies", pl.concat([drawn[75:], moved]))):
        (folder := tmp_path / name).mkdir()
        judged = audited(folder, mixed(file), control, original=original, plan=plan)
        codes.append(voile("check", judged, "--policy", asked).exit_code)
    assert codes == [0, 4]


def lines_of(found: Result) -> list[str]:
    """What a command has written, line by line."""
    return [*map(str.strip, found.output.splitlines())]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "column", "share"), [("school", "education", 0.2), ("39", "income", 0.0)]
)
def test_values_that_a_plan_calls_missing_fail_until_someone_waives_it(
    tmp_path: Path, word: str, column: str, share: float
) -> None:
    """They drop out of every figure: a frequent one of any column, and any of a sensitive one."""
    file = marginals(ORIGINAL, 3)
    judged = audited(tmp_path, file, plan=f'missing = ["NA", "{word}"]\n{PLAN}')
    record = AuditRecord.read(judged / "audit.json")
    assert record.called_missing[column] > share
    told = [one for one in record.notices if "the plan calls" in one and repr(column) in one]
    assert len(told) == 1
    assert word not in told[0]
    voile("check", judged, "--policy", "gdpr")
    tick_all(judged)
    found = voile("check", judged, "--policy", "gdpr")
    asks = f"values of column {column!r} are not called missing"
    assert found.exit_code == 4
    assert any(asks in one and one.startswith("MISSING") for one in lines_of(found))
    with (judged / "assumptions.toml").open("a") as form:
        form.write(f'\n[[waiver]]\ncriterion = "{asks}"\nreason = "a code"\nby = "board"\n')
    found = voile("check", judged, "--policy", "gdpr")
    assert any(
        asks in one and one.strip().startswith("waived") for one in found.output.splitlines()
    )


@pytest.mark.slow
def test_columns_that_may_stand_together_fail_until_someone_waives_it(tmp_path: Path) -> None:
    """Two columns of two values agree with two of the original, among copies of a decoy."""
    draws = np.random.default_rng(3)
    members = pl.when(pl.Series(draws.random(N) < 0.3)).then(pl.lit("f")).otherwise("sex")
    original = ORIGINAL.with_columns(member=members)
    decoy = pl.Series(draws.permutation(original["sex"].to_numpy()))
    made = marginals(ORIGINAL, 3).with_columns(
        *((f"d{n} " + decoy).alias(f"d{n}") for n in range(30)),
        v=original["sex"].replace_strict({"f": "A", "m": "B"}),
        w=original["member"].replace_strict({"f": "C", "m": "D"}),
    )
    plan = PLAN.replace('"hours"]\nkeep_unique', '"hours", "member"]\nkeep_unique')
    control = CONTROL.with_columns(member="sex")
    judged = audited(tmp_path, mixed(made), control, original=original, plan=plan)
    voile("check", judged, "--policy", "gdpr")
    tick_all(judged)
    found = lines_of(voile("check", judged, "--policy", "gdpr"))
    asks = "columns that no adversary could read are, taken together, none of the original's"
    assert sum(one.startswith("MISSING") and asks[:40] in one for one in found) == 1
    (why,) = AuditRecord.read(judged / "audit.json").not_assessed.values()
    assert "of two or three columns agree with the original's" in why
    with (judged / "assumptions.toml").open("a") as form:
        form.write(f'\n[[waiver]]\ncriterion = "{asks}"\nreason = "seen"\nby = "board"\n')
    found = lines_of(voile("check", judged, "--policy", "gdpr"))
    assert any(one.startswith("waived") and asks[:40] in one for one in found)


def test_marks_of_missing_values_may_be_called_so(tmp_path: Path) -> None:
    """Usual words, codes that stand out of the numbers of a column, and words that nobody wrote."""
    codes = pl.when(pl.int_range(pl.len()) % 9 == 0).then(-9).otherwise("income").alias("income")
    held = ORIGINAL.with_columns(codes, pl.col("town").replace({"t1": "n/a", "t2": " "}))
    held.write_csv(tmp_path / "original.csv")
    (tmp_path / "plan.toml").write_text(f'missing = ["N/A", "n/a", " ", "-9", "refused"]\n{PLAN}')
    place = tmp_path / "original.csv"
    assert not read_sides(place, place, plan=tmp_path / "plan.toml").called_missing


@pytest.mark.parametrize("by", ["a number of the rows", "all that both have", "their order"])
def test_rows_of_two_files_are_joined(by: str) -> None:
    """By what tells whose they are, and each person with the own values."""
    numbers = pl.Series("number", np.random.default_rng(3).permutation(N))
    rows = mixed(ORIGINAL.with_columns(numbers))
    both = {"a number of the rows": ["number"], "all that both have": ["age", "town", "income"]}
    shared = both.get(by, [])
    one = rows.select(*dict.fromkeys((*shared, "age", "sex")))
    other = rows.select(*shared, "hours", "education")
    if by != "their order":
        other = other.sample(fraction=1, shuffle=True, seed=2)
    table, told = joined(one, [("other.csv", other)])
    assert table is not None
    assert told[0].startswith("other.csv was joined by ")
    found = table.select("age", "sex", "hours", "education")
    assert found.join(rows, on=found.columns, how="anti").is_empty()
    assert table.height >= (N if by != "all that both have" else N // 2)


def test_files_of_other_rows_are_not_joined() -> None:
    """No column tells rows apart, and those of both stand in another order."""
    one, other = ORIGINAL.select("age", "sex"), mixed(ORIGINAL).select("sex", "hours")
    table, told = joined(one, [("other.csv", other)])
    assert table is None
    assert "cannot be told" in told[0]


def test_files_of_one_name_are_each_joined(tmp_path: Path) -> None:
    """They stand in folders of their own; none takes the place of another."""
    rows = ORIGINAL.with_columns(pl.Series("number", range(N)))
    rows.write_csv(tmp_path / "original.csv")
    rows.select("number", "age").write_csv(tmp_path / "released.csv")
    places = [tmp_path / name / "data.csv" for name in ("sex", "hours")]
    for place in places:
        place.parent.mkdir()
        rows.select("number", place.parent.name).write_csv(place)
    sides = read_sides(tmp_path / "released.csv", tmp_path / "original.csv")
    together, told = sides.with_files(places)
    assert len(told) == 2
    assert together is not None
    assert {"age", "sex", "hours"} <= set(together.released.columns)


@pytest.mark.slow
def test_files_that_belong_together_are_judged_together(tmp_path: Path) -> None:
    """What both tell counts beside each; the ledger tells of files that were not named."""
    numbers = pl.Series("number", np.random.default_rng(3).permutation(N))
    rows = mixed(ORIGINAL.with_columns(numbers))
    rows.select("number", "age", "town", "income").write_csv(tmp_path / "other.csv")
    alone = audited(tmp_path, rows.select("number", "sex", "education"))
    call = ["audit", tmp_path / "copy.csv", "--original", tmp_path / "original.csv"]
    call += ["--control", tmp_path / "control.csv", "--plan", tmp_path / "plan.toml"]
    call += ["--targets", 100, "--ledger", tmp_path / "ledger"]
    both = tmp_path / "both"
    made = voile(*call, "--beside", tmp_path / "other.csv", "--out", both)
    assert made.exit_code == 0, made.output
    assert "other.csv was joined by column 'number'" in made.output
    records = [AuditRecord.read(folder / "audit.json") for folder in (alone, both)]
    told = [{one["of"] for one in each.risks if one["risk"] == "inference"} for each in records]
    assert not [of for of in told[0] if "income" in of]
    assert [of for of in told[1] if "income" in of and "files together" in of]
    worst = [max(one["excess"]["value"] or 0 for one in each.risks) for each in records]
    assert worst[1] > worst[0]
    again = voile("check", both, "--policy", "gdpr", "--again")
    assert again.exit_code == 4
    assert "is not what its inputs give" not in again.output
    (tmp_path / "other.csv").rename(tmp_path / "moved.csv")
    call_again = ("check", both, "--policy", "gdpr", "--again")
    gone = voile(*call_again)
    assert gone.exit_code == 2
    assert "say where it is with --beside FILE" in str(gone.exception)
    wrong = voile(*call_again, "--beside", tmp_path / "control.csv")
    assert "none of the files that were audited with --beside" in str(wrong.exception)
    assert voile(*call_again, "--beside", tmp_path / "moved.csv").output == again.output
    assert "give --again, too" in str(voile(*call_again[:-1], "--beside", "x").exception)
    (tmp_path / "moved.csv").rename(tmp_path / "other.csv")
    rows.select("number", "sex").write_csv(tmp_path / "copy.csv")
    third = voile(*call, "--out", tmp_path / "third")
    assert "the ledger knows 1 other" in third.output


def workbook(path: Path, *sheets: str, comment: bool = False) -> Path:
    """A table on the first sheet; with more sheets, or a comment on a cell."""
    with Workbook(str(path)) as book:
        for name in ("rows", *sheets):
            sheet = book.add_worksheet(name)
            for place, row in enumerate((("age", "town"), (30, "a"), (40, "b"))):
                sheet.write_row(place, 0, row)
            if comment:
                sheet.write_comment("A2", "somebody")
    return path


@pytest.mark.parametrize(
    ("sheets", "comment", "told"),
    [
        ((), False, []),
        (("others",), False, ["1 other sheet"]),
        (("x", "y"), False, ["2 other sheets"]),
        ((), True, ["comments, pictures or other parts of the workbook"]),
    ],
)
def test_what_a_workbook_holds_beside_its_table_is_told(
    tmp_path: Path, sheets: tuple[str, ...], told: list[str], *, comment: bool
) -> None:
    """Since it would be published with it and was not looked at."""
    path = workbook(tmp_path / "t.xlsx", *sheets, comment=comment)
    assert list(beside_the_table(path)) == told


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_metadata_of_a_file_is_vouched_for_by_a_person(tmp_path: Path, suffix: str) -> None:
    """Programs' own metadata are none; a table among them is."""
    plain, laden = (tmp_path / f"{name}.{suffix}" for name in ("plain", "laden"))
    table = pa.table({"age": [30, 40]})
    for path, written in ((plain, table), (laden, table.replace_schema_metadata({"t": "30,a"}))):
        if suffix == "parquet":
            parquet.write_table(written, path)
        else:
            with ipc.new_file(path, written.schema) as out:
                out.write_table(written)
    assert list(beside_the_table(plain)) == []
    assert list(beside_the_table(laden)) == ["metadata"]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_dictionary_with_values_that_no_row_shows_is_vouched_for(
    tmp_path: Path, suffix: str
) -> None:
    """They leave with the file, and no adversary reads them."""
    for name, labels in (("plain", ["a", "b"]), ("laden", ["a", "b", "Berta, 39"])):
        path = tmp_path / f"{name}.{suffix}"
        table = pa.table({"town": pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), labels)})
        if suffix == "parquet":
            parquet.write_table(table, path, store_schema=False)
        else:
            with ipc.new_file(path, table.schema) as out:
                out.write_table(table)
        told = ["values in dictionaries that no row shows"] if name == "laden" else []
        assert list(beside_the_table(path)) == told


def test_bytes_of_a_parquet_file_that_are_of_no_column_are_vouched_for(tmp_path: Path) -> None:
    """A table before its end, which no reader looks at; with indexes of pages or without."""
    for place, indexed in enumerate((False, True)):
        plain, laden = tmp_path / f"plain{place}.parquet", tmp_path / f"laden{place}.parquet"
        parquet.write_table(ORIGINAL.to_arrow(), plain, write_page_index=indexed)
        written = plain.read_bytes()
        end = int.from_bytes(written[-8:-4], "little") + 8
        laden.write_bytes(written[:-end] + ORIGINAL.write_csv().encode() + written[-end:])
        assert pl.read_parquet(laden).equals(pl.read_parquet(plain))
        assert list(beside_the_table(plain)) == []
        assert list(beside_the_table(laden)) == ["bytes that are of no column"]


def test_what_a_compressed_file_holds_beside_the_text_is_vouched_for(tmp_path: Path) -> None:
    """A comment, a long name, a further part, bytes behind the end; a plain name is none."""
    text = b"age,town\n30,a\n"
    plain = gzip.compress(text)
    noted = plain[:3] + b"\x10" + plain[4:10] + b"Berta, 39\0" + plain[10:]
    named, long = (
        plain[:3] + b"\x08" + plain[4:10] + b"n" * size + b"\0" + plain[10:] for size in (9, 900)
    )
    told = ["comments or further parts of the compressed file"]
    packed = bz2.compress(text)
    for at, (written, says) in enumerate(
        [
            *((each, []) for each in (plain, named, packed)),
            *((each, told) for each in (noted, long, plain + plain, plain + b"x", packed + b"x")),
        ]
    ):
        path = tmp_path / f"{at}.csv.{'bz2' if written.startswith(b'BZ') else 'gz'}"
        path.write_bytes(written)
        assert list(beside_the_table(path)) == says


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ('[{"age": 30}]', False),
        ('{"age": 30}\n{"age": 31}', False),
        ('{"data": [{"age": 30}], "about": "Berta, 39"}', True),
        ('[{"age": 30, "age": 31}]', True),
        ('{"type": "FeatureCollection", "name": "n", "features": []}', False),
        ('{"type": "FeatureCollection", "note": "n", "features": []}', True),
        ('[{"type": "Feature", "geometry": null, "properties": {"age": 30}}]', False),
        ('[{"type": "Feature", "geometry": null, "properties": {}, "was": 1}]', True),
    ],
)
def test_members_of_a_document_that_are_no_cells_are_vouched_for(
    tmp_path: Path, text: str, *, beside: bool
) -> None:
    """They leave with the file, and no row shows them."""
    path = tmp_path / ("t.jsonl" if "\n" in text else "t.json")
    path.write_text(text)
    assert list(beside_the_table(path)) == ["members that are no cells"] * beside


@pytest.mark.parametrize("name", ["GDPR", "GD\u0420R", "G\u200bDPR", "\uff27DPR", "g.d.p.r."])
def test_a_name_that_looks_like_that_of_our_policy_is_refused(tmp_path: Path, name: str) -> None:
    """Letters of another script, letters of another width, and marks that show nothing."""
    path = tmp_path / "wide.toml"
    path.write_text(f'name = "{name}"\n[[criteria]]\nkind = "group-size"\nleast = 1\n')
    with pytest.raises(InputError, match="shipped policy 'gdpr'"):
        StatedPolicy.read(path)


def test_a_policy_of_ours_is_not_imitated(tmp_path: Path) -> None:
    """A file of a shipped name that asks for less would pass under it in a public dossier."""
    path = tmp_path / "wide.toml"
    path.write_text('name = "GDPR"\nsource = "s"\n[[criteria]]\nkind = "group-size"\nleast = 2\n')
    with pytest.raises(InputError, match="shipped policy 'gdpr'"):
        StatedPolicy.read(path)
    path.write_text(template_text("gdpr"))
    assert StatedPolicy.read(path).policy == StatedPolicy.read("gdpr").policy

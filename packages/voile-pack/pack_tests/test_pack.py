"""``voile pack``: what it says, writes and refuses, for private and published parcels."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import polars as pl
import pytest

from voile.release.folder import manifest_of
from voile.table.opening import open_published
from voile_testing.disclosing import disclosure_of

PARCELS = "weight,volume,h,w,l\n6,1,2,3,4\n4,9,4,3,2\n5,5,1,1,1\n5,5,4,4,4\n"
MARK = "PRIVATE"


@pytest.fixture
def parcels(desk):
    """Four parcels: two bins of 10."""
    return desk.file(PARCELS, "parcels.csv")


def rows_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def release(desk, data: str, method: dict, name: str = "release"):
    """A release folder with these rows, as publishers write them."""
    folder = desk / name
    folder.mkdir()
    (folder / "data.csv").write_text(data, encoding="utf-8")
    header = data.split("\n", 1)[0].split(",")
    roles = {"quasi_identifiers": header, "sensitive": [], "keep": []}
    guarantee = {"kind": "test", "statement": "a promise", "assumes": []}
    said = {"method": method, "guarantee": guarantee, "columns": roles}
    document = {
        **disclosure_of(said, open_published(folder, (), ["data.csv"])).document(),
        "format": 1,
        "voile": "0.1.0",
        "method": method,
        "guarantee": guarantee,
        "rows": data.count("\n") - 1,
        "publishable": True,
        "release_id": "0" * 32,
        "roles": roles,
        "types": dict.fromkeys(header, "decimal"),
        "data": manifest_of(folder, ["data.csv"]),
    }
    (folder / "release.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def noisy_method(**cluster) -> dict:
    stated = {"scale": 1.0, "half_width": 1.25, "low": 0.0, "high": 8.0, "own": 1, "other": 0}
    return {
        "name": "clustered-laplace",
        "epsilon": 8,
        "shares": [1],
        "confidence": 0.7,
        "bounds": "public",
        "decision": {"columns": {"weight": {"step": 2.0**-10, "clusters": [stated | cluster]}}},
    }


NOISY = "weight,weight.low,weight.high\n" + "".join(
    f"{w},{max(w - 1.25, 0)},{w + 1.25}\n" for w in (2.5, 3.0, 3.5, 1.0, 0.0, 4.25, 2.0, 2.0)
)


def test_what_people_see(desk, parcels):
    """The first line says that the plan is private; then bins, the proof, and the loads."""
    outcome = desk.run("pack", parcels, "--capacity", 10)
    assert outcome.status == 0
    lines = outcome.stdout.splitlines()
    assert MARK in lines[0]
    assert lines[1] == "4 parcels in 2 bins"
    assert lines[2].startswith("No packing has fewer bins")
    assert "100.0%" in outcome.stdout


def test_what_programs_see(desk, parcels):
    """With --json standard output is one document with all loads, marked as private."""
    document = desk.run("pack", parcels, "--capacity", "10", "--json").document
    assert document["private"].startswith(MARK)
    assert (document["bins"], document["lower_bound"], document["proved"]) == (2, 2, True)
    assert document["gap"] == 0
    assert document["measures"] == [
        {"name": "weight", "capacity": 10, "usable": 10, "loads": [10, 10]}
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_of_bins(desk, parcels, ending):
    """--out says for each row of the input its bin, and no bin is overfull."""
    out = desk / f"bins.{ending}"
    outcome = desk.run("pack", parcels, "--capacity", 10, "--out", out)
    assert f"wrote {out}" in outcome.stderr
    frame = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    assert frame["row"].to_list() == [1, 2, 3, 4]
    assert frame["planned.weight"].to_list() == [6, 4, 5, 5]
    loads = frame.group_by("bin").agg(pl.col("planned.weight").sum())
    assert loads["planned.weight"].to_list() == [10, 10]
    assert not desk.hidden()


def test_the_picture(desk, parcels):
    """--picture draws the bins, and the title of private ones says so."""
    pytest.importorskip("matplotlib")
    outcome = desk.run("pack", parcels, "--capacity", 10, "--picture", desk / "bins.svg")
    assert outcome.status == 0
    text = (desk / "bins.svg").read_text(encoding="utf-8")
    assert "PRIVATE: 4 parcels in 2 bins, at least 2 needed" in text
    assert not desk.hidden()


def test_weight_and_volume(desk, parcels):
    """Two capacities hold at once: 6 + 4 fit by weight, and 9 + 5 do not by volume."""
    document = desk.run(
        *("pack", parcels, "--capacity", 10, "--volume-capacity", 10, "--json")
    ).document
    assert document["bins"] == 2
    assert [measure["name"] for measure in document["measures"]] == ["weight", "volume"]
    assert all(load <= 10 for measure in document["measures"] for load in measure["loads"])
    more = desk.run(
        *("pack", parcels, "--measure", "weight", 10, "--measure", "h", "5.5", "--json")
    ).document
    assert more["bins"] == 3


def test_boxes(desk, parcels):
    """Shapes count: the table says where each box stands, inside of its bin."""
    out = desk / "boxes.csv"
    document = desk.run(
        *("pack", parcels, "--box", 4, 4, "4.5", "--size", "h", "w", "l", "--capacity", 100),
        *("--work-limit", 1, "--out", out, "--json"),
    ).document
    assert document["lower_bound"] <= document["bins"] <= 3
    assert [measure["name"] for measure in document["measures"]] == ["weight", "volume"]
    for row in rows_of(out):
        for side, limit in (("height", 4), ("width", 4), ("length", 4.5)):
            assert 0 <= float(row[f"from.{side}"]) < float(row[f"to.{side}"]) <= limit
    alone = desk.run(
        *("pack", parcels, "--box", 4, 4, 4, "--size", "h", "w", "l"),
        *("--work-limit", 1, "--json"),
    ).document
    assert [measure["name"] for measure in alone["measures"]] == ["volume"]


def test_decimals_are_exact(desk):
    """0.1 + 0.2 fits into 0.3, which binary fractions would deny."""
    table = desk.file("weight\n0.1\n0.2\n", "parcels.csv")
    assert desk.run("pack", table, "--capacity", "0.3", "--json").document["bins"] == 1


def test_margin(desk, parcels):
    """A margin keeps a share of each bin free; a parcel beyond it gets a bin of its own."""
    document = desk.run("pack", parcels, "--capacity", 10, "--margin", "5%", "--json").document
    assert document["bins"] == 3
    assert document["measures"][0]["usable"] == 9.5
    tight = desk.run("pack", parcels, "--capacity", 6, "--margin", "0.1", "--json")
    assert tight.document["bins"] == 4
    assert "1 parcel is planned beyond what a bin may hold" in tight.stderr


def test_a_release_of_intervals(desk):
    """Published intervals are planned by mean, upper end or quantile; nothing is private."""
    folder = release(desk, "weight.low,weight.high\n" + "1,4\n" * 4, {"name": "generalization"})
    bins = {}
    for use in ("mean", "upper", "quantile:0.9"):
        outcome = desk.run("pack", folder, "--capacity", 10, "--use", use, "--json")
        assert outcome.status == 0, outcome.stderr
        assert "private" not in outcome.document
        bins[use] = outcome.document["bins"]
    assert bins == {"mean": 1, "upper": 2, "quantile:0.9": 2}
    shown = desk.run("pack", folder, "--capacity", 10)
    assert MARK not in shown.stdout


IMPOSSIBLE = "weight,weight.low,weight.high\n-3,-4.25,-1.75\n14,12.75,15.25\n5,3.75,6.25\n"


def test_a_release_with_noise(desk):
    """With known noise, what is planned is what is to be expected: above zero, within a bin."""
    folder = release(desk, IMPOSSIBLE, noisy_method())
    outcome = desk.run("pack", folder, "--capacity", 10, "--out", desk / "bins.csv", "--json")
    assert outcome.document["bins"] == 2
    planned = [float(row["planned.weight"]) for row in rows_of(desk / "bins.csv")]
    assert planned[0] > 0
    assert planned[0] < planned[2] < planned[1] < 10


def test_a_release_with_unknown_noise(desk):
    """Noisy values below zero or beyond a bin are planned as possible ones, with a notice."""
    folder = release(desk, IMPOSSIBLE, {"name": "unknown"})
    outcome = desk.run("pack", folder, "--capacity", 10, "--json")
    assert outcome.document["bins"] == 2
    assert "1 published value is below zero" in outcome.stderr
    assert "a bin of its own" in outcome.stderr


@pytest.mark.slow
def test_robust(desk):
    """--robust keeps each bin's probability of overload, says so, and takes more bins for it."""
    folder = release(desk, NOISY, noisy_method())
    plain = desk.run("pack", folder, "--capacity", 10, "--json").document
    assert "overload" not in plain
    for probability in (0.2, 0.01):
        document = desk.run(
            *("pack", folder, "--capacity", 10, "--robust", probability),
            *("--work-limit", 1, "--json"),
        ).document
        assert max(document["overload"]) <= probability
        assert len(document["overload"]) == document["bins"] >= plain["bins"]
    shown = desk.run("pack", folder, "--capacity", 10, "--robust", "1%").stdout
    assert "overloaded with a probability of at most" in shown


def test_missing_weights(desk):
    """Missing weights are refused with their number and place, or left out when told so."""
    table = desk.file('weight,x\n5,1\n,1\n6,1\n"",1\n', "parcels.csv")
    message = desk.fails(2, "pack", table, "--capacity", 10)
    assert "'weight' misses its value in 2 of 4 rows (first in row 2)" in message
    assert "--skip-missing" in message
    outcome = desk.run(
        "pack", table, "--capacity", 10, "--skip-missing", "--out", desk / "bins.csv"
    )
    assert "2 rows were left out" in outcome.stdout
    assert [row["row"] for row in rows_of(desk / "bins.csv")] == ["1", "3"]


REFUSED = {
    "no limit": ([], ["nothing limits a bin", "--capacity"]),
    "a heavy parcel": (["--capacity", 5], ["weight: 1 parcel is beyond", "row 1", "larger"]),
    "not a number": (["--capacity", "ten"], ["'ten' is not a number"]),
    "not finite": (["--capacity", "nan"], ["'nan' is not a number"]),
    "no capacity left": (["--capacity", 0], ["capacity must be a positive number"]),
    "a whole margin": (["--capacity", 10, "--margin", "100%"], ["below 100 %"]),
    "a missing column": (
        ["--capacity", 10, "--weight", "wieght"],
        ["there is no column 'wieght'", "did you mean 'weight'?", "--weight, --volume"],
    ),
    "a column without a limit": (["--volume", "volume"], ["--volume-capacity"]),
    "a box without sizes": (["--box", 1, 2, 3], ["--box H W L", "--size H W L", "both"]),
    "a large box": (
        ["--box", 3, 4, 4, "--size", "h", "w", "l"],
        ["1 parcel is too large for a bin in every turn", "row 4"],
    ),
    "a turn that is not allowed": (
        ["--box", 4, 4, 3, "--size", "h", "w", "l", "--turns", "none"],
        ["2 parcels are too large", "row 1"],
    ),
    "an unknown use": (["--capacity", 10, "--use", "most"], ["'most' is no way to plan", "upper"]),
    "no probability": (["--capacity", 10, "--robust", 2], ["between 0 and 1"]),
    "a margin and a promise": (
        ["--capacity", 10, "--robust", "0.1", "--margin", "1%"],
        ["leave --margin out"],
    ),
    "boxes and a promise": (
        ["--box", 4, 4, 4, "--size", "h", "w", "l", "--robust", "0.1"],
        ["not in robust mode"],
    ),
    "an unknown ending": (["--capacity", 10, "--out", "bins.xlsx"], [".csv or .parquet"]),
    "an unknown picture": (["--capacity", 10, "--picture", "bins.jpg"], [".png or .svg"]),
    "a folder that is not there": (
        ["--capacity", 10, "--out", "nowhere/bins.csv"],
        ["nowhere does not exist", "make it first"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(desk, parcels, case):
    """A wrong call names the option or the row and the cure, and nothing is written."""
    options, told = REFUSED[case]
    message = desk.fails(2, "pack", parcels, *options)
    for words in told:
        assert words in message


BAD_COLUMNS = {
    "texts": ("weight\n5\nheavy\n", ["'weight' must hold numbers", "row 2 is not a number"]),
    "negative": ("weight\n5\n-1\n", ["weight: 1 parcel is negative", "row 2"]),
    "infinite": ("weight\n5\ninf\n", ["row 2 is NaN or infinite"]),
    "nothing": ("weight,x\n,1\n,1\n", ["'weight'"]),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_bad_weights(desk, case):
    """Weights that are none are refused by row, never by value."""
    content, told = BAD_COLUMNS[case]
    desk.secrets = ("heavy",)
    message = desk.fails(2, "pack", desk.file(content, "parcels.csv"), "--capacity", 10)
    for words in told:
        assert words in message


def test_files_are_never_overwritten(desk, parcels):
    """A file that stands at --out is refused and stays as it was."""
    taken = desk.file("mine", "bins.csv")
    message = desk.fails(2, "pack", parcels, "--capacity", 10, "--out", taken)
    assert "something stands there already" in message


@pytest.mark.slow
def test_a_limit_in_work(desk):
    """--work-limit ends the search at the same place every time, and --json tells the work."""
    dice = np.random.default_rng(4).integers(20_000, 35_000, 200)
    table = desk.file("weight\n" + "\n".join(map(str, dice)), "parcels.csv")
    call = ("pack", table, "--capacity", 100_000, "--json", "--work-limit")
    none, some, again = (desk.run(*call, limit).document for limit in (0, 0.01, 0.01))
    assert none["work"] == 0
    assert 0.01 <= some["work"] < 0.1
    assert not some["proved"]
    for document in (some, again):
        del document["seconds"]
    assert some == again
    message = desk.fails(2, "pack", table, "--capacity", 100_000, "--work-limit", -1)
    assert "--work-limit" in message


def test_all_files_or_none(desk, parcels, monkeypatch):
    """Where the picture fails, the table does not appear either."""
    pytest.importorskip("matplotlib")
    broken = "voile_pack.parcels.draw_bins"

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(broken, fail)
    message = desk.fails(
        *(2, "pack", parcels, "--capacity", 10),
        *("--out", desk / "bins.csv", "--picture", desk / "bins.png"),
    )
    assert "No space left on device" in message.replace("no space", "No space")


def test_without_extras(desk, parcels, monkeypatch):
    """Without OR-Tools the default still packs; asking for it says how to install it."""
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert desk.run("pack", parcels, "--capacity", 10).status == 0
    two = ("--volume-capacity", 10, "--work-limit", 1)
    assert desk.run("pack", parcels, "--capacity", 10, *two).status == 0
    message = desk.fails(2, "pack", parcels, "--capacity", 10, "--solver", "or-tools")
    assert "pip install 'voile-pack[proofs]'" in message


def test_or_tools_alone(desk, parcels):
    """--solver or-tools gives the same number of bins."""
    for more in ((), ("--volume-capacity", 10)):
        document = desk.run(
            *("pack", parcels, "--capacity", 10, *more, "--solver", "or-tools"),
            *("--work-limit", 60, "--json"),
        ).document
        assert (document["bins"], document["proved"]) == (2, True)


def test_real_parcels(desk, shared_data):
    """32,949 real parcels fill 500 kg bins as well as is possible, and that is proved."""
    table = shared_data / "parcels" / "olist-products.csv"
    document = desk.run(
        *("pack", table, "--capacity", 500_000, "--weight", "product_weight_g"),
        *("--skip-missing", "--work-limit", 60, "--json"),
    ).document
    assert (document["parcels"], document["left_out"]) == (32_949, 2)
    assert document["proved"]
    assert document["bins"] == -(-sum(document["measures"][0]["loads"]) // 500_000)

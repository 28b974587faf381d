"""Amounts beside units, days with short years, postcodes of few houses, states of devices."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest

import voile
from voile.proposal.layout import proposed_layout
from voile.proposal.whole import Proposal, propose
from voile.proposal.writing import plan_text
from voile.schema.plan import parse_plan
from voile.table.places import Place
from voile.table.profile import Inspected
from voile_base.errors import PlanError

ROWS = 400


def _proposal_of(place: Place) -> Proposal:
    table = Inspected.of_file(place)
    return propose([table.details(name) for name in table.columns])


def _plan(tmp_path: Path, **columns: list[object]) -> tuple[Path, str]:
    file = tmp_path / "people.csv"
    shown = {"age": [20 + r % 30 for r in range(ROWS)], **columns}
    pl.DataFrame(shown, strict=False).write_csv(file)
    place, layout = proposed_layout(file)
    return file, plan_text(_proposal_of(place), "people.csv", layout=layout)


@pytest.mark.parametrize(
    ("form", "unit", "expected"),
    [
        ("${:,.2f}", "$", 1234.5),
        ("{:,.2f} USD", "USD", 1234.5),
        ("{:.1f} kg", "kg", 1234.5),
        ("{:.1f} кв.м", "кв.м", 1234.5),
        ("{:,.1f}円", "円", 1234.5),
    ],
)
def test_amounts_beside_a_unit_are_read_as_numbers(tmp_path, form, unit, expected) -> None:
    """The unit is named in [input], and the plan that names it reads the amounts.

    A word that no list has is one where it stands behind all numbers; some rows may have a mark.
    """
    values: list[object] = [form.format(1234.5 + r) if r % 5 else "n/a" for r in range(1, ROWS + 1)]
    values[0] = form.format(1234.5)
    file, text = _plan(tmp_path, wage=values)
    assert tomllib.loads(text)["input"]["units"] == [unit]
    place, _ = proposed_layout(file)
    (wage,) = (one for one in _proposal_of(place).columns if one.name == "wage")
    assert wage.details.extremes is not None
    assert wage.details.extremes[0] == expected


def test_amounts_as_europe_writes_them_are_read_as_numbers(tmp_path) -> None:
    """``1.234,50 €`` has a point between thousands and a comma before decimals."""
    values: list[object] = [f"1.{r:03},50 €" for r in range(ROWS)]
    _, text = _plan(tmp_path, price=values)
    said = tomllib.loads(text)["input"]
    assert (said["decimal"], said["thousands"], said["units"]) == (",", ".", ["€"])
    assert '"price" is in €, a currency' in text


def test_a_letter_before_numbers_is_no_unit(tmp_path) -> None:
    """``A22103277`` is the number of a till; units of measures stand behind."""
    _, text = _plan(tmp_path, till=[f"A{22103000 + r}" for r in range(ROWS)])
    assert "units" not in text


def test_numbers_of_something_before_a_sign_are_no_amounts(tmp_path) -> None:
    """``091481974$`` is the number of a book with its check mark."""
    values: list[object] = [f"09{r * 7919 % 10**7:07}$" for r in range(ROWS)]
    _, text = _plan(tmp_path, mediennr=values)
    assert "units" not in text


def test_days_with_short_years_are_read_where_the_century_is_sure(tmp_path) -> None:
    """Loans of the last years lie in no other century; no question is asked of them."""
    values: list[object] = [f"{1 + r % 28:02}.{1 + r % 12:02}.{10 + r % 13}" for r in range(ROWS)]
    _, text = _plan(tmp_path, loaned=values)
    assert tomllib.loads(text)["columns"]["loaned"]["format"] == "%d.%m.%y"
    assert '# ? "loaned"' not in text


def test_days_of_birth_with_short_years_are_asked_about(tmp_path) -> None:
    """A child of 2012 and a man of 1912 are written alike."""
    values: list[object] = [f"{1 + r % 28:02}.{1 + r % 12:02}.{10 + r % 13}" for r in range(ROWS)]
    _, text = _plan(tmp_path, geb=values)
    assert '# ? "geb": its years have two digits' in text


@pytest.mark.parametrize(
    ("form", "system", "district"),
    [
        ("SW{0}A {1}AA", "uk", "SW1A *"),
        ("10{0}{0} {2}B", "nl", "1011 *"),
        ("K{0}A {1}B1", "ca", "K1A *"),
    ],
)
def test_whole_postcodes_are_never_published(tmp_path, form, system, district) -> None:
    """Forty people of one postcode are still those of a few houses: its district is shown."""
    values: list[object] = [form.format(1 + r % 2, 1 + r % 5, "ABCDE"[r % 5]) for r in range(ROWS)]
    file, text = _plan(tmp_path, postcode=values)
    assert tomllib.loads(text)["columns"]["postcode"]["postcode"] == system
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["postcode"]},
            "columns": {"postcode": {"kind": "geography", "type": "text", "postcode": system}},
        }
    )
    table = voile.open_table(file, plan)
    release = voile.Generalization(k=5).publish(table, voile.Randomness.seeded(1))
    release.write(tmp_path / "out")
    shown = pl.read_parquet(tmp_path / "out" / "data.parquet")["postcode"]
    assert district in shown.to_list()
    assert not set(shown) & set(values)


@pytest.mark.parametrize("method", ["local-suppression", "microaggregation", "m-shuffle"])
def test_methods_that_publish_values_as_they_stand_take_no_postcodes(method) -> None:
    """However many rows have the same one, and whichever method is named."""
    more = {"clusters": 2, "columns": ["postcode"]} if method == "m-shuffle" else {"k": 2}
    plan = parse_plan(
        {
            "roles": {"person": "row", "quasi_identifiers": ["postcode"], "sensitive": ["pay"]},
            "columns": {"postcode": {"postcode": "uk"}},
            "method": {"name": method, **more},
        }
    )
    rows = pl.DataFrame(
        {"postcode": ["SW1A 1AA", "M1 1AE"] * 20, "pay": [float(n) for n in range(40)]}
    )
    with pytest.raises(PlanError, match=r"no whole postcode|postcodes of a few houses"):
        voile.make_release(rows, plan)


def test_states_of_a_tracker_are_published_beside_moved_positions(tmp_path) -> None:
    """Satellites and batteries tell nothing about places; speeds and ways do, and stay out."""
    rows = range(ROWS)
    _, text = _plan(
        tmp_path,
        trip=[f"T{r // 40}" for r in rows],
        time=[f"2024-05-01T{8 + r % 40 // 6:02}:{r % 6 * 10:02}:00Z" for r in rows],
        latitude=[39.8 + r / 10_007 for r in rows],
        longitude=[116.2 + r / 9_973 for r in rows],
        satellites=[5 + r % 9 for r in rows],
        battery=[40 + r % 50 for r in rows],
        speed=[r % 90 for r in rows],
        odometer=[10_000 + 3 * r for r in rows],
        acc=[4 + r % 7 for r in rows],
        provider=["gps" if r % 9 else "network" for r in rows],
        valid=[r % 17 > 0 for r in rows],
    )
    states = ["satellites", "battery", "acc", "provider", "valid"]
    assert tomllib.loads(text)["roles"]["keep"] == states
    assert '#   "speed": its name is that of movements' in text


def test_days_and_clocks_of_reports_are_asked_for_in_one_column(tmp_path) -> None:
    """Fleets export them apart: nothing is proposed, and the question says what to do."""
    rows = range(ROWS)
    reports: dict[str, list[object]] = {
        "Datum": [f"{1 + r // 40:02}.05.2024" for r in rows],
        "Uhrzeit": [f"{8 + r % 40 // 6:02}:{r % 6 * 10:02}:00" for r in rows],
        "Breite": [39.8 + r / 10_007 for r in rows],
        "Länge": [116.2 + r / 9_973 for r in rows],
        "Status": ["Fahrt" if r % 3 else "Halt" for r in rows],
    }
    moving: dict[str, list[object]] = {
        "Kennzeichen": [f"S-AB {100 + r // 40}" for r in rows],
        "km/h": [r % 90 for r in rows],
        "Geschwindigkeit": [r % 90 for r in rows],
    }
    _, text = _plan(tmp_path, **reports, **moving)
    assert '# ? time: "Datum" and "Uhrzeit" tell it together' in text
    assert not tomllib.loads(text)["roles"]
    _, text = _plan(tmp_path, **reports)
    assert "tell it together" not in text


def test_things_under_the_words_of_a_receiver_are_not_published(tmp_path) -> None:
    """A number of an engine and a card behind a name of a state tell vehicles apart."""
    rows = range(ROWS)
    _, text = _plan(
        tmp_path,
        trip=[f"T{r // 40}" for r in rows],
        time=[f"2024-05-01T{8 + r % 40 // 6:02}:{r % 6 * 10:02}:00Z" for r in rows],
        latitude=[39.8 + r / 10_007 for r in rows],
        longitude=[116.2 + r / 9_973 for r in rows],
        motor=[4_410_000 + r // 40 * 731 for r in rows],
        provider=[f"sim {8_000 + r // 40 * 17}" for r in rows],
    )
    assert "keep" not in tomllib.loads(text)["roles"]


def test_numbers_of_households_in_blocks_are_left_out(tmp_path) -> None:
    """Three rows of each number stand together, in any order of the numbers."""
    values: list[object] = [10_000 + r // 3 * 7_919 % 99_991 for r in range(ROWS)]
    _, text = _plan(tmp_path, nr_zz=values)
    assert "nr_zz" not in str(tomllib.loads(text)["roles"])


def test_numbers_behind_a_postcode_may_be_those_of_houses(tmp_path) -> None:
    """A Dutch postcode and a number are an address, whatever the column is called."""
    postcodes: list[object] = [f"10{10 + r % 80} {'ABCDE'[r % 5]}B" for r in range(ROWS)]
    numbers: list[object] = [1 + r * 7_919 % 293 for r in range(ROWS)]
    _, text = _plan(tmp_path, fld_7=postcodes, fld_8=numbers)
    assert "fld_8" not in str(tomllib.loads(text)["roles"])


def test_numbers_of_acts_are_left_out_though_books_repeat_them(tmp_path) -> None:
    """Each year's book has an act B001: number and year name a person together."""
    _, text = _plan(tmp_path, acte=[f"B{1 + r % 40:03}" for r in range(ROWS)])
    assert "quasi_identifiers" in text
    assert "acte" not in tomllib.loads(text)["roles"].get("quasi_identifiers", [])


def test_ids_of_places_and_occupations_are_proposed_as_quasi_identifiers(tmp_path: Path) -> None:
    """Long codes of places, which several persons share, are no identifiers; an order's are."""
    places = [str(1_100_000 + 997 * (r % 150)) for r in range(ROWS)]
    jobs = [str(110_000 + 2_311 * (r % 130)) for r in range(ROWS)]
    orders = [str(7_100_000 + 997 * (r % 150)) for r in range(ROWS)]
    columns = {"id_municipio": places, "occupation_id": jobs, "reference_id": orders}
    file, _ = _plan(tmp_path, **columns)
    found = {column.name: (column.role, column.kind) for column in _proposal_of(file).columns}
    assert found["id_municipio"] == ("quasi", "geography")
    assert found["occupation_id"] == ("quasi", "code")
    assert found["reference_id"][0] == "identifier"

"""Make the example tables that ship with Voile: people, stays and salaries that never existed.

Run ``python tools/make_example.py`` to write it again; it is the same every time.
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

PLACE = Path(__file__).parents[1] / "packages" / "voile" / "src" / "voile" / "cli" / "example"
JANUARY, FEBRUARY = 160, 200
FIRST = {
    "f": "Ada,Mina,Rosa,Lena,Ines,Yara,Noor,Edda,Tove,Saga,Kiri,Oona,Vera,Zita,Lucie,Amal",
    "m": "Otto,Karl,Emil,Jonas,Ravi,Tariq,Milan,Hugo,Bram,Ilja,Nils,Pavel,Anton,Dario,Luc,Sami",
}
LAST = (
    "Berg,Okoro,Silva,Novak,Haddad,Lind,Moreau,Conti,Weiss,Duarte,Ito,Kaya,Larsen,Popov,Quint,"
    "Rossi,Sato,Toivonen,Vidal,Walsh"
)
DEPARTMENTS = {"warehouse": 29_000, "delivery": 31_000, "office": 38_000, "engineering": 52_000}
ZIP_CODES = ["00120", "00134", "00178", "00213", "00257"]
PATIENTS = 420
ILLNESSES = {
    "asthma": (30, 24), "fracture": (45, 26), "appendicitis": (28, 14), "pneumonia": (58, 22),
    "diabetes": (61, 13), "heart failure": (70, 10), "kidney stones": (47, 13),
    "migraine": (36, 12),
}  # fmt: skip
"""Mean and spread of the age of those who have it."""
COMES_BACK, ANOTHER_ILLNESS = 0.35, 0.3


def people(rng: np.random.Generator, count: int) -> list[dict[str, object]]:
    """Draw people with a salary that grows with age and depends on the department."""
    drawn = []
    for number in range(count):
        sex = str(rng.choice(["f", "m"]))
        department = str(rng.choice(list(DEPARTMENTS), p=[0.35, 0.3, 0.2, 0.15]))
        age = int(np.clip(rng.normal(41, 12), 18, 67))
        salary = DEPARTMENTS[department] * (1 + 0.012 * (age - 18)) * rng.lognormal(0, 0.12)
        drawn.append(
            {
                "employee": f"E{number + 1001}",
                "name": f"{rng.choice(FIRST[sex].split(','))} {rng.choice(LAST.split(','))}",
                "age": age,
                "sex": sex,
                "zip": str(rng.choice(ZIP_CODES)),
                "department": department,
                "salary": round(salary / 50) * 50,
            }
        )
    return drawn


def stays(rng: np.random.Generator) -> list[dict[str, object]]:
    """Draw the stays of a year in a hospital, by day; some patients come back."""
    drawn = []
    for number in rng.permutation(PATIENTS):
        illness = str(rng.choice(list(ILLNESSES)))
        mean, spread = ILLNESSES[illness]
        patient = {
            "patient": f"P{number + 1001}",
            "age": int(np.clip(rng.normal(mean, spread), 1, 96)),
            "sex": str(rng.choice(["f", "m"])),
            "zip": str(rng.choice(ZIP_CODES)),
        }
        day = int(rng.integers(365))
        while day < 365:
            admitted = date(2025, 1, 1) + timedelta(days=day)
            drawn.append({**patient, "admitted": admitted.isoformat(), "illness": illness})
            if rng.random() > COMES_BACK:
                break
            day += int(rng.integers(5, 120))
            if rng.random() < ANOTHER_ILLNESS:
                illness = str(rng.choice(list(ILLNESSES)))
    return sorted(drawn, key=lambda stay: (stay["admitted"], stay["patient"]))


def main() -> None:
    """Write the stays; and the payroll of January, and of February with some more people."""
    table = people(np.random.default_rng(1986), FEBRUARY)
    _write("payroll-january.csv", table[:JANUARY])
    _write("payroll-february.csv", table)
    _write("stays.csv", stays(np.random.default_rng(2025)))


def _write(name: str, table: list[dict[str, object]]) -> None:
    with (PLACE / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()

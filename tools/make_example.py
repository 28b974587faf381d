"""Make the example table that ships with Voile: people and salaries that never existed.

Run ``python tools/make_example.py`` to write it again; it is the same every time.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

PLACE = Path(__file__).parents[1] / "src" / "voile" / "cli" / "example"
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


def main() -> None:
    """Write the table of January, and that of February: the same people and some more."""
    table = people(np.random.default_rng(1986), FEBRUARY)
    for month, count in (("january", JANUARY), ("february", FEBRUARY)):
        with (PLACE / f"payroll-{month}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table[:count])


if __name__ == "__main__":
    main()

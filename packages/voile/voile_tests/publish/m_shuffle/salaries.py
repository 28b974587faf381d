"""The twelve people of the paper's Table 2, and its fixed ranges (section 4.1)."""

import polars as pl

SALARIES = (5500, 5400, 2300, 2200, 1000, 2000, 3000, 4000, 5000, 2000, 3000, 1500)
ZIP_CODES = (
    13010, 13050, 13020, 13040, 13220, 13221, 13226, 13228, 14850, 14862, 14802, 14800,
)  # fmt: skip
AGES = (23, 25, 30, 31, 36, 39, 42, 45, 52, 53, 61, 64)
SEXES = tuple("FFMFFMMMFMMM")
RANGES = (2000, 3500, 5000)


def people():
    """The table, without names and jobs."""
    columns = {"zip": ZIP_CODES, "age": AGES, "sex": SEXES, "salary": SALARIES}
    return pl.DataFrame(columns)

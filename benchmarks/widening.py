"""What safety against comparing releases costs: the width of the blocks over a series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from benchmarks.data import adult_batches, olist_batches
from benchmarks.record import Measurement, Table
from benchmarks.series import Released, releases
from voile.publish.ke_anonymity.decision import KETerms
from voile.schema.numbers import ExactNumbers
from voile_base.errors import PlanError

__all__ = ["run"]

WAYS = (
    ("full-cover", "union"),
    ("full-cover", "pairwise"),
    ("exact", "pairwise"),
    ("sealed-batches", "union"),
)
ADULT = ((5, 100), (10, 100))
OLIST = ((5, 50), (20, 50))
COLUMNS = (
    "k", "e", "search", "adversary", "release", "rows", "held", "blocks", "sum of ranges",
    "mean width", "largest width",
)  # fmt: skip


def run() -> Measurement:
    """Publish both series in every way."""
    adult = [ExactNumbers.of(batch) for batch in adult_batches()]
    olist = olist_batches()
    tables = [_table("Adult", adult, ADULT), _table("Olist", olist, OLIST)]
    return Measurement(
        question="How wide do blocks become over a series, and how many rows wait?",
        data="Adult: as for incremental_speed, "
        f"{len(adult)} releases; Olist payments by month of purchase, January 2017 (with the 73 "
        f"earlier ones) to August 2018, {len(olist)} releases",
        seeds="none",
        protocol="the decision alone, on counts; widths of the first, the middle and the last "
        "release; sealed batches keep old blocks, so their ranges overlap and their sum counts "
        "each batch; static: the whole table published once, with nothing before it",
        answer=_answer(tables),
        tables=tables,
    )


def _table(
    name: str, batches: Sequence[ExactNumbers], parameters: Sequence[tuple[int, int]]
) -> Table:
    rows = [
        row for k, e in parameters for row in (_static(batches, k, e), *_ways(batches, k, e))
    ]  # fmt: skip
    return Table(f"{name}: widths over the releases", COLUMNS, rows)


def _ways(batches: Sequence[ExactNumbers], k: int, e: int) -> Iterator[list[str]]:
    for search, adversary in WAYS:
        head = [f"{k}", f"{e}", search, adversary]
        try:
            series = list(releases(batches, KETerms(k, Decimal(e), adversary, search)))
        except PlanError:
            yield [
                *head,
                "beyond what exact search affords",
                *[""] * (len(COLUMNS) - len(head) - 1),
            ]
            continue
        for number in sorted(
            {1, (len(batches) + 1) // 2, len(batches)} & {*range(len(series) + 1)}
        ):
            yield [*head, f"{number} of {len(batches)}", *_numbers(series[number - 1])]


def _static(batches: Sequence[ExactNumbers], k: int, e: int) -> list[str]:
    whole = ExactNumbers.of([number for batch in batches for number in batch.decimals()])
    (released,) = releases([whole], KETerms(k, Decimal(e), "union", "full-cover"))
    return [f"{k}", f"{e}", "static", "none", f"{len(batches)} alone", *_numbers(released)]


def _numbers(released: Released) -> list[str]:
    widths = released.widths
    return [
        f"{released.rows:,}",
        f"{released.held:,}",
        f"{len(widths):,}",
        f"{widths.sum():,.2f}".removesuffix(".00"),
        f"{widths.mean():,.1f}",
        f"{widths.max():,.2f}".removesuffix(".00"),
    ]


def _answer(tables: Sequence[Table]) -> str:
    sentences = []
    for table in tables:
        by_column = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        k, e = by_column[0]["k"], by_column[0]["e"]
        last = by_column[0]["release"].split()[0]
        ends = [
            f"{row['search']} ({row['adversary']}) {row['mean width']}, {row['held']} rows held"
            for row in by_column
            if (row["k"], row["e"]) == (k, e) and row["release"].startswith(f"{last} ")
        ]
        name = table.title.split(":")[0]
        sentences.append(
            f"{name}, k = {k}, e = {e}, mean width at the last release: {'; '.join(ends)}."
        )
    return " ".join(sentences)

"""What waiting by a rule that tells nothing costs, and what the default search gains.

Real releases by the publisher, one after another; the adversary is the one who knows Voile and when
everybody arrived (``attack.minimality``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table
from voile.attack.minimality import MinimalityAttack
from voile.publish.ke_anonymity import KEAnonymity
from voile.query import answer
from voile.release.history import History
from voile.release.release import Publication
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame
from voile_base.randomness import Randomness

__all__ = ["run"]

STATES = ("BA", "RJ")
RHYTHMS = ((7, 2, 50), (14, 3, 100))
"""Days between releases, k and e."""
MONTHLY = (5, 100)
SEARCHES = ("full-cover", "sealed-batches", "narrow-batches")
SHARES = (0.005, 0.02, 0.1, 0.3)
QUERIES = 40
DRAWN = 1_000_000
PLAN = Plan(
    Roles(
        quasi_identifiers=("row", "payment_type", "payment_installments", "drawn"),
        sensitive=("payment_value",),
    )
)
RULES: tuple[int | Literal["until-valid"] | None, ...] = ("until-valid", None)


def run() -> Measurement:
    """Publish payments of two states by days, and all payments by months."""
    payments = _payments()
    waiting = [row for state in STATES for row in _state_rows(payments, state)]
    widths = list(_width_rows(payments))
    new = [row for row in waiting if row[4] != "until-valid"]
    old = [row for row in waiting if row[4] == "until-valid"]
    ratios = [
        float(cell) / float(first)
        for cell, first in zip(widths[-1][2:], widths[0][2:], strict=True)
    ]
    return Measurement(
        question="How long do rows wait by a rule that tells nothing, and how wide are answers?",
        data="Olist payments of customers in Bahia and Rio de Janeiro by day of purchase; all "
        "payments by month, the few of 2016 with January 2017, September and October 2018 left out",
        seeds="0 for what is drawn",
        protocol="the publisher itself, releases at the end of each period until the last "
        "purchase; the adversary of `minimality` has all releases and knows before which release "
        "each row arrived; rows that never appear count as waiting until the last release. Widths: "
        f"bounds of AVG after the last month over {QUERIES} random sets of each share of all rows, "
        "and over each kind of payment",
        answer=(
            f"Under the earlier rule {' / '.join(row[6] for row in old)} people are narrowed down, "
            f"under the new one {' / '.join(row[6] for row in new)}; rows wait "
            f"{' / '.join(row[7] for row in old)} days in the mean, now "
            f"{' / '.join(row[7] for row in new)}, and {' / '.join(row[10] for row in new)} rows "
            "are set aside. The default's bounds of AVG are "
            f"{min(ratios):.2f} to {max(ratios):.2f} of full cover's."
        ),
        tables=[
            Table(
                "Payments of a state, by the rule by which rows wait",
                ("state", "days", "k", "e", "batch", "rows", "people narrowed", "mean delay",
                 "longest delay", "still waiting", "set aside"),
                waiting,
            ),
            Table(
                "All payments by month, k = 5, e = 100: mean width of the bounds of AVG at the end",
                ("search", "groups", *(f"{share:.1%} of rows" for share in SHARES),
                 "by kind of payment"),
                widths,
            ),
        ],
    )  # fmt: skip


def _payments() -> pl.DataFrame:
    """Payments with the day of their purchase and the state of the customer."""
    payments, orders, customers = (
        pl.read_csv(shared_file(f"releases/olist-{name}.csv"), infer_schema_length=None)
        for name in ("payments", "orders", "customers")
    )
    joined = payments.join(orders, on="order_id").join(customers, on="customer_id")
    drawn = np.random.default_rng(0).integers(0, DRAWN, joined.height)
    day = pl.col("order_purchase_timestamp").str.slice(0, 10).str.to_date()
    return joined.with_columns(day=day, drawn=drawn).sort("day", "order_id", "payment_sequential")


@dataclass(frozen=True, eq=False)
class _Grown:
    """A table whose rows arrive in periods."""

    rows: pl.DataFrame
    period: np.ndarray[Any, np.dtype[np.int64]]
    """Shape (n,): the release before which each row arrives, from 1."""

    def releases(self, publisher: KEAnonymity) -> Iterator[Publication]:
        """Publish after each period."""
        history: History | None = None
        shown = self.rows.select(*PLAN.roles.quasi_identifiers, "payment_value")
        for number in range(1, int(self.period.max()) + 1):
            table = open_frame(shown.filter(self.period <= number), PLAN, record_key="row")
            made = publisher.prepare(table, Randomness.seeded(number), history)
            history = made.history
            yield made


def _grown(payments: pl.DataFrame, periods: Sequence[int]) -> _Grown:
    """Rows numbered from 0, with what is drawn for queries."""
    rows = payments.drop("row", strict=False).with_row_index("row")
    return _Grown(rows, np.asarray(periods, dtype=np.int64))


def _state_rows(payments: pl.DataFrame, state: str) -> Iterator[list[str]]:
    chosen = payments.filter(pl.col("customer_state") == state)
    days = chosen["day"].to_physical().to_numpy()
    for every, k, e in RHYTHMS:
        periods = (days - days[0]) // every + 1
        values = chosen["payment_value"].to_numpy()
        for rule in RULES:
            least = k if rule == "until-valid" else 2 * k
            # A series begins when a release of all rows is feasible.
            first = next(
                n for n in range(1, int(periods.max()) + 1)
                if (periods <= n).sum() >= least and _valid(values[periods <= n], k, e)
            )  # fmt: skip
            grown = _grown(chosen, np.maximum(periods - first + 1, 1))
            publisher = KEAnonymity(k, e, "pay", "row", search="sealed-batches", batch=rule)
            made = list(grown.releases(publisher))
            yield [state, f"{every}", f"{k}", f"{e}", f"{rule or 2 * k}", f"{chosen.height:,}",
                   *_outcome(grown, made, days, days[0] + every * first, every)]  # fmt: skip


def _valid(values: Any, k: int, e: int) -> bool:
    return len(np.unique(values)) >= k and bool(values.max() - values.min() >= e)


def _outcome(
    grown: _Grown, made: Sequence[Publication], days: Any, first: int, every: int
) -> list[str]:
    """People narrowed; mean and longest delay; rows that still wait, and that are set aside."""
    born = np.full(len(days), len(made))
    for number, publication in reversed(list(enumerate(made))):
        born[publication.release.to_native()["row"].to_numpy()] = number
    delay = first + every * np.minimum(born, len(made) - 1) - days
    releases = [publication.release for publication in reversed(made)]
    people = grown.rows.with_columns(arrived=grown.period)
    found = MinimalityAttack(earlier=releases[1:], arrived="arrived").run(releases[0], people)
    last = made[-1].private
    return [
        f"{round(found.success.value * found.targets):,}",
        f"{delay.mean():.1f}",
        f"{delay.max():,}",
        f"{last.held:,}",
        f"{last.suppressed:,}",
    ]


def _width_rows(payments: pl.DataFrame) -> Iterator[list[str]]:
    chosen = payments.filter(pl.col("day") < pl.date(2018, 9, 1))
    month = chosen["day"].dt.strftime("%Y-%m")
    months = sorted({max(name, "2017-01") for name in month})
    grown = _grown(chosen, [months.index(max(name, "2017-01")) + 1 for name in month])
    k, e = MONTHLY
    for search in SEARCHES:
        *_, last = grown.releases(KEAnonymity(k, e, "pay", "row", search=search))  # type: ignore[arg-type]
        release = last.release
        step = [int(share * DRAWN) for share in SHARES]
        means = [
            np.mean([_width(release, f"drawn >= {low} AND drawn < {low + wide}")
                     for low in np.linspace(0, DRAWN - wide, QUERIES, dtype=int)])
            for wide in step
        ]  # fmt: skip
        kinds = sorted(set(chosen["payment_type"]))
        kind = np.mean([_width(release, f"payment_type = '{name}'") for name in kinds])
        groups = last.private.decision["blocks"]
        yield [search, f"{groups:,}", *(f"{mean:.1f}" for mean in [*means, kind])]


def _width(release: Any, where: str) -> float:
    found = answer(release, "AVG(payment_value)", where)
    return float(found.upper) - float(found.lower)

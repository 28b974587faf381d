"""A peer's side of the league, run in the peer's own environment: rows in, synthetic rows out."""

# ruff: noqa: PLC0415 - each peer loads its own package alone

from __future__ import annotations

import sys


def main(name: str, rows: str, made: str, seed: str) -> None:
    """Make the file of a peer."""
    {"copulas": _copulas, "OpenDP": _opendp}[name.partition(" ")[0]](name, rows, made, int(seed))


def _copulas(name: str, rows: str, made: str, seed: int) -> None:
    import numpy as np
    import pandas as pd
    from copulas.multivariate import GaussianMultivariate

    del name
    np.random.seed(seed)  # noqa: NPY002 - what the peer draws with
    table = pd.read_csv(rows)
    model = GaussianMultivariate()
    model.fit(table)
    drawn = model.sample(len(table))
    for column in table:
        drawn[column] = drawn[column].round().clip(table[column].min(), table[column].max())
    drawn.astype(int).to_csv(made, index=False)


def _opendp(name: str, rows: str, made: str, seed: int) -> None:
    import opendp.prelude as dp
    import polars as pl

    del seed  # the library draws by itself
    dp.enable_features("contrib")
    table = pl.read_csv(rows)
    keys = {column: table[column].unique().sort().to_list() for column in table.columns}
    context = dp.Context.compositor(
        data=table.lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=float(name.rpartition(" ")[2]), delta=1e-6),
        split_evenly_over=1,
    )
    query = context.query().contingency_table(keys=keys, algorithm=dp.mbi.MST())
    query.release().synthesize(len(table)).select(table.columns).write_csv(made)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A peer's side of the league, run in the peer's own environment: rows in, synthetic rows out."""

# ruff: noqa: PLC0415 - each peer loads its own package alone

from __future__ import annotations

import sys
from typing import Any


def main(name: str, rows: str, made: str, seed: str) -> None:
    """Make the file of a peer; its name begins with the package, and ends with its epsilon."""
    peer = next(peer for start, peer in _PEERS.items() if name.startswith(start))
    peer(name, rows, made, int(seed))


def _opendp(name: str, rows: str, made: str, seed: int) -> None:
    import opendp.prelude as dp
    import polars as pl

    del seed  # the library draws by itself
    dp.enable_features("contrib")
    _select_within_budget()
    table = pl.read_csv(rows, infer_schema=False)
    keys = {column: table[column].unique().sort().to_list() for column in table.columns}
    context = dp.Context.compositor(
        data=table.lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(**{"rho" if ", rho " in name else "epsilon": _epsilon(name)}),
        split_evenly_over=1,
    )
    query = context.query().contingency_table(keys=keys, algorithm=dp.mbi.MST())
    drawn = query.release().synthesize(len(table)).select(table.columns)
    # a value outside of the keys is null: the row above stands in, which costs nothing
    drawn.fill_null(strategy="forward").fill_null(strategy="backward").write_csv(made)


def _select_within_budget() -> None:
    """Have MST choose its pairs with a billionth less than is set aside for them.

    OpenDP 0.16 divides the budget by the number of pairs and adds it up again, rounded upwards; the
    sum of eight is above what was divided, and refused ("insufficient budget for query").
    """
    from opendp.extras.mbi import _mst

    select: Any = _mst._make_mst_select

    def with_less(*given: Any, d_out: float, **rest: Any) -> Any:
        return select(*given, d_out=d_out * (1 - 1e-9), **rest)

    _mst._make_mst_select = with_less


def _smartnoise(name: str, rows: str, made: str, seed: int) -> None:
    import numpy as np
    import pandas as pd
    from snsynth import Synthesizer

    np.random.seed(seed)  # noqa: NPY002 - what the peer draws with
    table = pd.read_csv(rows, dtype=str, keep_default_na=False)
    kind = name.split()[1].rstrip(",").lower()
    maker = Synthesizer.create(kind, epsilon=_epsilon(name), **_delta(name))
    drawn = maker.fit_sample(table, categorical_columns=list(table.columns), preprocessor_eps=0.0)
    drawn.to_csv(made, index=False)


def _dpmm(name: str, rows: str, made: str, seed: int) -> None:
    import numpy as np
    import pandas as pd
    from dpmm.models.aim import AIMGM

    table = pd.read_csv(rows, dtype=str, keep_default_na=False)
    values = {column: sorted(table[column].unique()) for column in table.columns}
    codes = pd.DataFrame({c: pd.Categorical(table[c], values[c]).codes for c in values}).astype(int)
    domain = {column: len(listed) for column, listed in values.items()}
    model = AIMGM(epsilon=_epsilon(name), delta=1e-6, domain=domain, n_jobs=1)
    model.set_domain(domain)
    model.set_random_state(np.random.RandomState(seed))
    model.fit(codes)
    drawn = model.generate(n_records=len(table))
    for column, listed in values.items():
        drawn[column] = [listed[code] for code in drawn[column]]
    drawn[list(values)].to_csv(made, index=False)


def _sdv(name: str, rows: str, made: str, seed: int) -> None:
    import pandas as pd
    import torch
    from sdv.metadata import Metadata
    from sdv.single_table import CTGANSynthesizer, GaussianCopulaSynthesizer

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    table = pd.read_csv(rows)
    texts = [column for column in table.columns if column != "AGEP"]
    table[texts] = table[texts].astype(str)
    kinds = {column: {"sdtype": "categorical"} for column in texts}
    metadata = Metadata.load_from_dict(
        {"tables": {"people": {"columns": {"AGEP": {"sdtype": "numerical"}, **kinds}}}}
    )
    synthesizer: Any = (
        CTGANSynthesizer(metadata, enable_gpu=False)
        if "CTGAN" in name
        else GaussianCopulaSynthesizer(metadata)
    )
    synthesizer.fit({"people": table})
    drawn = synthesizer.sample(len(table))
    drawn["people"][list(table.columns)].to_csv(made, index=False)


def _ctgan(name: str, rows: str, made: str, seed: int) -> None:
    """As many rows as there are, of a network that saw so few of them, so often."""
    import numpy as np
    import pandas as pd
    import torch
    from ctgan import CTGAN

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    np.random.seed(seed)  # noqa: NPY002 - what the peer draws with
    few, epochs = (int(part.split()[0]) for part in name.split(", ")[1:])
    table = pd.read_csv(rows, dtype=str, keep_default_na=False)
    seen = table.sample(few, random_state=seed)
    maker = CTGAN(epochs=epochs, batch_size=few // 2, pac=1, enable_gpu=False)
    maker.fit(seen, discrete_columns=list(table.columns))
    maker.sample(len(table)).to_csv(made, index=False)


def _epsilon(name: str) -> float:
    return float(name.rpartition(" ")[2])


def _delta(name: str) -> dict[str, float]:
    """That of a name; none where it has none, and the package its own."""
    stated = name.partition("delta ")[2].partition(",")[0]
    return {"delta": float(stated)} if stated else {}


_PEERS = {"OpenDP": _opendp, "SmartNoise": _smartnoise, "SDV": _sdv, "dpmm": _dpmm, "CTGAN": _ctgan}

if __name__ == "__main__":
    main(*sys.argv[1:])

"""SDNist's side of the league, run in its own environment: its figures of local files.

Its report downloads the tables that it knows; its metrics and the bins before them do not.
"""

# ruff: noqa: PLC0415 - it is loaded in its own environment alone

from __future__ import annotations

import json
import sys

NUMBERS = ["AGEP"]


def main(original: str, *files: str) -> None:
    """Print the figures of each file as one line of JSON."""
    import numpy as np
    import pandas as pd
    import sdnist.report  # noqa: F401 - metrics and report import each other: report goes first
    from sdnist.metrics.kmarginal import KMarginal
    from sdnist.metrics.pearson_correlation import PearsonCorrelationDifference
    from sdnist.report.dataset.binning import percentile_rank_synthetic, percentile_rank_target

    target = pd.read_csv(original)
    binned = percentile_rank_target(target, NUMBERS)
    found = []
    for file in files:
        rows = pd.read_csv(file)
        marginals = KMarginal(binned, percentile_rank_synthetic(rows, target, binned, NUMBERS))
        pearson = PearsonCorrelationDifference(target, rows, target.columns.tolist())
        pearson.compute()
        apart = np.abs(pearson.pp_corr_diff.to_numpy())
        pairs = np.triu_indices(len(apart), 1)
        figures = {"pairs": marginals.compute_score(), "correlation": apart[pairs].mean()}
        found.append({name: float(figure) for name, figure in figures.items()})
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

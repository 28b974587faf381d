"""SDMetrics' side of its own example, run in its own environment: its metrics of local files.

Of attackers who know columns and name another it is counted how often each is right.  SDMetrics'
scores of them cannot be compared: of numbers they are mean distances, and of values they are held
against guessing one of all values alike, which calls every skewed column a risk.  A number is right
in the same tenth of the range, or within a twentieth of it: the range that an audit takes, of the
published numbers without the lowest and the highest in 100.
"""

# ruff: noqa: PLC0415 - it is loaded in its own environment alone

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from warnings import filterwarnings

ID = "student_id"
_PARTS = 10
"""Parts of a number's range, of equal width: what SDMetrics takes for a value."""


def main(original: str, control: str, *files: str) -> None:
    """Print the figures of each file as one line of JSON; without any, write the example's files.

    ``control`` is a dash where there is none.
    """
    filterwarnings("ignore")
    if not files:
        _example(Path(original), Path(control))
        return
    sides = [original] if control == "-" else [original, control]
    people, metadata = [_read(side) for side in sides], _metadata()
    found = []
    for file in files:
        rows = _read(file)[people[0].columns.tolist()]
        found.append(_whole(rows, people, metadata) | {"inference": _inference(rows, people)})
    print(json.dumps(found))


def _example(original, released):
    """The table that ships with SDMetrics, and the file that its CTGAN made of it."""
    from sdmetrics.demos import load_single_table_demo

    real, synthetic, _ = load_single_table_demo()
    for tables, path in ((real, original), (synthetic, released)):
        tables["student_placements"].drop(columns=ID).to_csv(path, index=False)


def _metadata():
    from sdmetrics.demos import load_single_table_demo

    table = load_single_table_demo()[2]["tables"]["student_placements"]
    del table["columns"][ID], table["primary_key"]
    return {"tables": {"people": table}, "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1"}


def _read(file):
    import pandas as pd

    table = pd.read_csv(file)
    for name in table.columns:
        if name.endswith("_date"):
            table[name] = pd.to_datetime(table[name])
    return table


def _whole(rows, people, metadata):
    """Metrics of whole rows."""
    from sdmetrics.single_table import (
        DCRBaselineProtection,
        DCROverfittingProtection,
        NewRowSynthesis,
    )

    own, *others = people
    texts = [table.copy() for table in (own, rows)]
    for table in texts:
        for name in table.columns:
            if name.endswith("_date"):
                table[name] = table[name].dt.strftime("%Y-%m-%d")
    plain = metadata["tables"]["people"]
    found = {
        "same rows": 1 - NewRowSynthesis.compute(*texts, plain),
        "baseline": DCRBaselineProtection.compute(own, rows, metadata, "people"),
    }
    if others:
        found["overfitting"] = DCROverfittingProtection.compute_breakdown(
            own, rows, others[0], metadata, "people"
        )["synthetic_data_percentages"]["closer_to_training"]
    return found


def _inference(rows, people):
    """How often each attacker names each column of the people of each side, knowing the others.

    Of learners of values the known columns are those of values, and of learners of numbers those of
    numbers, as SDMetrics demands; of the others all.
    """
    import pandas as pd
    from sdmetrics.single_table import privacy

    numbers = [name for name in rows if people[0][name].dtype.kind in "ifM"]
    values = [name for name in rows if name not in numbers]
    every = [*people, rows]
    ordered = [table[numbers].apply(_as_numbers) for table in every]
    low, high = (ordered[-1].quantile(share) for share in (0.01, 0.99))
    width = (high - low) / _PARTS
    parts = [((table - low) // width).clip(0, _PARTS - 1) for table in ordered]
    cells = [
        pd.concat([part.astype(str), table[values].astype(str)], axis=1)
        for part, table in zip(parts, every, strict=True)
    ]
    filled = [table.fillna(ordered[-1].median()) for table in ordered]

    def asked(wanted):
        for name, metric in _of_rows(privacy).items():
            known = [one for one in rows if one != wanted]
            yield name, metric, known, cells, cells, lambda own, told: own == told
        for name, metric in _of_values(privacy).items():
            known = [one for one in values if one != wanted]
            yield name, metric, known, cells, cells, lambda own, told: own == told
        for name, metric in _of_numbers(privacy).items():
            known = [one for one in numbers if one != wanted]
            if wanted in numbers:
                reach = float(width[wanted]) / 2
                yield (
                    name,
                    metric,
                    known,
                    filled,
                    ordered,
                    (lambda own, told, reach=reach: abs(own[0] - told[0]) <= reach),
                )

    return {
        wanted: {name: _rates(wanted, *each) for name, *each in asked(wanted)} for wanted in rows
    }


def _of_rows(privacy):
    """Without plain CAP, which tells only of people who have a row, and zero CAP of all."""
    return {
        "zero CAP": privacy.CategoricalZeroCAP,
        "generalized CAP": privacy.CategoricalGeneralizedCAP,
    }


def _of_values(privacy):
    return {
        "neighbours": privacy.CategoricalKNN,
        "Bayes": privacy.CategoricalNB,
        "forest": privacy.CategoricalRF,
        "vectors": privacy.CategoricalSVM,
    }


def _of_numbers(privacy):
    return {
        "regression": privacy.NumericalLR,
        "network": privacy.NumericalMLP,
        "vectors of numbers": privacy.NumericalSVR,
    }


def _rates(wanted, metric, known, tables, truths, right):
    """How often an attacker is right of the people of each side."""
    attacker = metric.MODEL(**metric.MODEL_KWARGS)
    attacker.fit(tables[-1], known, [wanted])
    found = []
    for table, truth in zip(tables[:-1], truths[:-1], strict=True):
        keys = table[known].itertuples(index=False, name=None)
        own = truth[[wanted]].itertuples(index=False, name=None)
        told = partial(_told, attacker, right)
        score = attacker.score if metric.__name__.endswith("CAP") else told
        each = [score(key, value) for key, value in zip(keys, own, strict=True)]
        found.append(sum(map(float, each)) / len(each))
    return found


def _told(attacker, right, key, own):
    told = attacker.predict(key)
    return told is not None and right(own, told)


def _as_numbers(column):
    import numpy as np

    if column.dtype.kind != "M":
        return column.astype(float)
    days = column.to_numpy().astype("datetime64[D]").astype(float)
    days[column.isna().to_numpy()] = np.nan
    return days


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What peers take for one task, run by the Python of their own environment: not part of Voile.

``python peer_side.py TASK TABLE FOLDER_OF_HIERARCHIES`` prints one JSON object: processor seconds
of the task, warm and without imports, and what came out.  Each task is done twice: on the first
2,000 rows, which is not timed, and on the table.
"""

# ruff: noqa: PLC0415 - each task loads its own package alone

import json
import sys
import time
from pathlib import Path

import pandas as pd

SENSITIVE = "occupation"
K = 5
WARM = 2000


def anjana_k(table, hierarchies):
    """Full-domain generalization, no suppression; the number of groups."""
    from anjana.anonymity import k_anonymity

    levels = {
        column: {level: values[level].to_numpy() for level in values}
        for column, values in hierarchies.items()
    }
    shown = k_anonymity(table.copy(), [], list(table.columns), K, 0, levels)
    return {"groups": len(shown.drop_duplicates()), "rows": len(shown)}


def measure_k(table, hierarchies):
    """The smallest group."""
    from pycanon.anonymity import k_anonymity

    return {"k": int(k_anonymity(table, known(table)))}


def measure_l(table, hierarchies):
    """The fewest different sensitive values of a group."""
    from pycanon.anonymity import l_diversity

    return {"l": int(l_diversity(table, known(table), [SENSITIVE]))}


def measure_t(table, hierarchies):
    """The largest distance of a group from all rows."""
    from pycanon.anonymity import t_closeness

    return {"t": float(t_closeness(table, known(table), [SENSITIVE]))}


def anonypy_mondrian(table, hierarchies):
    """Mondrian on numbers and categories; the number of groups."""
    import anonypy

    table = table.copy()
    for column in table.columns:
        if table[column].dtype == object:
            table[column] = table[column].astype("category")
    rows = anonypy.Preserver(table, known(table), SENSITIVE).anonymize_k_anonymity(k=K)
    shown = {tuple(str(row[column]) for column in known(table)) for row in rows}
    return {"groups": len(shown), "rows": int(sum(row["count"] for row in rows))}


def umbra_mondrian(table, hierarchies):
    """Mondrian on numbers and texts; the number of groups."""
    from umbra_k import MondrianAnonymizer

    shown = MondrianAnonymizer(k=K, quasi_id=known(table)).fit(table).transform(table)
    return {"groups": len(shown[known(table)].drop_duplicates()), "rows": len(shown)}


def known(table):
    """The quasi-identifiers: all but the sensitive column."""
    return [column for column in table.columns if column != SENSITIVE]


TASKS = {
    task.__name__: task
    for task in (anjana_k, measure_k, measure_l, measure_t, anonypy_mondrian, umbra_mondrian)
}


def main(name, file, folder):
    """Do one task and print what it took."""
    table = pd.read_csv(file, sep=";")
    hierarchies = {
        column: pd.read_csv(Path(folder) / f"{column}.csv", sep=";", header=None)
        for column in table.columns
    }
    task = TASKS[name]
    task(table.head(WARM).copy(), hierarchies)
    started = time.process_time()
    found = task(table, hierarchies)
    print(json.dumps({"seconds": time.process_time() - started, **found}))


if __name__ == "__main__":
    main(*sys.argv[1:])

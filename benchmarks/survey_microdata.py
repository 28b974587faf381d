"""What methods for survey microdata cost: a million rows, and sdcMicro on the same machine.

sdcMicro runs as a whole process of R, where it is installed with the packages that it needs; it is
measured from outside, and nothing of it is part of this repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.data import shared_file
from benchmarks.process import Usage, voile_publish
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

ROWS, SEED, TIMES = 1_000_000, 5, 2
MOST_TIME, MOST_MEMORY = 3.0, 1.5
GENERATE = """
import sys, numpy as np, polars as pl
rows, seed, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
d = np.random.default_rng(seed)
age = d.integers(17, 91, rows)
income = (age * 600 * d.lognormal(0, 0.5, rows)).round().astype(int) // 100 * 100
pl.DataFrame({
    "age": age, "hours": d.integers(1, 100, rows), "edu": d.integers(1, 17, rows),
    "income": income, "score": d.integers(0, 1000, rows), "sex": d.choice(["f", "m"], rows),
    "race": d.choice(list("abcde"), rows, p=[0.8, 0.1, 0.05, 0.03, 0.02]),
    "work": d.choice([f"w{i}" for i in range(8)], rows),
    "state": d.choice([f"s{i:02d}" for i in range(50)], rows),
    "ill": d.choice([f"i{i}" for i in range(20)], rows),
}).write_parquet(path)
"""
KNOWN = '"age", "hours", "edu", "income", "score", "sex", "race", "work", "state"'
FEW = '"edu", "sex", "race", "work", "state"'
"""What is known for local suppression: with nine columns every row is alone."""
ROLES = """
[roles]
person = "row"
quasi_identifiers = [{known}]
sensitive = ["ill"]
[columns]
age = {{ bounds = [17, 90], intervals = {{ origin = 15, widths = [5, 10, 20, 40] }} }}
hours = {{ bounds = [1, 99], intervals = {{ origin = 0, widths = [10, 20, 50] }} }}
edu = {{ bounds = [1, 16], intervals = {{ origin = 0, widths = [2, 4, 8] }} }}
income = {{ bounds = [0, 10000000], intervals = {{ origin = 0, widths = [10000, 50000, 100000] }} }}
score = {{ bounds = [0, 999], intervals = {{ origin = 0, widths = [50, 100, 250] }} }}
{steps}
[method]
{method}
"""
GENERALIZATION = 'name = "generalization"\nk = 5\nalgorithm = "mondrian"'
METHODS = {
    "pram, 4 columns": 'name = "pram"\ncolumns = ["sex", "race", "work", "state"]',
    "noise, added, 5 columns": 'name = "noise"\namount = 0.1',
    "noise, correlated, 5 columns": 'name = "noise"\namount = 0.1\nkind = "correlated"',
    "rank swapping, 5 columns": 'name = "rank-swapping"\ndistance = 0.05',
    "shuffling, 2 of 9 columns": 'name = "shuffling"\ncolumns = ["income", "score"]',
    "record swapping": 'name = "record-swapping"\nrate = 0.05\ncarried = ["state"]\n'
    'match = ["sex", "work"]\nkeys = ["age", "race"]',
    "microaggregation, 9 columns by blocks": 'name = "microaggregation"\nk = 5',
    "local suppression, 5 columns": 'name = "local-suppression"\nk = 3',
    "coding of 5 columns, then generalization": GENERALIZATION,
}
CODED = "".join(
    f'[[steps]]\nkind = "top-coding"\ncolumns = ["{name}"]\nshare = 0.1\n'
    f'[[steps]]\nkind = "rounding"\ncolumns = ["{name}"]\nbase = 2\n'
    for name in ("age", "hours", "edu", "income", "score")
)
KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
_R = "suppressMessages(library(sdcMicro)); d <- read.csv('{file}'); k <- c({keys}); "
PEERS = {
    "local suppression, k = 3": (
        _R + "r <- localSuppression(d, keyVars = k, k = 3); write.csv(r$xAnon, '{out}')",
        f'[roles]\nperson = "row"\nquasi_identifiers = {KEYS}\n[method]\n'
        'name = "local-suppression"\nk = 3\n',
    ),
    "risk and SUDA": (
        _R + "s <- createSdcObj(d, keyVars = k, weightVar = 'sampling_weight', hhId = 'ori_hid'); "
        "print(s, 'risk'); print(suda2(d, variables = k))",
        f'[roles]\nhousehold = "ori_hid"\nquasi_identifiers = {KEYS}\nweight = "sampling_weight"\n',
    ),
}


def run() -> Measurement:
    """Generate the table, and run whole processes one after another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = _sdcmicro()
        own = dict(_methods(folder))
        peers = list(_peers(folder)) if peer else []
    time, memory = (own["generalization"][0], own["generalization"][1])
    ratios = {n: (t / time, m / memory) for n, (t, m) in own.items() if n != "generalization"}
    slowest, largest = (max(ratios, key=lambda n, at=at: ratios[n][at]) for at in (0, 1))
    targets = [
        Target("processor time, a million rows", f"at most {MOST_TIME} times generalization",
               f"{ratios[slowest][0]:.2f} times ({slowest})", ratios[slowest][0] <= MOST_TIME),
        Target("peak memory, a million rows", f"at most {MOST_MEMORY} times generalization",
               f"{ratios[largest][1]:.2f} times ({largest})", ratios[largest][1] <= MOST_MEMORY),
        *(Target(f"processor time, {what}", "below sdcMicro's",
                 f"{ours:.2f} s, there {theirs:.2f} s", ours < theirs)
          for what, ours, theirs in peers),
    ]  # fmt: skip
    return Measurement(
        question="What do methods for survey microdata cost, beside generalization and sdcMicro?",
        data=f"{ROWS:,} synthetic rows of 10 columns; the household survey of 4,580 rows",
        seeds=f"table {SEED}; releases unseeded",
        protocol=f"whole processes; user + system time and peak resident set by wait4; medians of "
        f"{TIMES}; {peer or 'no sdcMicro here'}, its start and the reading of the file included; "
        "ours estimates uniques of the population and fits a log-linear model besides",
        answer=f"At most {ratios[slowest][0]:.2f} times the processor time and "
        f"{ratios[largest][1]:.2f} times the memory of generalization.",
        targets=targets,
        tables=[
            Table(
                "A million rows",
                ("method", "processor", "times", "memory", "times"),
                [
                    [n, f"{t:.2f} s", f"{t / time:.2f}", f"{m:,.0f} MiB", f"{m / memory:.2f}"]
                    for n, (t, m) in own.items()
                ],
            ),
            Table(
                "sdcMicro on the household survey",
                ("what", "Voile", "sdcMicro"),
                [[what, f"{ours:.2f} s", f"{theirs:.2f} s"] for what, ours, theirs in peers],
            ),
        ],
    )


def _sdcmicro() -> str | None:
    """The versions of sdcMicro and R; None where they are not installed."""
    if shutil.which("Rscript") is None:
        return None
    asked = "cat('sdcMicro', format(packageVersion('sdcMicro')), 'with', R.version.string)"
    done = subprocess.run(["Rscript", "-e", asked], check=False, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def _methods(folder: Path) -> Iterator[tuple[str, tuple[float, float]]]:
    """Seconds and MiB of each method."""
    source, out = folder / "people.parquet", folder / "out"
    subprocess.run([sys.executable, "-c", GENERATE, f"{ROWS}", f"{SEED}", f"{source}"], check=True)
    for name, method in {"generalization": GENERALIZATION, **METHODS}.items():
        plan = folder / "plan.toml"
        known = FEW if name.startswith("local suppression") else KNOWN
        steps = CODED if name.startswith("coding") else ""
        plan.write_text(ROLES.format(known=known, steps=steps, method=method))
        taken = []
        for _ in range(TIMES):
            taken.append(Usage.of(voile_publish(source, plan, out)))
            shutil.rmtree(out)
        yield name, (median(it.processor for it in taken), median(it.memory for it in taken))


def _peers(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Seconds of ours and of sdcMicro's process."""
    file, out = shared_file("census/household-testdata.csv"), folder / "peer"
    keys = ", ".join(f"'{key}'" for key in KEYS)
    voile = f"{Path(sys.executable).parent / 'voile'}"
    for what, (script, text) in PEERS.items():
        plan = folder / "peer.toml"
        plan.write_text(text)
        ours, theirs = [], []
        called = [voile, "inspect", f"{file}", "--plan", f"{plan}"]
        if "[method]" in text:
            called = voile_publish(file, plan, out)
        said = script.format(file=file, keys=keys, out=folder / "peer.csv")
        for _ in range(TIMES):
            ours.append(Usage.of(called).processor)
            shutil.rmtree(out, ignore_errors=True)
            theirs.append(Usage.of([f"{shutil.which('Rscript')}", "-e", said]).processor)
        yield what, median(ours), median(theirs)

"""The files of the league: the two ends, those of Voile's methods, and those of peers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import voile
from benchmarks import league_side
from benchmarks.data import shared_file
from voile.schema.plan import Plan, parse_plan

__all__ = [
    "COLUMNS",
    "ENVIRONMENTS",
    "FAILED",
    "KNOWN",
    "PEERS",
    "SENSITIVE",
    "Files",
    "ends",
    "every_file",
    "of_peer",
    "of_voile",
    "peers_folder",
    "people",
    "python_of",
    "reason",
    "run_in",
]

_FOLDER = "VOILE_BENCHMARK_LEAGUE"
FAILED = (OSError, subprocess.SubprocessError, pl.exceptions.PolarsError)
"""What is raised where a peer cannot be had, or its file not read."""
COLUMNS = ("AGEP", "SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "EDU", "PINCP_DECILE")
KNOWN, SENSITIVE = COLUMNS[:-1], COLUMNS[-1]
ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "opendp": ("opendp[polars,mbi]==0.16.0", "pandas<3"),
    "smartnoise": ("smartnoise-synth==1.0.8",),
    "sdv": ("sdv==2.0.0",),
    "ctgan": ("ctgan==0.12.1",),
    "dpmm": ("dpmm==0.1.9",),
    "sdnist": ("sdnist==2.4.0",),
    "sdmetrics": ("sdmetrics==0.32.0",),
}
"""Virtual environments, and what is installed in each."""
PEERS: Mapping[str, str] = {
    "OpenDP MST, epsilon 1": "opendp",
    "OpenDP MST, epsilon 10": "opendp",
    "SmartNoise MST, epsilon 1": "smartnoise",
    "SmartNoise MST, epsilon 10": "smartnoise",
    "SmartNoise AIM, epsilon 1": "smartnoise",
    "SDV Gaussian copula": "sdv",
    "SDV CTGAN": "sdv",
}
"""Files of peers by the environment that makes them; ``league_side`` does."""
_SECONDS = 900
"""For installing a peer, and for one of its files."""

Files = dict[str, tuple[str, pl.DataFrame]]


def people(year: str, rows: int, seed: int) -> pl.DataFrame:
    """People of a year whose income is known, so many of them."""
    table = pl.read_csv(shared_file(f"census/nist-acs-ma{year}.csv"), infer_schema_length=None)
    known = table.filter(pl.col(SENSITIVE) != "N").select(
        pl.col(COLUMNS).cast(pl.String).replace("N", "-1").cast(pl.Int64)
    )
    return known.sample(rows, seed=seed, shuffle=True)


def every_file(original: pl.DataFrame, seed: int) -> tuple[Files, list[str]]:
    """All files, and peers that made none, with the reason."""
    files = {**ends(original, seed), **of_voile(original, seed)}
    left_out = []
    for name in PEERS:
        try:
            files[name] = "peer", of_peer(name, original, seed)
        except FAILED as error:
            left_out.append(f"{name} ({reason(error)})")
    return files, left_out


def ends(original: pl.DataFrame, seed: int) -> Files:
    """A copy, and columns drawn each by itself."""
    draws = np.random.default_rng(seed)
    drawn = {name: draws.choice(original[name].to_numpy(), original.height) for name in COLUMNS}
    return {
        "untouched copy": ("end", original),
        "independent marginals": ("end", pl.DataFrame(drawn)),
    }


def of_voile(original: pl.DataFrame, seed: int) -> Files:
    """Voile's methods for tables at several settings; those for trips have none to publish."""
    plain = {"quasi_identifiers": [*KNOWN], "sensitive": [SENSITIVE]}
    made: list[tuple[str, Any, Plan]] = [
        *((f"k-anonymity, k = {k}", voile.Generalization(k=k), _plan(plain)) for k in (3, 10, 30)),
        *(
            (
                f"ARX's optimum, rebuilt, k = {k}",
                voile.Generalization(k=k, algorithm="flash", suppression_limit=0.05),
                _plan(plain, _HIERARCHIES),
            )
            for k in (3, 10)
        ),
        *(
            (
                f"DP generalization, epsilon {epsilon}",
                voile.DPGeneralization(k=40, epsilon=epsilon, beta=0.3),
                _plan(plain, _HIERARCHIES | _DECILES),
            )
            for epsilon in (3, 6)
        ),
        *((f"(k,e), k = {k}", voile.KEAnonymity(k=k, e=k - 1), _plan(plain)) for k in (3, 6)),
        *(
            (f"M-Shuffle, columns = {m}", voile.MShuffle(clusters=5, columns=m), _plan(plain))
            for m in (1, 2)
        ),
        *(
            (
                f"clustered noise on ages, epsilon {epsilon}",
                voile.ClusteredLaplace(epsilon=epsilon),
                _plan({"quasi_identifiers": ["AGEP"], "keep": [*COLUMNS[1:]]}, _AGES),
            )
            for epsilon in (1, 5)
        ),
        *(
            (f"ranking, k = {k}", voile.Ranking(k=k, top=original.height // 5), _plan(_BEST))
            for k in (5, 20)
        ),
    ]
    texts = original.with_columns(pl.col(*_TEXTS).cast(pl.String))
    found: Files = {}
    for name, method, plan in made:
        opened = voile.open_frame(texts if "MSP" in plan.columns else original, plan)
        publication = method.prepare(opened, voile.Randomness.seeded(seed))
        found[name] = "ours", pl.DataFrame(publication.release.to_native())
    return found | _of_toolbox(original, seed)


def _of_toolbox(original: pl.DataFrame, seed: int) -> Files:
    """Synthetic rows, and the methods of disclosure control that change cells."""
    values = {name: sorted(map(str, original[name].unique())) for name in COLUMNS}
    domains = {name: {"type": "text", "values": some} for name, some in values.items()}
    texts = {name: domains[name] for name in _TEXTS}
    made: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
        **{
            f"dp-synthesis, epsilon {epsilon}": (
                domains,
                {"name": "dp-synthesis", "epsilon": epsilon, "delta": 1e-6, "rows": len(original)},
            )
            for epsilon in (1, 10)
        },
        "microaggregation, k = 5": (texts, {"name": "microaggregation", "k": 5}),
        "local suppression, k = 5": (texts, {"name": "local-suppression", "k": 5}),
        "PRAM, retain 0.8": (texts, {"name": "pram"}),
        "rank swapping, distance 0.1": (
            texts,
            {"name": "rank-swapping", "distance": 0.1, "columns": ["AGEP"]},
        ),
        "shuffling": (texts, {"name": "shuffling"}),
    }
    roles = {"person": "row", "quasi_identifiers": [*KNOWN], "sensitive": [SENSITIVE]}
    found: Files = {}
    for name, (columns, method) in made.items():
        with TemporaryDirectory() as folder:
            source, out = Path(folder) / "rows.csv", Path(folder) / "out"
            original.write_csv(source)
            plan = parse_plan({"roles": roles, "columns": dict(columns), "method": dict(method)})
            voile.make_release(source, plan, out, seed=seed)
            rows = pl.read_csv(out / "data.csv", infer_schema_length=None).select(COLUMNS)
        found[name] = "ours", rows
    return found


def _plan(roles: Mapping[str, Any], columns: Mapping[str, Any] | None = None) -> Plan:
    return parse_plan({"roles": {"person": "row", **roles}, "columns": dict(columns or {})})


def _sets(*groups: tuple[int, ...]) -> dict[str, Any]:
    """A tree whose labels name the values below them."""
    return {"type": "text", "tree": {"|".join(map(str, one)): [*map(str, one)] for one in groups}}


_AGES = {"AGEP": {"bounds": [0, 99]}}
_HIERARCHIES = {
    "AGEP": {"bounds": [0, 99], "intervals": {"origin": 0, "widths": [5, 10, 20, 40]}},
    "SEX": {"type": "text"},
    "MSP": _sets((1, 2), (3, 4, 5), (6,)),
    "HISP": _sets((0,), (1, 2, 3, 4)),
    "RAC1P": _sets((1,), (2,), (3, 4, 5, 7), (6,), (8, 9)),
    "OWN_RENT": {"type": "text"},
    "EDU": _sets((1, 2, 3, 4), (5, 6), (7, 8), (9, 10, 11, 12)),
}
_DECILES = {SENSITIVE: {"bounds": [0, 9], "intervals": {"origin": 0, "widths": [2, 5]}}}
_TEXTS = ("SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "EDU")
_BEST = {
    "quasi_identifiers": [name for name in KNOWN if name != "EDU"],
    "ranking": [SENSITIVE, "EDU"],
}


def of_peer(name: str, original: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The file of a peer, made in an environment of its own.

    Raises one of ``FAILED`` where it cannot be had.
    """
    with TemporaryDirectory() as folder:
        rows, made = Path(folder) / "rows.csv", Path(folder) / "made.csv"
        original.write_csv(rows)
        run_in(PEERS[name], league_side.__file__, name, f"{rows}", f"{made}", f"{seed}")
        return pl.read_csv(made).select(COLUMNS)


def run_in(environment: str, *arguments: str) -> str:
    """What a script prints in an environment, which is made where it is not there yet.

    Raises as ``of_peer`` does; ``OSError`` where no folder for environments is named.
    """
    return _called(f"{python_of(environment)}", *arguments)


def peers_folder() -> Path:
    """The folder of virtual environments; raises ``OSError`` where none is named."""
    named = os.environ.get(_FOLDER)
    if not named:
        msg = f"{_FOLDER} is not set: it names a folder in which peers are installed"
        raise OSError(msg)
    return Path(named).absolute()


def reason(error: Exception) -> str:
    """Why a peer is not here: the last line that it says, without paths."""
    if isinstance(error, subprocess.CalledProcessError) and error.stderr:
        last = [line for line in error.stderr.splitlines() if line.strip()][-1]
        return " ".join(word for word in last.split() if "/" not in word)[:200]
    if isinstance(error, OSError) and error.errno is None and error.args:
        return f"{error}"
    return type(error).__name__


def python_of(environment: str) -> Path:
    """The Python of an environment; raises as ``run_in`` does."""
    place = peers_folder() / environment
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", f"{place}"], check=True)
    wanted = "\n".join(ENVIRONMENTS[environment])
    installed = place / "installed.txt"
    if not installed.exists() or installed.read_text() != wanted:
        _called(f"{python}", "-m", "pip", "install", "--quiet", *ENVIRONMENTS[environment])
        installed.write_text(wanted)
    return python


def _called(*command: str) -> str:
    alone: Callable[[str], bool] = {"PYTHONPATH", "PYTHONHOME"}.__contains__
    clean = {name: value for name, value in os.environ.items() if not alone(name)}
    done = subprocess.run(
        command, check=True, timeout=_SECONDS, capture_output=True, text=True, env=clean
    )
    return done.stdout

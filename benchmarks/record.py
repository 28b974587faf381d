"""What a benchmark found, where it ran, and the files that remember it."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = [
    "ANSWERED",
    "SUBJECTS",
    "Measurement",
    "Table",
    "Target",
    "environment",
    "print_measurement",
    "recorded",
    "save",
    "section",
    "write_report",
]

HERE = Path(__file__).parent

SUBJECTS = {
    "Methods for tables": (
        "generalization",
        "generalization_series",
        "arx",
        "many_columns",
        "query_error",
        "static_speed",
        "incremental_speed",
        "naive_baseline",
        "widening",
        "waiting",
        "shuffle",
        "ranking",
        "ranking_tables",
        "ranking_process",
        "ranking_twice",
        "protected_tables",
        "survey_microdata",
    ),
    "Differential privacy": ("dp_generalization", "dp_synthesis", "synthesis_peers", "noise"),
    "Evidence": (
        "audit_process",
        "evidence_process",
        "worst_off",
        "audit_intervals",
        "group_intervals",
        "membership_attacks",
        "sdmetrics_example",
        "league",
        "league_worst_off",
        "study_grid",
    ),
    "Whole processes, engines and Studio": (
        "kernel_speed",
        "publish_process",
        "shuffle_process",
        "peers",
        "engines",
        "engines_same",
        "engines_grown",
        "engines_memory",
        "engines_lost",
        "engines_driver",
        "studio",
    ),
    "Parcels and packing": (
        "parcel_experiments",
        "real_parcels",
        "synthetic_parcels",
        "packing",
        "hard_packing",
    ),
    "Positions of trucks": (
        "trucks",
        "trucks_days",
        "trucks_dense",
        "trucks_fields",
        "trucks_filtered",
        "trucks_fleet",
        "trucks_worldwide",
        "trucks_laws",
        "trucks_speed",
        "trucks_pictures",
    ),
    "The sharing service": (
        "sharing_protocol",
        "sharing_ingest",
        "sharing_overload",
        "sharing_tenants",
        "sharing_gas",
        "sharing_standing",
        "sharing_places",
        "sharing_arrival",
        "sharing_arrival_tours",
        "sharing_arrival_roads",
    ),
    "Figures of the papers": (
        "papers.bin_packing",
        "papers.incremental_ke",
        "papers.k_arq",
        "papers.m_shuffle",
        "papers.trajectories",
    ),
}
"""Benchmarks by what they are about, in the order in which they run."""
ANSWERED = ("kernel_speed", "engines_driver", "widening", "waiting", "trucks_filtered")
"""Whose question is answered for good: their modules stand in their commits alone."""


@dataclass(frozen=True)
class Target:
    """What had to be reached, and what was."""

    what: str
    must: str
    got: str
    reached: bool


@dataclass(frozen=True)
class Table:
    """Numbers under headings; cells are texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Measurement:
    """What one benchmark found."""

    question: str
    data: str
    seeds: str
    protocol: str
    answer: str
    targets: Sequence[Target] = ()
    tables: Sequence[Table] = ()


def environment() -> dict[str, str]:
    """When and where a benchmark runs, without names or paths of the machine."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": _commit(),
        "machine": _machine(),
        "versions": ", ".join(
            [f"Python {platform.python_version()}"]
            + [f"{name} {version(name.lower())}" for name in ("Polars", "NumPy", "Numba")]
        ),
    }


def _commit() -> str:
    """The checkout's commit; marked as dirty where anything but recorded results differs."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changes = _git("status", "--porcelain", "--", ".", *_OUTPUTS)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit + ("-dirty" if changes else "")


_OUTPUTS = (":!benchmarks/results.jsonl", ":!benchmarks/RESULTS.md")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(HERE.parent), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = named[0].split(":", 1)[1].strip() if named else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB"


def print_measurement(name: str, measurement: Measurement) -> None:
    """Print a result with its tables."""
    print("\n".join(section({"name": name, **asdict(measurement)})), flush=True)


def recorded(folder: Path = HERE) -> list[dict[str, Any]]:
    """The last result of each benchmark; none where nothing was recorded."""
    log = folder / "results.jsonl"
    return list(map(json.loads, log.read_text("utf-8").splitlines())) if log.exists() else []


def save(name: str, where: dict[str, str], measurement: Measurement, folder: Path = HERE) -> None:
    """Put one result in the place of the former one of that name, and write the report again."""
    log = folder / "results.jsonl"
    records = {record["name"]: record for record in recorded(folder)}
    records[name] = json.loads(json.dumps({"name": name, **where, **asdict(measurement)}))
    ordered = [records[key] for key in sorted(records)]
    log.write_text("".join(json.dumps(record) + "\n" for record in ordered), encoding="utf-8")
    write_report(folder)


def write_report(folder: Path = HERE) -> None:
    """Write ``RESULTS.md`` from ``results.jsonl``, as after two branches recorded results."""
    records = {record["name"]: record for record in recorded(folder)}
    (folder / "RESULTS.md").write_text("\n".join(_report(records)), "utf-8")


def _report(records: Mapping[str, dict[str, Any]]) -> Iterable[str]:
    """The page: by subject, what was asked, what came out, and each target that was missed."""
    targets = [target for record in records.values() for target in record["targets"]]
    missed = [target for target in targets if not target["reached"]]
    yield "# Results"
    yield ""
    yield "Written by `python -m benchmarks` (`make bench`) from `results.jsonl`, which has data,"
    yield "seeds, protocol, machine and all tables; `python -m benchmarks --show NAME` prints them."
    yield f"Of {len(targets)} targets {len(targets) - len(missed)} are reached. `-dirty` means that"
    yield "the checkout differed from the commit."
    others = tuple(sorted(records.keys() - {one for names in SUBJECTS.values() for one in names}))
    for subject, names in {**SUBJECTS, "Others": others}.items():
        found = [records[name] for name in names if name in records]
        if found:
            yield ""
            yield f"## {subject}"
        for record in found:
            yield ""
            yield from _entry(record)
    yield ""


def _entry(record: dict[str, Any]) -> Iterable[str]:
    """One benchmark on the page."""
    answered = "; answered, its code stands there" if record["name"] in ANSWERED else ""
    reached = sum(target["reached"] for target in record["targets"])
    yield f"### {record['name']}"
    yield ""
    yield f"*{record['question']}* {record['answer']}"
    count = f"; {reached} of {len(record['targets'])} targets reached" if record["targets"] else ""
    yield f"({record['date']}, {record['commit']}{answered}{count}.)"
    for target in record["targets"]:
        if not target["reached"]:
            yield f"- **Missed**: {target['what']}: {target['got']}; target: {target['must']}."


def section(record: dict[str, Any]) -> Iterable[str]:
    """All of one result: where it ran, what came out, and its tables."""
    yield f"## {record['name']}"
    for key in ("date", "commit", "machine", "versions", "data", "seeds", "protocol"):
        if key in record:
            yield f"- {key}: {record[key]}"
    yield ""
    yield record["question"]
    yield ""
    yield record["answer"]
    for target in record["targets"]:
        verdict = "reached" if target["reached"] else "**missed**"
        yield f"- {target['what']}: must be {target['must']}, got {target['got']}: {verdict}"
    for table in record["tables"]:
        yield ""
        yield f"### {table['title']}"
        yield ""
        yield from _table(table["columns"], table["rows"])


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    for number, row in enumerate((columns, *rows)):
        cells = [cell.replace("|", "\\|") for cell in row]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield "|" + "---|" * len(columns)

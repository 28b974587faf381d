"""What a benchmark found, where it ran, and the files that remember it."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = [
    "Measurement",
    "Table",
    "Target",
    "environment",
    "print_measurement",
    "save",
    "write_report",
]

HERE = Path(__file__).parent


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
    """Print a result as it will stand in the file."""
    print("\n".join(_section({"name": name, **asdict(measurement)})), flush=True)


def save(name: str, where: dict[str, str], measurement: Measurement, folder: Path = HERE) -> None:
    """Put one result in the place of the former one of that name, and write the report again."""
    log = folder / "results.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    records = {record["name"]: record for record in map(json.loads, lines)}
    records[name] = json.loads(json.dumps({"name": name, **where, **asdict(measurement)}))
    ordered = [records[key] for key in sorted(records)]
    log.write_text("".join(json.dumps(record) + "\n" for record in ordered), encoding="utf-8")
    write_report(folder)


def write_report(folder: Path = HERE) -> None:
    """Write ``RESULTS.md`` from ``results.jsonl``, as after two branches recorded results."""
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "RESULTS.md").write_text("\n".join(_report(list(map(json.loads, lines)))), "utf-8")


def _report(records: Sequence[dict[str, Any]]) -> Iterable[str]:
    yield "# Results"
    yield ""
    yield "Written by `python -m benchmarks` (`make bench`) from `results.jsonl`; do not edit."
    yield "`-dirty` means that the checkout differed from the commit."
    yield ""
    targets = [(record, target) for record in records for target in record["targets"]]
    yield from _table(
        ("benchmark", "what", "must reach", "got", "reached"),
        [
            (record["name"], t["what"], t["must"], t["got"], "yes" if t["reached"] else "**no**")
            for record, t in targets
        ],
    )
    yield ""
    fields = ("name", "date", "commit", "machine", "versions", "data", "seeds", "protocol")
    yield from _table(
        ("benchmark", *fields[1:], "found"),
        [[record[field] for field in (*fields, "answer")] for record in records],
    )
    for record in records:
        yield ""
        yield from _section(record)
    yield ""


def _section(record: dict[str, Any]) -> Iterable[str]:
    yield f"## {record['name']}"
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

"""Run benchmarks by name, print what they found, and record it."""

from __future__ import annotations

import argparse
import importlib
import sys

from benchmarks.data import NotHereError
from benchmarks.record import (
    ANSWERED,
    SUBJECTS,
    environment,
    print_measurement,
    recorded,
    save,
    section,
    write_report,
)

NAMES = tuple(name for names in SUBJECTS.values() for name in names if name not in ANSWERED)


def main() -> None:
    """Run the benchmarks that are named; a missed target is said, and is no error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--dry-run", action="store_true", help="print and record nothing")
    parser.add_argument(
        "--report", action="store_true", help="write RESULTS.md from results.jsonl, and run nothing"
    )
    parser.add_argument(
        "--show", metavar="NAME", help="print what was recorded last, with its tables; run nothing"
    )
    arguments = parser.parse_args()
    if arguments.show:
        records = {record["name"]: record for record in recorded()}
        if arguments.show not in records:
            parser.error(f"nothing is recorded of {arguments.show} (known: {', '.join(records)})")
        print("\n".join(section(records[arguments.show])))
        return
    if arguments.report:
        write_report()
        return
    if unknown := {name for name in arguments.names if not _chosen(name)}:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))} (known: {', '.join(NAMES)})")
    for name in [one for asked in arguments.names for one in _chosen(asked)] or NAMES:
        print(f"{name} ...", file=sys.stderr, flush=True)
        where = environment()
        try:
            measurement = importlib.import_module(f"benchmarks.{name}").run()
        except NotHereError as reason:
            print(f"{name}: skipped: {reason}", file=sys.stderr)
            continue
        print_measurement(name, measurement)
        if not arguments.dry_run:
            save(name, where, measurement)


def _chosen(name: str) -> list[str]:
    """The benchmark of a name, or all in the folder of a name, as ``papers``."""
    return [one for one in NAMES if one == name or one.startswith(f"{name}.")]


if __name__ == "__main__":
    main()

"""Run benchmarks by name, print what they found, and record it."""

from __future__ import annotations

import argparse
import importlib
import sys

from benchmarks.data import NotHereError
from benchmarks.record import environment, print_measurement, save, write_report

NAMES = (
    "kernel_speed",
    "engines",
    "engines_same",
    "engines_grown",
    "engines_memory",
    "engines_lost",
    "engines_driver",
    "static_speed",
    "incremental_speed",
    "naive_baseline",
    "publish_process",
    "audit_process",
    "query_error",
    "widening",
    "waiting",
    "generalization",
    "generalization_series",
    "many_columns",
    "dp_generalization",
    "dp_synthesis",
    "peers",
    "league",
    "noise",
    "parcel_experiments",
    "real_parcels",
    "packing",
    "ranking",
    "ranking_tables",
    "ranking_process",
    "ranking_twice",
    "shuffle",
    "study_grid",
    "studio",
    "shuffle_process",
    "trucks",
    "trucks_days",
    "trucks_dense",
    "trucks_fields",
    "trucks_filtered",
    "trucks_fleet",
    "trucks_laws",
    "trucks_pictures",
    "trucks_speed",
    "trucks_worldwide",
    "sharing_protocol",
    "sharing_arrival",
    "sharing_arrival_tours",
    "sharing_arrival_roads",
    "sharing_ingest",
    "sharing_tenants",
    "sharing_overload",
    "sharing_standing",
    "sharing_places",
    "sharing_gas",
    "papers.bin_packing",
    "papers.trajectories",
    "papers.incremental_ke",
    "papers.k_arq",
    "papers.m_shuffle",
)


def main() -> None:
    """Run the benchmarks that are named; a missed target is said, and is no error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--dry-run", action="store_true", help="print and record nothing")
    parser.add_argument(
        "--report", action="store_true", help="write RESULTS.md from results.jsonl, and run nothing"
    )
    arguments = parser.parse_args()
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

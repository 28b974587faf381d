"""Faults that the tests of a room do not notice: ``python tools/mutants.py ROOM``.

mutmut plants one fault at a time in ``src/voile/ROOM`` (another operator, number, word, or None for
a value) and runs those tests of ``tests/ROOM`` that come by.  A fault that no test notices is a gap
in the tests, unless ``tests/survivors/ROOM.toml`` says why nobody could notice it, or need not.
What is left is printed as entries of that file, without a reason.  Exits with 1 where any is left.

The work is done in a copy, ``.mutants/ROOM``; the checkout is not touched.  What a run has found is
lost when the next begins, except with ``--keep``, which tests only what is new and what survived.
Decorated functions are left alone by mutmut, and with them properties and compiled loops.
"""

from __future__ import annotations

import argparse
import configparser
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "benchmarks", "docs", "tools")
FILES = ("pyproject.toml", "README.md", "Makefile")
ALSO = {"release": ["tests/attack/test_verification.py"]}
"""Tests of other rooms that are about this one."""
UNNOTICED = ("survived", "no tests")


@dataclass(frozen=True)
class Fault:
    """One change of one function."""

    function: str
    before: str
    after: str

    def entry(self) -> str:
        """Its entry in the file of survivors, without a reason."""
        fields = {"function": self.function, "before": self.before, "after": self.after}
        lines = [f"{name} = {json.dumps(text)}" for name, text in fields.items()]
        return "\n".join(["[[survivor]]", *lines, 'because = ""'])


def main() -> int:
    """Plant the faults, and say which were not noticed."""
    options = _parser().parse_args()
    rooms = sorted(path.name for path in (ROOT / "src" / "voile").iterdir() if path.is_dir())
    if options.room not in rooms:
        print(f"there is no room {options.room!r}; there are {', '.join(rooms)}", file=sys.stderr)
        return 2
    desk = ROOT / ".mutants" / options.room
    _copy(desk, options.room, keep=options.keep)
    again = [name for name, status in _results(desk) if status in UNNOTICED] if options.keep else []
    jobs = ("--max-children", str(options.jobs))
    _mutmut(desk, "run", *jobs, *options.only)
    if again:
        _mutmut(desk, "run", *jobs, *again)
    return _report(desk, options.room)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("room", metavar="ROOM", help="a folder of src/voile and of tests")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="faults such as 'voile.dp.exact.*'"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--keep", action="store_true", help="keep what the last run has found")
    return parser


def _copy(desk: Path, room: str, *, keep: bool) -> None:
    """Copy the checkout to where mutmut works, with its settings."""
    if not keep:
        shutil.rmtree(desk, ignore_errors=True)
    desk.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.rmtree(desk / name, ignore_errors=True)
        hidden = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(ROOT / name, desk / name, ignore=hidden)
    for name in FILES:
        shutil.copy2(ROOT / name, desk / name)
    settings = configparser.ConfigParser()
    settings["mutmut"] = {
        "source_paths": "src",
        "only_mutate": f"src/voile/{room}/*",
        "also_copy": "\n".join(("", *COPIED[2:], *FILES)),
        "pytest_add_cli_args_test_selection": "\n".join(("", f"tests/{room}", *ALSO.get(room, []))),
        "pytest_add_cli_args": "\n".join(("", "-m", "not slow", "-p", "no:cacheprovider")),
        # Compiled thread pools do not survive a fork, so none may be there when mutmut forks.
        "process_isolation": "forkserver",
        "timeout_constant": "5.0",
        "timeout_multiplier": "3.0",
        "use_git_change_detection": "false",
    }
    with (desk / "setup.cfg").open("w", encoding="utf-8") as file:
        settings.write(file)


def _mutmut(desk: Path, *arguments: str, quiet: bool = False) -> str:
    """What mutmut said, where ``quiet``; otherwise it speaks for itself."""
    data = ROOT.parent / "shared" / "data"
    path = [str(desk / "mutants" / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {
        "VOILE_SHARED_DATA": str(data),
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=desk,
        env=environment,
        stdout=subprocess.PIPE if quiet else None,
        text=True,
        check=True,
    )
    return done.stdout or ""


def _results(desk: Path) -> Iterator[tuple[str, str]]:
    """The name of each fault and what became of it."""
    for line in _mutmut(desk, "results", "--all", "true", quiet=True).splitlines():
        name, _, status = line.strip().rpartition(": ")
        yield name, status


def _report(desk: Path, room: str) -> int:
    """Print what was not noticed and is not explained; the exit status."""
    results = list(_results(desk))
    unnoticed = {_fault(desk, name): name for name, status in results if status in UNNOTICED}
    explained = _explained(room)
    open_ = [fault for fault in unnoticed if fault not in explained]
    for fault in open_:
        print(f"\n# {unnoticed[fault]}\n{fault.entry()}")
    for fault in explained - set(unnoticed):
        print(f"\n# is noticed, or is no more: {fault.function}: {fault.before!r}")
    print(
        f"\n{room}: {len(results):,} faults, {len(results) - len(unnoticed):,} noticed, "
        f"{len(unnoticed) - len(open_):,} explained, {len(open_):,} not"
    )
    return 1 if open_ else 0


def _fault(desk: Path, name: str) -> Fault:
    """What is changed where."""
    changed: dict[str, list[str]] = {"-": [], "+": []}
    for line in _mutmut(desk, "show", name, quiet=True).splitlines():
        if line[:1] in changed and not line.startswith(("---", "+++")):
            changed[line[0]].append(line[1:].strip())
    module, _, mangled = name.rpartition(".")
    function = mangled.rpartition("__mutmut_")[0].removeprefix("x_").removeprefix("xǁ")
    where = f"{module}.{function.replace('ǁ', '.')}"
    return Fault(where, "\n".join(changed["-"]), "\n".join(changed["+"]))


def _explained(room: str) -> set[Fault]:
    path = ROOT / "tests" / "survivors" / f"{room}.toml"
    if not path.exists():
        return set()
    entries: Sequence[dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))["survivor"]
    return {Fault(e["function"], e["before"], e["after"]) for e in entries if e["because"]}


if __name__ == "__main__":
    raise SystemExit(main())

"""Faults that the tests of a room do not notice: ``python tools/mutants.py ROOM``.

mutmut plants one fault at a time in ROOM, a folder or a module of a distribution (another operator,
number, word, or None for a value) and runs those of its tests of ROOM that come by.  A fault that
no test notices is a gap in the tests, unless ``tests/survivors/ROOM.toml`` says why nobody could
notice it, or need not.
What is left is printed as entries of that file, without a reason.  Exits with 1 where any is left.

A room has thousands of faults, and a whole run takes hours.  ``--sample N --seed S`` plants N of
them: those whose names come first by a hash of the seed and the name.  So the same seed draws the
same faults everywhere, and a larger sample holds the smaller one.  The last line says how many
faults there are and how many were drawn.

The work is done in a copy, ``.mutants/ROOM``; the checkout is not touched.  What a run has found is
lost when the next begins, except with ``--keep``, which tests only what is new and what survived.
Decorated functions are left alone by mutmut, and with them properties and compiled loops.
"""

from __future__ import annotations

import argparse
import configparser
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.sources import ROOT, SOURCES

COPIED = ("packages", "tests", "benchmarks", "docs", "tools")
FILES = ("pyproject.toml", "hatch_build.py", "README.md", "Makefile")
PLANTED = Path("src")
"""Where the distribution of the room stands in the copy, before its like in ``packages``: mutmut
takes the path below it for the name of a module."""
ALSO = {
    "audit": ["packages/voile/voile_tests/cli/test_audit.py"],
    "disclosure": [
        "packages/voile/voile_tests/schema/test_coding.py",
        "packages/voile/voile_tests/utility/test_covering.py",
    ],
    "models": ["packages/voile/voile_tests/publish/test_ke_waiting.py"],
    "release": [
        "packages/voile/voile_tests/attack/test_verification.py",
        "packages/voile/voile_tests/attack/trajectory/test_on_release.py",
        "packages/voile/voile_tests/cli/test_lost_releases.py",
        "packages/voile/voile_tests/cli/test_release_contents.py",
        "packages/voile/voile_tests/publish/flows",
        "packages/voile/voile_tests/publish/generalization/test_persons.py",
        "packages/voile/voile_tests/publish/test_ke_persons.py",
        "packages/voile/voile_tests/publish/test_ke_publisher.py",
        "packages/voile/voile_tests/publish/test_rows_per_person.py",
    ],
}
"""Tests of other rooms that are about this one."""
LIBRARIES = ("numpy", "polars", "scipy.stats", "numba", "pandas", "sklearn")
"""No plug-ins of pytest, which warns, and so fails, where one is loaded before it."""
BROKEN = 255
"""The exit status of a worker that could not run any test; mutmut takes it for a time-out."""
UNNOTICED = ("survived", "no tests")
NOT_PLANTED = "not checked"
GENERATE = """
from mutmut import __main__ as mutmut
mutmut.set_mutant_under_test("mutant_generation")
mutmut.copy_src_dir()
mutmut.copy_also_copy_files()
mutmut.setup_source_paths()
mutmut.create_mutants(1)
"""
"""The first step of ``mutmut run``, for which mutmut has no command."""
STARTING = """
import os
if os.environ.get("MUTANT_UNDER_TEST") == "stats":
    del os.environ["MUTANT_UNDER_TEST"]
"""
"""What each Python runs first.  Where mutmut counts which functions a test calls, it reads its
settings in the folder where a process works.  A command that a test starts works elsewhere, would
fail, and could not hand over what it counts."""


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
    inside = sorted(path for source in SOURCES for path in source.iterdir())
    rooms = {path.stem: path for path in inside if path.is_dir() or path.suffix == ".py"}
    if options.room not in rooms:
        print(f"there is no room {options.room!r}; there are {', '.join(rooms)}", file=sys.stderr)
        return 2
    desk = ROOT / ".mutants" / options.room
    _copy(desk, rooms[options.room].relative_to(ROOT), keep=options.keep)
    _python(desk, "-c", GENERATE, quiet=True)
    before = dict(_results(desk))
    chosen = drawn(before, options.only, options.sample, options.seed)
    due = [name for name in chosen if before[name] in (NOT_PLANTED, *UNNOTICED)]
    if due:
        names = due if len(due) < len(before) else ()
        _mutmut(desk, "run", "--max-children", str(options.jobs), *names)
    status = _report(desk, options.room, chosen)
    if broken := _broken(desk):
        msg = (
            f"the tests could not be run on {len(broken):,} of them, so nothing is known of these:"
        )
        print(msg, *broken, sep="\n  ", file=sys.stderr)
        return 2
    return status


def drawn(
    names: Iterable[str], only: Sequence[str] = (), sample: int | None = None, seed: int = 0
) -> list[str]:
    """The names that fit one of the patterns, or a sample of them."""
    fit = [name for name in names if not only or any(fnmatch.fnmatch(name, p) for p in only)]
    by_hash = sorted(fit, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
    return sorted(by_hash[:sample])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("room", metavar="ROOM", help="a folder of a distribution and of its tests")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="faults such as 'voile.dp.exact.*'"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="plant so many of them (all)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the sample (0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--keep", action="store_true", help="keep what the last run has found")
    return parser


def _copy(desk: Path, room: Path, *, keep: bool) -> None:
    """Copy the checkout to where mutmut works, with its settings; ``room`` is a path in it."""
    if not keep:
        shutil.rmtree(desk, ignore_errors=True)
    desk.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.rmtree(desk / name, ignore_errors=True)
        hidden = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(ROOT / name, desk / name, ignore=hidden)
    for name in FILES:
        shutil.copy2(ROOT / name, desk / name)
    source = room.parents[1]
    shutil.rmtree(desk / PLANTED, ignore_errors=True)
    shutil.copytree(desk / source, desk / PLANTED)
    tests = [str(one.relative_to(desk)) for one in desk.glob(f"packages/*/*_tests/{room.stem}")]
    planted = PLANTED / room.relative_to(source)
    settings = configparser.ConfigParser()
    settings["mutmut"] = {
        "source_paths": str(PLANTED),
        "only_mutate": f"{planted}/*" if room.suffix != ".py" else str(planted),
        "also_copy": "\n".join(("", *COPIED, *FILES)),
        "pytest_add_cli_args_test_selection": "\n".join(("", *tests, *ALSO.get(room.stem, []))),
        "pytest_add_cli_args": "\n".join(("", "-m", "not slow", "-p", "no:cacheprovider")),
        # Thread pools do not survive a fork, so none may be there when mutmut forks: libraries and
        # our own modules are loaded before, tests are not, some of which compute at once.
        "process_isolation": "forkserver",
        "forkserver_warmup": "import",
        "preload_modules_file": "loaded.txt",
        # A fault counts as noticed where its tests do not end.  They get much time, so that a busy
        # machine notices no more than a quiet one.
        "timeout_constant": "10.0",
        "timeout_multiplier": "6.0",
        "use_git_change_detection": "false",
    }
    with (desk / "setup.cfg").open("w", encoding="utf-8") as file:
        settings.write(file)
    (desk / "starting").mkdir(exist_ok=True)
    (desk / "starting" / "sitecustomize.py").write_text(STARTING, encoding="utf-8")
    loaded = [*LIBRARIES, *_modules(source, without=("cli", "commands"))]
    (desk / "loaded.txt").write_text("\n".join(loaded), encoding="utf-8")


def _modules(source: Path, without: Collection[str]) -> Iterator[str]:
    """The names of the modules of a distribution, but for those of some rooms."""
    for path in sorted((ROOT / source).rglob("*.py")):
        parts = path.relative_to(ROOT / source).with_suffix("").parts
        if parts[-1] != "__init__" and parts[1] not in without:
            yield ".".join(parts)


def _mutmut(desk: Path, *arguments: str, quiet: bool = False) -> str:
    """What mutmut said, where ``quiet``; otherwise it speaks for itself."""
    return _python(desk, "-m", "mutmut", *arguments, quiet=quiet)


def _python(desk: Path, *arguments: str, quiet: bool) -> str:
    """What this Python said in the copy, where ``quiet``."""
    data = ROOT.parent / "shared" / "data"
    copy = desk / "mutants" if (desk / "mutants" / PLANTED).exists() else desk
    sources = [desk / "starting", copy / PLANTED, *sorted(copy.glob("packages/*/src"))]
    path = [*map(str, sources), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {
        "VOILE_SHARED_DATA": str(data),
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }
    done = subprocess.run(
        [sys.executable, *arguments],
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


def _broken(desk: Path) -> list[str]:
    """The faults on which no test could be run; some break what tests do when they are loaded."""
    found = (json.loads(path.read_text()) for path in (desk / "mutants").rglob("*.py.meta"))
    codes = (pair for one in found for pair in one["exit_code_by_key"].items())
    return sorted(name for name, code in codes if code == BROKEN)


def _report(desk: Path, room: str, chosen: Sequence[str]) -> int:
    """Print what was not noticed and is not explained; the exit status."""
    became = dict(_results(desk))
    explained = _explained(room)
    functions = {fault.function for fault in explained}
    faults = {
        name: _fault(desk, name)
        for name, status in became.items()
        if (name in chosen and status in UNNOTICED) or _function(name) in functions
    }
    unnoticed = [name for name in chosen if became[name] in UNNOTICED]
    open_ = [name for name in unnoticed if faults[name] not in explained]
    for name in open_:
        print(f"\n# {name}\n{faults[name].entry()}")
    standing = {faults[n] for n in faults if became[n] in (NOT_PLANTED, *UNNOTICED)}
    for fault in explained - standing:
        print(f"\n# is noticed, or is no more: {fault.function}: {fault.before!r}")
    endless = sum(became[name] == "timeout" for name in chosen)
    print(
        f"\n{room}: {len(became):,} faults, {len(chosen):,} drawn, "
        f"{len(chosen) - len(unnoticed):,} noticed ({endless:,} by not ending), "
        f"{len(unnoticed) - len(open_):,} explained, {len(open_):,} not"
    )
    return 1 if open_ else 0


def _fault(desk: Path, name: str) -> Fault:
    """What is changed where."""
    changed: dict[str, list[str]] = {"-": [], "+": []}
    for line in _mutmut(desk, "show", name, quiet=True).splitlines():
        if line[:1] in changed and not line.startswith(("---", "+++")):
            changed[line[0]].append(line[1:].strip())
    return Fault(_function(name), "\n".join(changed["-"]), "\n".join(changed["+"]))


def _function(name: str) -> str:
    """The function of a fault, as it is called in the source."""
    module, _, mangled = name.rpartition(".")
    function = mangled.rpartition("__mutmut_")[0].removeprefix("x_").removeprefix("xǁ")
    return f"{module}.{function.replace('ǁ', '.')}"


def _explained(room: str) -> set[Fault]:
    path = ROOT / "tests" / "survivors" / f"{room}.toml"
    if not path.exists():
        return set()
    entries: Sequence[dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))["survivor"]
    return {Fault(e["function"], e["before"], e["after"]) for e in entries if e["because"]}


if __name__ == "__main__":
    raise SystemExit(main())

"""Builds what a release consists of, and tries it: ``python tools/release.py --out dist``.

1. Builds a source archive and a wheel of each distribution, twice; both must be the same bytes, as
   the time in them is that of the last commit.
2. ``twine check --strict``: metadata and descriptions.
3. Installs ``voile`` alone in an empty environment, and publishes a table; how many packages and
   megabytes that takes is said and held against a limit.
4. Installs ``voile[full]`` in another, and runs ``voile demo``.
5. Writes SHA256SUMS, and of both environments a bill of materials in CycloneDX.

Needs build, hatchling, twine and cyclonedx-bom beside the interpreter that runs it, and an index
that pip is configured for.  Ends with 1 where anything fails; then nothing should be published.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ("base", "geo", "", "pack", "share", "studio")
MOST_PACKAGES, MOST_MEGABYTES = 25, 500
TABLE = "age,sex,illness\n" + "".join(
    f"{20 + n % 40},{'fm'[n % 2]},{('flu', 'gout', 'asthma')[n % 3]}\n" for n in range(60)
)
PLAN = """[roles]
person = "row"
quasi_identifiers = ["age", "sex"]
sensitive = ["illness"]
[method]
name = "generalization"
k = 5
"""


class ReleaseError(Exception):
    """Why nothing should be published."""


def run(command: Sequence[str | Path], **more: str) -> str:
    """The output of a command; raises ``ReleaseError`` with its words where it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **more},
    )
    if done.returncode:
        msg = f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-4000:]}"
        raise ReleaseError(msg)
    return done.stdout


def folder_of(name: str) -> Path:
    """The source of a distribution."""
    return ROOT / "packages" / (f"voile-{name}" if name else "voile")


def require_tag(tag: str) -> None:
    """Raise ``ReleaseError`` unless the tag is that of the version of all distributions."""
    for name in PUBLISHED:
        project = tomllib.loads((folder_of(name) / "pyproject.toml").read_text())["project"]
        if tag != f"v{project['version']}":
            msg = f"the tag is {tag}, and {project['name']} has version {project['version']}"
            raise ReleaseError(msg)


def build(out: Path, epoch: str) -> dict[str, str]:
    """Source archives and wheels in a folder, with the time ``epoch``; their digests by name."""
    out.mkdir(parents=True)
    for name in PUBLISHED:
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out]
        run([*command, folder_of(name)], SOURCE_DATE_EPOCH=epoch)
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(out.iterdir())
    }


def installed(place: Path, packages: Path, what: str) -> Path:
    """The folder of commands of a new environment with one of our distributions."""
    venv.create(place, with_pip=True)
    commands = place / ("Scripts" if os.name == "nt" else "bin")
    pip = [commands / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--find-links", packages, what])
    return commands


def weight(place: Path) -> tuple[int, float]:
    """Packages and megabytes of an environment, without pip and what came with it."""
    where = "Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages"
    (libraries,) = place.glob(where)
    own = re.compile(r"^(pip|setuptools|pkg_resources|_distutils_hack|distutils-precedence)")
    kept = [one for one in libraries.iterdir() if not own.match(one.name)]
    files = [file for one in kept for file in ([one] if one.is_file() else one.rglob("*"))]
    taken = sum(file.stat().st_size for file in files if file.is_file())
    return sum(one.name.endswith(".dist-info") for one in kept), taken / 1e6


def try_base(place: Path, packages: Path) -> str:
    """Publish a table with the base installation, and say what it weighs."""
    commands = installed(place, packages, "voile")
    count, megabytes = weight(place)
    if count > MOST_PACKAGES or megabytes > MOST_MEGABYTES:
        msg = f"the base takes {count} packages and {megabytes:.0f} MB"
        raise ReleaseError(msg)
    (place / "few.csv").write_text(TABLE)
    (place / "few.toml").write_text(PLAN)
    out = place / "release"
    plan = ["--plan", place / "few.toml", "--out", out]
    run([commands / "voile", "publish", place / "few.csv", *plan])
    run([commands / "voile", "recount", out])
    return f"base: {count} packages, {megabytes:.0f} MB with bytecode; a table was published"


def release(out: Path, tag: str | None, *, install: bool) -> None:
    """All of it; raises ``ReleaseError``."""
    if out.exists():
        msg = f"{out}: something is here already; name a new folder"
        raise ReleaseError(msg)
    if tag:
        require_tag(tag)
    with tempfile.TemporaryDirectory() as scratch:
        epoch = run(["git", "-C", ROOT, "log", "-1", "--format=%ct"]).strip()
        first, again = (build(Path(scratch) / name, epoch) for name in ("packages", "again"))
        if changed := [name for name in first if first[name] != again.get(name)]:
            msg = f"built twice, these differ: {', '.join(changed)}"
            raise ReleaseError(msg)
        print(f"{len(first)} files, the same bytes when built again")
        packages = Path(scratch) / "packages"
        run([sys.executable, "-m", "twine", "check", "--strict", *sorted(packages.iterdir())])
        print("metadata and descriptions pass twine check --strict")
        bills = Path(scratch) / "bills"
        bills.mkdir()
        if install:
            print(try_base(Path(scratch) / "base", packages))
            full = installed(Path(scratch) / "full", packages, "voile[full]")
            run([full / "voile", "demo"])
            print("full: voile demo ran")
            for name in ("base", "full"):
                environment = Path(scratch) / name
                bill = ["--output-reproducible", "-o", bills / f"voile-{name}.cdx.json"]
                run([sys.executable, "-m", "cyclonedx_py", "environment", *bill, environment])
            print("a bill of materials of each environment was written")
        out.mkdir(parents=True)
        shutil.copytree(packages, out / "packages")
        shutil.copytree(bills, out / "bills")
        sums = "".join(f"{digest}  {name}\n" for name, digest in first.items())
        (out / "SHA256SUMS").write_text(sums)


def main() -> int:
    """Parse the command line, and give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that does not exist yet")
    parser.add_argument("--tag", help="v and the version, which must be that of all distributions")
    parser.add_argument("--no-install", action="store_true", help="build and check only")
    asked = parser.parse_args()
    try:
        release(asked.out, asked.tag, install=not asked.no_install)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

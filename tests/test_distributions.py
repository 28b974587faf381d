"""The distributions are what their ``pyproject.toml`` says: versions, libraries, extras, tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.count_imports import parsed
from voile_base.version import VERSION
from voile_testing.plugin import ROOT, some_slow

PROJECTS: dict[str, dict[str, Any]] = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    for path in sorted(ROOT.glob("packages/*/pyproject.toml"))
}
PUBLISHED = [name for name in PROJECTS if name != "voile-testing"]
CALLED = {
    "google": "protobuf",
    "multipart": "python-multipart",
    "nacl": "pynacl",
    "paho": "paho-mqtt",
    "prometheus_client": "prometheus-client",
    "sklearn": "scikit-learn",
    "argon2": "argon2-cffi",
    "dp_accounting": "dp-accounting",
    "charset_normalizer": "charset-normalizer",
    "typing_extensions": "typing-extensions",
    "eth_tester": "eth-tester",
    "opentelemetry": "opentelemetry-sdk",
}
"""Distributions whose import name is another."""
BROUGHT = {
    "anyio": "fastapi",
    "markupsafe": "jinja2",
    "pydantic_core": "pydantic",
    "starlette": "fastapi",
    "threadpoolctl": "scikit-learn",
    "numba": "voile-base",
    "matplotlib": "voile-base",
    "eth_account": "web3",
    "eth_utils": "web3",
    "eth_typing": "web3",
    "hexbytes": "web3",
}
"""Libraries that another distribution brings, which is made of them or has an extra for them."""


def requirements(name: str) -> set[str]:
    """The distributions that one needs, with any extra, in lower case and without versions."""
    project = PROJECTS[name]
    stated = [*project.get("dependencies", ())]
    for extra, more in project.get("optional-dependencies", {}).items():
        stated += more if extra not in {"test", "check", "mutation"} else ()
    return {re.split(r"[\[<>=~! ]", one)[0].lower() for one in stated}


def modules(name: str) -> list[Path]:
    """The source of a distribution."""
    return sorted((ROOT / "packages" / name / "src").rglob("*.py"))


@cache
def imported(path: Path) -> frozenset[str]:
    """The top packages that a module imports, wherever in it."""
    return frozenset(_imported(parsed(path)))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


def test_all_have_one_version() -> None:
    """That of the code, and each needs the others of just this version."""
    for name, project in PROJECTS.items():
        assert project["version"] == VERSION, name
        stated = [*project.get("dependencies", ())]
        stated += [
            one for more in project.get("optional-dependencies", {}).values() for one in more
        ]
        for one in stated:
            other = re.split(r"[\[=]", one)[0]
            if other in PROJECTS and other != name:
                assert one.endswith(f"=={VERSION}"), (name, one)


@pytest.mark.parametrize("name", some_slow(PUBLISHED, {"voile", "voile-share"}))
def test_each_declares_what_it_imports(name: str) -> None:
    """Every library that the source imports is one that the distribution or an extra brings."""
    own = name.replace("-", "_")
    known = requirements(name)
    missing = set()
    for path in modules(name):
        for package in imported(path):
            if package not in {*sys.stdlib_module_names, "_typeshed", own}:
                names = {package, CALLED.get(package, ""), BROUGHT.get(package, "")}
                if not {one.replace("_", "-") for one in names} & known:
                    missing.add(package)
    assert not missing


@pytest.mark.parametrize("name", PUBLISHED)
def test_messages_name_extras_that_exist(name: str) -> None:
    """What the source tells people to install is a distribution, with an extra that it has."""
    for path in modules(name):
        for line in path.read_text(encoding="utf-8").splitlines():
            for other, extras in re.findall(r"pip install '(voile[\w-]*)\[([\w,-]+)\]'", line):
                assert set(extras.split(",")) <= set(PROJECTS[other]["optional-dependencies"]), line


@pytest.mark.parametrize("name", some_slow(PUBLISHED, {"voile", "voile-share"}))
def test_tests_of_one_need_no_other(name: str) -> None:
    """They import their own folder, what tests share, and what the distribution may import."""
    (folder,) = (ROOT / "packages" / name).glob("*_tests")
    may = {"voile_testing", folder.name, name.replace("-", "_")}
    left = [name]
    while left:
        for other in requirements(left.pop()) & PROJECTS.keys():
            if (package := other.replace("-", "_")) not in may and _is_below(other, name):
                may.add(package)
                left.append(other)
    for path in folder.rglob("*.py"):
        for package in imported(path):
            if package.startswith(("voile", "tests", "benchmarks", "tools")) or "_tests" in package:
                assert package in may, f"{path}: {package}"


def _is_below(other: str, name: str) -> bool:
    """Whether a distribution is needed without extras; ``voile[all]`` would bring its users."""
    stated = PROJECTS[name].get("dependencies", ())
    direct = {re.split(r"[\[=]", one)[0] for one in stated}
    return other in direct or any(
        _is_below(other, one) for one in direct & PROJECTS.keys() if one != name
    )


def test_errors_load_no_library() -> None:
    """What every module imports costs nothing."""
    asked = (
        "import sys; before = set(sys.modules); import voile_base.errors; "
        "print({m.partition('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    told = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    ).stdout
    assert told.strip() == "{'voile_base'}"

"""The walls between the rooms are kept by a reading of the imports, not by good intentions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import voile

ROOMS = Path(voile.__file__).parent


def test_the_walls_of_the_configuration_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """Every contract on imports in ``pyproject.toml`` is kept."""
    cli = pytest.importorskip("importlinter.cli", reason="import-linter is not installed")
    status = cli.lint_imports(
        config_filename=str(ROOMS.parents[1] / "pyproject.toml"), no_cache=True
    )
    assert status == 0, capsys.readouterr().out


def test_every_room_stands_in_the_layers() -> None:
    """A new room must be given its floor: none is left out of the contract on layers."""
    configuration = (ROOMS.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    layers = configuration.split("layers = [")[1].split("]")[0]
    rooms = {
        path.stem if path.suffix == ".py" else path.name
        for path in ROOMS.iterdir()
        if not path.name.startswith("_") and (path.suffix == ".py" or path.is_dir())
    }
    assert rooms <= set(layers.replace('"', " ").replace(",", " ").replace("|", " ").split())


def test_no_module_prints_or_logs() -> None:
    """Private values cannot reach a log, because nothing outside the command line says anything."""
    speaking = [
        path.relative_to(ROOMS).as_posix()
        for path in ROOMS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(a.name == "logging" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module in {"logging", "warnings"})
        or (isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print")
    ]
    assert speaking == []

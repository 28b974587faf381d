"""The walls between the rooms are kept by a reading of the imports, not by good intentions."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tools.count_imports import circles, imports, parsed
from tools.count_names import places
from tools.sources import ROOT, SOURCES
from voile_testing.plugin import some_slow

SCHEMA = {"schema/plan.py", "schema/trajectory.py", "release/claims.py"}
"""A plan that names no columns of trips has the default ones where its method publishes trips; and
the registry of claims has their kinds."""


@pytest.fixture(scope="module")
def trees() -> Mapping[Path, ast.Module]:
    """All modules of all distributions as Python reads them: once, since that takes seconds."""
    return {path: parsed(path) for source in SOURCES for path in source.rglob("*.py")}


def named(path: Path) -> str:
    """A module as ``package/file``."""
    return path.as_posix().rpartition("/src/")[2]


@pytest.mark.slow
def test_the_walls_of_the_configuration_hold() -> None:
    """Every contract on imports in ``pyproject.toml`` is kept.

    In a process of its own: the checker keeps the output of the test that imports it first.
    """
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    checker = [sys.executable, "-c", program, "--no-cache"]
    done = subprocess.run(checker, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_room_stands_in_the_layers() -> None:
    """A new room must be given its floor: none is left out of the contracts on layers."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = configuration["tool"]["importlinter"]["contracts"]
    layers = {
        container: {name for layer in one["layers"] for name in layer.replace("|", " ").split()}
        for one in contracts
        for container in one.get("containers", ())
    }
    for source in SOURCES:
        if source.name in layers:
            rooms = {
                path.stem if path.suffix == ".py" else path.name
                for path in source.iterdir()
                if not path.name.startswith("_") and (path.suffix == ".py" or path.is_dir())
            }
            assert rooms <= layers[source.name], source.name


@pytest.mark.slow
def test_modules_import_each_other_in_no_circle(trees: Mapping[Path, ast.Module]) -> None:
    """Neither at their tops nor inside functions nor for types alone."""
    assert circles(imports(SOURCES, trees.__getitem__)) == []


@pytest.mark.slow
def test_what_is_loaded_on_demand_is_what_the_type_checker_sees(
    trees: Mapping[Path, ast.Module],
) -> None:
    """A module that stands in for another names the one that is imported for types, and for walls.

    A library without types may stand by itself; a module of Voile may not.
    """
    wrong = []
    for path, tree in trees.items():
        typed = dict(_bound_for_types(tree))
        for name, module in _stand_ins(tree):
            if typed.get(name, None if module.startswith("voile") else module) != module:
                wrong.append(f"{named(path)}: {name} = on_demand({module!r})")
    assert wrong == []


def _bound_for_types(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that are imported where only a type checker looks, with what they may mean."""
    for node in tree.body:
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            for inner in node.body:
                if isinstance(inner, ast.Import):
                    yield from ((one.asname or one.name, one.name) for one in inner.names)
                elif isinstance(inner, ast.ImportFrom):
                    for one in inner.names:
                        yield one.asname or one.name, f"{inner.module}.{one.name}"


def _stand_ins(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that ``on_demand`` gives, and the modules that they stand for."""
    for node in ast.walk(tree):
        value = getattr(node, "value", None)
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "on_demand":
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            yield target.id, ast.literal_eval(value.args[0])


@pytest.mark.slow
def test_no_code_asks_for_a_name(trees: Mapping[Path, ast.Module]) -> None:
    """What a method did stands in what it says of its columns, and nobody asks for its name.

    Comparisons, ``match``, memberships, keys and collections hold no such name.
    """
    found = [place for source in SOURCES for place in places(source, trees.__getitem__)]
    assert [place for place in found if place.split(":")[0] not in SCHEMA] == []


def test_a_circle_is_seen_wherever_the_import_stands(tmp_path: Path) -> None:
    """Inside a function or for types alone, of a module or of names in a package."""
    package = tmp_path / "p"
    package.mkdir()
    for name, text in {
        "__init__": "from p.a import x",
        "a": "def f():\n    import p.b",
        "b": "if TYPE_CHECKING:\n    from p.c import y",
        "c": "from p import a",
        "d": "from p import x",
    }.items():
        (package / f"{name}.py").write_text(text)
    (circle,) = circles(imports([package]))
    assert set(circle) == {"p.a", "p.b", "p.c"}


@pytest.mark.parametrize(
    "folder", some_slow(["packages", "tests", "benchmarks", "tools"], {"packages"})
)
def test_every_docstring_documents_something(folder: str) -> None:
    """A text by itself begins a module, a class or a function, or follows what it describes."""
    stray = [
        f"{path}:{text.lineno}"
        for path in (ROOT / folder).rglob("*.py")
        for text in stray_texts(parsed(path))
    ]
    assert not stray


def test_a_docstring_whose_constant_is_gone_is_seen() -> None:
    """Behind ``__all__`` or an import there is nothing that it could describe."""
    for before in ("__all__ = []", "import x", "def f(): ...", "if x:\n    y = 1"):
        assert len(stray_texts(ast.parse(f'"module"\n{before}\n"nothing"\n'))) == 1
    assert not stray_texts(
        ast.parse('"module"\nX = 1\n"x"\nclass C:\n    "c"\n    y: int\n    "y"')
    )


def stray_texts(tree: ast.Module) -> list[ast.Expr]:
    """Statements that are texts and document neither their block nor the name before them."""
    found = []
    for block in blocks(tree):
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(block, part, [])
            for before, statement in zip([None, *statements], statements, strict=False):
                value = getattr(statement, "value", None)
                text = isinstance(statement, ast.Expr) and isinstance(value, ast.Constant)
                if text and isinstance(value.value, str) and not describes(block, before):
                    found.append(statement)
    return found


def blocks(tree: ast.Module) -> Iterator[ast.AST]:
    """All that has statements in it, and the statements that have none."""
    left: list[ast.AST] = [tree]
    while left:
        block = left.pop()
        yield block
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(block, part, [])


def describes(block: ast.AST, before: ast.stmt | None) -> bool:
    """Whether a text behind a statement, or at the beginning of a block, documents something."""
    if before is None:
        return isinstance(block, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    if isinstance(before, ast.Assign):
        return ast.unparse(before.targets[0]) != "__all__"
    return isinstance(before, ast.AnnAssign)


def only_silences(tree: ast.Module) -> bool:
    """Whether a module uses ``logging`` to keep another library quiet, and says nothing."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    of_logging = {node.attr for node in attributes if getattr(node.value, "id", None) == "logging"}
    says = {"critical", "debug", "error", "exception", "info", "log", "warning"}
    return of_logging <= {"NullHandler", "getLogger"} and not says & {n.attr for n in attributes}


def test_a_module_that_logs_is_not_taken_for_one_that_silences() -> None:
    """A handler that drops everything is silence; one message, or another handler, is not."""
    quiet = 'logging.getLogger("reader").addHandler(logging.NullHandler())'
    assert only_silences(ast.parse(quiet))
    assert not only_silences(ast.parse(f"{quiet}\nlogging.getLogger().info(row)"))
    assert not only_silences(ast.parse("logging.getLogger().addHandler(logging.StreamHandler())"))


@pytest.mark.slow
def test_no_module_prints_or_logs(trees: Mapping[Path, ast.Module]) -> None:
    """Private values cannot reach a log, because nothing outside the command line says anything."""
    speaking = [
        named(path)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if (
            (isinstance(node, ast.Import) and any(a.name == "logging" for a in node.names))
            and not only_silences(tree)
        )
        or (isinstance(node, ast.ImportFrom) and node.module in {"logging", "warnings"})
        or (isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print")
    ]
    assert speaking == []


@pytest.mark.slow
def test_no_module_draws_randomness_elsewhere(trees: Mapping[Path, ast.Module]) -> None:
    """Only ``randomness`` imports a source of entropy; numpy's and random's are used nowhere."""
    doors = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Attribute) and node.attr in {"random", "urandom"}:
                names = ["attribute " + node.attr]
            doors += [
                named(path)
                for name in names
                if name in {"random", "secrets", "attribute urandom"}
                or name.startswith("numpy.random")
                or (name == "attribute random" and "Categories" not in ast.unparse(node))
            ]
    assert set(doors) == {"voile_base/randomness.py"}


_SYSTEM_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "msvcrt", "psutil", "winreg"}
_SYSTEM_NAMES = {
    "sched_getaffinity", "fork", "geteuid", "getuid", "O_NOFOLLOW", "O_DIRECTORY", "setsid",
    "killpg", "getrlimit", "setrlimit", "pthread_sigmask", "SIGKILL", "SIGHUP", "SIGALRM",
    "SIGUSR1", "sysconf", "statvfs", "mkfifo",
}  # fmt: skip
_SYSTEM_KEYWORDS = {"pass_fds", "preexec_fn", "start_new_session"}


def system_calls_of(tree: ast.Module) -> Iterator[str]:
    """The names in a module that not every operating system has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from {one.name.partition(".")[0] for one in node.names} & _SYSTEM_MODULES
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from {node.module.partition(".")[0]} & _SYSTEM_MODULES
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from {node.attr} & _SYSTEM_NAMES if node.value.id in {"os", "signal"} else ()
        elif isinstance(node, ast.keyword) and node.arg:
            yield from {node.arg} & _SYSTEM_KEYWORDS
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from {p for p in ("/proc/", "/sys/fs/") if node.value.startswith(p)}


@pytest.mark.slow
def test_what_systems_differ_in_stands_in_one_module(trees: Mapping[Path, ast.Module]) -> None:
    """Calls that Windows or macOS lack are made in ``voile_base.operating_system`` alone."""
    found = {}
    for path, tree in trees.items():
        if "voile_testing" not in path.parts and (names := sorted(set(system_calls_of(tree)))):
            found[path.name] = names
    assert "fcntl" not in found.pop("operating_system.py")  # asked for where it is there
    assert not found
    planted = "import fcntl\nos.sched_getaffinity(0)\nrun(x, pass_fds=(1,))\nPath('/proc/stat')"
    assert len(list(system_calls_of(ast.parse(planted)))) == 4

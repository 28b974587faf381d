"""Compiled loops: Numba, loaded when the first of them is called.

Numba costs four tenths of a second of processor to load, and most calls of Voile need none of its
loops.  So ``njit`` and ``register_jitable`` stand here in place of Numba's own, with the same
meaning, and leave all of its work to the first call.  A loop is compiled once for all processes:
its machine code is kept beside the source, or in ``NUMBA_CACHE_DIR``.  Where nothing can be kept
there, as the folder is not ours or the disk is full, the loop is compiled anew in each process.
Two processes that keep a loop for other types at the same moment may give both the same file, and
Numba then calls what stands there with numbers of another type: a sum of 6 came out as 3e-323.  So
what is read is held against the types that were asked for.

Numba is an extra, and 210 MB of it.  Where it is absent, work that may be done without is, whatever
it takes (``pays``); a loop that nothing stands in for raises ``InputError`` with what to install.
Its text is not run in Python instead: whole numbers of 64 bits would go on where they must wrap.

Numba loads all of SciPy's linear algebra to learn whether there is a BLAS, which would be half
as much again.  None of our loops multiplies matrices, so that it is not asked.

What a loop costs to compile is mostly what it calls.  So two things that Numba compiles with them
are left out: a function once more for each constant that it is called with, and what puts two
shapes into words where an array does not fit into another, which is most of its text and 4 s of
each process.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, TypeVar, cast

from voile_base.errors import InputError

__all__ = ["compiles", "njit", "pays", "pays_by_now", "register_jitable", "uncompiled"]

F = TypeVar("F", bound=Callable[..., Any])

_loading = threading.RLock()
_WORTH_COMPILING = 10_000
_awaiting: list[Callable[..., Any]] = []
"""Functions that Numba is to know of when it is loaded."""
_loaded = threading.Event()
_done_without = [0.0]
"""What was done without Numba, each as a share of what is worth loading it for."""


class _Compiled:
    """A function that is compiled when it is first called, from Python or from another."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._dispatcher: Any = None

    def __call__(self, *arguments: object) -> Any:
        return (self._dispatcher or self._load())(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What it is to compiled functions that call it."""
        from numba import types  # noqa: PLC0415 - loaded on demand, which is the point

        return types.Dispatcher(self._dispatcher or self._load())

    def _load(self) -> Any:
        with _loading:
            if self._dispatcher is None:
                self._dispatcher = _dispatcher(self.py_func, self._options)
            return self._dispatcher


def _njit(*, cache: bool = True, **options: object) -> Any:
    """Compile a function when it is first called, with the options of ``numba.njit``."""
    return lambda function: _Compiled(function, {"cache": cache, **options})


def pays(rows: int, least: int) -> bool:
    """Whether so many rows are worth compiled loops, which give what NumPy or Python would give.

    For ``least`` rows doing without them takes as long as it takes to load Numba.  So it is loaded
    when all that was done without it adds up to that: whatever comes, no more than twice the least
    time is spent.  Where it is loaded already, fewer rows are worth it.
    """
    return rows >= _WORTH_COMPILING and pays_by_now(rows, least)


@functools.cache
def compiles() -> bool:
    """Whether Numba is installed."""
    return find_spec("numba") is not None


def pays_by_now(rows: int, least: int) -> bool:
    """The same for a loop that is called again and again, where few rows count as well."""
    if not compiles():
        return False
    if not _loaded.is_set():
        _done_without[0] += rows / least
    return _loaded.is_set() or _done_without[0] >= 1


def uncompiled(function: F) -> F:
    """The function as it is written, which gives the same; for work too small to load Numba for."""
    return cast("F", function.py_func) if isinstance(function, _Compiled) else function


def _register_jitable(function: F) -> F:
    """Let compiled functions call this one, which stays as it is for Python."""
    with _loading:
        _awaiting.append(function)
    return function


if TYPE_CHECKING:  # what they decorate is as untyped as Numba's own
    from numba import njit
    from numba.extending import register_jitable
else:
    njit, register_jitable = _njit, _register_jitable


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    if not compiles():
        msg = "this needs Numba, which is not installed: pip install 'voile[fast]'"
        raise InputError(msg)
    import numba  # noqa: PLC0415 - loaded on demand, which is the point

    _load_without_linear_algebra()
    from numba.core.caching import FunctionCache  # noqa: PLC0415
    from numba.extending import register_jitable as register  # noqa: PLC0415

    if not _loaded.is_set():
        _refuse_without_shapes()
    _loaded.set()
    while _awaiting:
        register(_awaiting.pop())
    new_cache: Any = FunctionCache
    rest = dict(options)
    cached = rest.pop("cache")
    made: Any = numba.njit(**rest)(function)
    template, plain = made.get_call_template, import_module("numba.types").unliteral
    made.get_call_template = lambda types, named: template(
        tuple(map(plain, types)), {name: plain(kind) for name, kind in named.items()}
    )
    if cached:
        with contextlib.suppress(OSError, RuntimeError):  # where there is no folder to keep it in
            made._cache = _as_the_disk_allows(new_cache(function))
    return made


def _load_without_linear_algebra() -> None:
    """Let Numba's functions of arrays be there before they look for a BLAS.

    A loop that multiplies matrices still finds it, when it is compiled.
    """
    with contextlib.suppress(ImportError, AttributeError):  # another version of Numba
        linear_algebra: Any = import_module("numba.np.linalg")
        ensure_blas = linear_algebra.ensure_blas
        linear_algebra.ensure_blas = lambda: None
        try:
            import_module("numba.np.arraymath")
        finally:
            linear_algebra.ensure_blas = ensure_blas


def _refuse_without_shapes() -> None:
    """Let the error of an array that does not fit into another not write out both shapes."""

    def refused(_given: object, _room: object) -> None:
        msg = "cannot assign an array of another size"
        raise ValueError(msg)

    with contextlib.suppress(ImportError, KeyError):  # another version of Numba
        arrays = vars(import_module("numba.np.arrayobj"))
        _ = arrays["raise_with_shape_context"]
        import_module("numba.extending").register_jitable(refused)
        arrays["raise_with_shape_context"] = refused


def _as_the_disk_allows(cache: Any) -> Any:
    """The cache, for which what cannot be read is not there, and what cannot be written is lost.

    What an earlier version has kept may name classes that are no more, and what two processes have
    kept at once may be that of other types; it is thrown away.
    """
    normalized = import_module("numba.core.sigutils").normalize_signature
    load, save = cache.load_overload, cache.save_overload

    def load_overload(types: Any, context: Any) -> Any:
        try:
            found = load(types, context)
        except OSError:
            return None
        except (AttributeError, EOFError, ImportError, UnpicklingError):
            found = None
        else:
            if found is None or tuple(found.signature.args) == tuple(normalized(types)[0]):
                return found
        with contextlib.suppress(OSError):
            cache.flush()
        return None

    def save_overload(*arguments: Any) -> None:
        with contextlib.suppress(OSError):
            save(*arguments)

    cache.load_overload, cache.save_overload = load_overload, save_overload
    return cache

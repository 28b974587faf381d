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

Machine code that needs nothing of Numba's is kept once more by itself, and later processes load it
with LLVM alone, in a tenth of the time.  That is the code of a loop without Python's lock which
takes whole arrays and numbers, gives one or nothing, and calls none of Numba's functions but those
that make and free arrays.  It is called as Numba's own functions call each other
(``numba.core.callconv.CPUCallConv``).  Whatever is otherwise, such as another signature, has the
loop called by Numba.  A file is for one source, some types, a processor and a version of LLVM, by
its name, and holds a hash of its code.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import pickle
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from voile_base.errors import InputError

__all__ = ["compiles", "njit", "pays", "pays_by_now", "register_jitable", "uncompiled"]

F = TypeVar("F", bound=Callable[..., object])

_loading = threading.RLock()
_WORTH_COMPILING = 10_000
_awaiting: list[Callable[..., object]] = []
"""Functions that Numba is to know of when it is loaded."""
_loaded = threading.Event()
_SOONER = 8
"""How many times sooner machine code is loaded that needs no Numba."""
_done_without = [0.0]
"""What was done without Numba, each as a share of what is worth loading it for."""


class _Compiled:
    """A function that is compiled when it is first called, from Python or from another."""

    def __init__(self, function: Callable[..., object], options: dict[str, object]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._dispatcher: Any = None
        self._kept: dict[str, _MachineCode | None] = {}

    def __call__(self, *arguments: object) -> Any:
        types = _types_of(arguments) if self._is_plain else None
        if types is None:
            return (self._dispatcher or self._load())(*arguments)
        if types not in self._kept:
            with _loading:
                if types not in self._kept:
                    self._kept[types] = _read_code(_place_of(self.py_func, types), types)
        code = self._kept[types]
        if code is not None:
            return code(arguments)
        made = self._load()(*arguments)
        self._keep(types, arguments)
        return made

    @property
    def _is_plain(self) -> bool:
        """Whether its machine code may be called without Numba."""
        return bool(self._options["cache"] and self._options.get("nogil"))

    def _keep(self, types: str, arguments: Sequence[object]) -> None:
        """Keep machine code that Numba has made, where there is none yet."""
        place = _place_of(self.py_func, types)
        with _loading:
            if place is None or place.exists():
                return
            try:
                made = _code_of(self._dispatcher, types, arguments)
            except (AttributeError, KeyError, RuntimeError):  # another version of Numba
                made = b"", b"", b""
            with contextlib.suppress(OSError):
                _write_code(place, made)
                _mark().touch()

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
    time is spent.  Where it is loaded already, fewer rows are worth it; so are they where machine
    code is kept that can be loaded without Numba.
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
        _done_without[0] += rows / least * (_SOONER if _are_kept() else 1)
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


def _dispatcher(function: Callable[..., object], options: dict[str, Any]) -> Any:
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
        except (AttributeError, EOFError, ImportError, pickle.UnpicklingError):
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


# -- machine code without Numba -------------------------------------------------------------------

_NUMBERS: dict[str, Any] = {
    "i8": ctypes.c_int64, "u8": ctypes.c_uint64, "f8": ctypes.c_double, "b1": ctypes.c_uint8
}  # fmt: skip
"""Types of numbers, by the letters NumPy has for them."""
_ENTRIES = frozenset(f"{kind}{size}" for kind in "iuf" for size in (1, 2, 4, 8)) | {"b1"}
"""Types of the entries of arrays."""
_IN_LLVM = {"i8": "i64", "u8": "i64", "f8": "double", "b1": "i8"}
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_ssize_t
_OF_ARRAY = (_POINTER, _POINTER, _SIZE, _SIZE, _POINTER)
"""Owner, parent, entries, bytes of an entry, and the entries; then comes the shape twice, first in
entries, then in bytes."""
_GIVEN = {
    "none": "", "int64": "i8", "uint64": "u8", "float64": "f8", "bool": "b1",
    "array(int64, 2d, C)": "i8.2", "array(float64, 1d, C)": "f8.1", "array(float64, 2d, C)": "f8.2",
}  # fmt: skip
"""What loops give, by Numba's names."""
_HARMLESS = re.compile(
    r"llvm\.(mem(set|cpy|move)|[us](min|max|add|sub|mul)|abs|ct(lz|tz|pop)|fsh[lr]|bswap|vector|"
    r"masked|lifetime|assume|experimental|x86\.atomic|fabs|minnum|maxnum|sqrt|log|exp)\b.*|"
    r"mem(set|cpy|move)|voile_(allocate|free)"
)
"""Functions outside of a loop that are there without Numba."""
_OF_NUMBA = {
    re.compile(r"declare [^\n]*@NRT_MemInfo_alloc_aligned\(i64[^,)]*, i32[^,)]*\)[^\n]*"): """
define internal noalias ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %to = zext i32 %align to i64
  %over = add i64 %to, 63
  %room = add i64 %size, %over
  %owner = call ptr @voile_allocate(i64 %room)
  %none = icmp eq ptr %owner, null
  br i1 %none, label %end, label %there
there:
  %address = ptrtoint ptr %owner to i64
  %behind = add i64 %address, %over
  %back = sub i64 0, %to
  %aligned = and i64 %behind, %back
  %data = inttoptr i64 %aligned to ptr
  store i64 1, ptr %owner
  %place = getelementptr i8, ptr %owner, i64 24
  store ptr %data, ptr %place
  br label %end
end:
  ret ptr %owner
}
""",
    re.compile(r"declare void @NRT_MemInfo_call_dtor\(ptr[^,)]*\)[^\n]*"): """
define internal void @NRT_MemInfo_call_dtor(ptr %owner) {
  call void @voile_free(ptr %owner)
  ret void
}
""",
    re.compile(r"declare [^\n]*@NRT_Allocate\(i64[^,)]*\)[^\n]*"): """
define internal noalias ptr @NRT_Allocate(i64 %size) {
  %made = call ptr @voile_allocate(i64 %size)
  ret ptr %made
}
""",
    re.compile(r"declare void @NRT_Free\(ptr[^,)]*\)[^\n]*"): """
define internal void @NRT_Free(ptr %made) {
  call void @voile_free(ptr %made)
  ret void
}
""",
}
"""What Numba's own library does for arrays that loops make: the first word of what owns one counts
those who use it, the fourth says where its entries are (``numba.core.runtime.nrtdynmod``).  What
has no owner is made and freed in one loop, such as a copy of what is written over itself."""
_FROM_OUTSIDE = """
declare ptr @voile_allocate(i64)
declare void @voile_free(ptr)
"""
_ENGINES: list[object] = []
"""What holds machine code that was loaded."""


def _types_of(arguments: Iterable[object]) -> str | None:
    """The types of arguments in few letters; None where only Numba knows how to call."""
    types = [_TYPES.get(type(one)) or _type_of(one) for one in arguments]
    return None if None in types else ",".join(cast("list[str]", types))


_ORDERS = "|<" if sys.byteorder == "little" else "|>"
_TYPES = {int: "i8", float: "f8", bool: "b1"}


def _type_of(one: object) -> str | None:
    if isinstance(one, tuple):
        inner = _types_of(one)
        return None if inner is None else f"({inner})"
    said: str = getattr(getattr(one, "dtype", None), "str", "|")
    letters = said[1:] if said[0] in _ORDERS else ""
    flags, shape = getattr(one, "flags", None), getattr(one, "shape", ())
    if flags is None or not shape:
        return letters if letters in _NUMBERS else None
    if letters not in _ENTRIES or not (flags.c_contiguous and flags.aligned):
        return None
    return f"{letters}.{len(shape)}{'' if flags.writeable else 'r'}"


def _flat(arguments: Sequence[object]) -> list[Any]:
    """What tuples hold in place of these."""
    flat: list[object] = []
    for one in arguments:
        flat += _flat(one) if isinstance(one, tuple) else [one]
    return flat


def _flat_types(types: str) -> list[tuple[str, int]]:
    """The letters of each type, without tuples, and the dimensions of an array, else 0."""
    split = (one.partition(".") for one in types.replace("(", "").replace(")", "").split(","))
    return [(letters, int(shape.rstrip("r") or 0)) for letters, _, shape in split]


@functools.cache
def _machine() -> str:
    """The version of LLVM, and the processor that machine code is for."""
    llvm = import_module("llvmlite.binding")
    llvm.add_symbol("voile_allocate", _address("PyMem_RawMalloc"))
    llvm.add_symbol("voile_free", _address("PyMem_RawFree"))
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    for name in ("log", "exp"):
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), _POINTER).value)
    told = [import_module("llvmlite").__version__, llvm.get_process_triple()]
    by_hand = [os.environ.get(f"NUMBA_CPU_{name}", "") for name in ("NAME", "FEATURES")]
    host = [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    return "\n".join([*told, *host, *by_hand])


def _address(name: str) -> int:
    return cast("int", ctypes.cast(getattr(ctypes.pythonapi, name), _POINTER).value)


def _place_of(function: Callable[..., object], types: str) -> Path | None:
    """The file that has the machine code of a function for arguments of some types."""
    if not compiles():
        return None
    try:
        source = Path(function.__code__.co_filename)
        status = source.stat()
        named = f"{function.__module__}.{function.__qualname__}"
        told = f"{named}\n{source}\n{status.st_mtime_ns} {status.st_size}\n{types}\n{_machine()}"
    except (AttributeError, ImportError, OSError):
        return None
    name = f"{function.__name__}-{blake2b(told.encode(), digest_size=16).hexdigest()}.loop"
    return _folder_beside(source) / name


def _folder_beside(source: Path) -> Path:
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return Path(folder) if folder else source.parent / "__pycache__"


def _mark() -> Path:
    """A file that says that machine code is kept on this machine."""
    return _folder_beside(Path(__file__)) / "loops.kept"


@functools.cache
def _are_kept() -> bool:
    return _mark().exists()


class _MachineCode:
    """A function of machine code, called by its address."""

    def __init__(self, address: int, types: str, gives: str) -> None:
        self._gives, self._dimensions = _flat_types(gives)[0]
        kinds: list[type] = []
        for letters, dimensions in _flat_types(types):
            many = (*_OF_ARRAY, *[_SIZE] * (2 * dimensions))
            kinds += many if dimensions else [_NUMBERS[letters]]
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER, *kinds)(address)

    def __call__(self, arguments: Sequence[object]) -> Any:
        given: list[object] = []
        for one in _flat(arguments):
            if getattr(one, "shape", ()):
                of_array = (None, None, one.size, one.itemsize, one.ctypes.data)
                given += [*of_array, *one.shape, *one.strides]
            else:
                given.append(one.item() if hasattr(one, "dtype") else one)
        found = (ctypes.c_uint64 * (len(_OF_ARRAY) + 2 * self._dimensions))()
        fault = _POINTER()
        if self._call(ctypes.addressof(found), ctypes.addressof(fault), *given):
            raise _error_at(fault)
        if self._dimensions:
            return _taken(found, self._gives, self._dimensions)
        number = _NUMBERS[self._gives].from_buffer(found).value if self._gives else None
        return bool(number) if self._gives == "b1" else number


def _taken(found: Iterable[int], letters: str, dimensions: int) -> object:
    """A copy of an array that a loop has made; its memory is given back."""
    owner, _, _, size, place, *rest = found
    numpy = import_module("numpy")
    shape, dtype = rest[:dimensions], numpy.dtype(letters)
    many = size * functools.reduce(lambda one, other: one * other, shape)
    made = numpy.frombuffer(ctypes.string_at(place, many), dtype).reshape(shape).copy()
    ctypes.pythonapi.PyMem_RawFree(_POINTER(owner))
    return made


def _error_at(place: ctypes.c_void_p) -> Exception:
    """The error of a loop, as Numba keeps it: its class, what it says, and where it is from."""
    unpickled = import_module("numba.core.serialize").pickle.loads
    pickled = ctypes.cast(place, ctypes.POINTER(_POINTER))[0]
    size = ctypes.cast(
        (place.value or 0) + ctypes.sizeof(_POINTER), ctypes.POINTER(ctypes.c_int32)
    )[0]
    kind, told, _ = unpickled(ctypes.string_at(pickled, size))
    return cast("Exception", kind(*(told or ())))


def _read_code(place: Path | None, types: str) -> _MachineCode | None:
    """Machine code that was kept; None where it was not, or only Numba can call it."""
    try:
        kept = place.read_bytes() if place else b""
    except OSError:
        return None
    digest, *parts = kept.split(b"\n", 3)
    if len(parts) < 3 or digest.decode("ascii", "replace") != _digest(*parts) or not parts[2]:
        return None
    llvm = import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(parts[2]))
    engine.finalize_object()
    address = engine.get_function_address(parts[0].decode())
    _ENGINES.append(engine)
    return _MachineCode(address, types, parts[1].decode()) if address else None


def _digest(*parts: bytes) -> str:
    return blake2b(b"\n".join(parts), digest_size=32).hexdigest()


def _write_code(place: Path, parts: tuple[bytes, bytes, bytes]) -> None:
    """Keep machine code, or that there is none, whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f"{place.name}.", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(b"\n".join([_digest(*parts).encode(), *parts]))
        Path(name).replace(place)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _code_of(
    dispatcher: Any, types: str, arguments: Sequence[object]
) -> tuple[bytes, bytes, bytes]:
    """The name of what Numba compiled, what it gives, and its code; empty where it needs Numba.

    All but the function, and what it calls, is taken out of its module.  If then a function from
    elsewhere is left, it is not to be called without Numba.
    """
    llvm = import_module("llvmlite.binding")
    signature = tuple(map(dispatcher.typeof_pyval, arguments))
    made = dispatcher.overloads[tuple(map(import_module("numba.types").unliteral, signature))]
    gives = _GIVEN.get(str(made.signature.return_type))
    name, library = made.fndesc.llvm_func_name, made.library
    with import_module("numba.core.compiler_lock").global_compiler_lock:
        text = str(llvm.parse_bitcode(library._get_module_for_linking().as_bitcode()))
        for declared, defined in _OF_NUMBA.items():
            text = declared.sub(defined, text)
        module = llvm.parse_assembly(text + _FROM_OUTSIDE)
        for one in (*module.functions, *module.global_variables):
            if not one.is_declaration:
                one.linkage = "external" if one.name == name else "internal"
        machine = library.codegen._tm
        passes = llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
        needed = [one.name for one in module.functions if one.is_declaration]
        plain = str(module.get_function(name).global_value_type) == _llvm_type(types)
        if gives is None or not plain or not all(map(_HARMLESS.fullmatch, needed)):
            return b"", b"", b""
        return name.encode(), gives.encode(), machine.emit_object(module)


def _llvm_type(types: str) -> str:
    """What LLVM says of a function of arguments of some types, as Numba makes it."""
    said = ["ptr", "ptr"]
    for letters, dimensions in _flat_types(types):
        many = ["ptr", "ptr", "i64", "i64", "ptr", *["i64"] * (2 * dimensions)]
        said += many if dimensions else [_IN_LLVM[letters]]
    return f"i32 ({', '.join(said)})"

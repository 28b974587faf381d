"""Modules and libraries that few calls need, imported when the first of their names is asked for.

    sparse = on_demand("scipy.sparse")

    if TYPE_CHECKING:
        from voile.study import single
    else:
        single = on_demand("voile.study.single")

Most of what Voile costs before it reads a row is loading: SciPy's optimization takes half a second
of processor, and the engine a tenth.  A module says here what it may need, at its top like any
import, and who does not reach that code does not pay for it.  A library without types stands by
itself; a module with types is imported for the type checker as well, and a test holds that both
name one module.  Compiled loops have ``voile_base.compiled``.

A ``dataclass`` of this module has its methods compiled when the first of them is called.  That of
the standard library compiles six for each class as soon as a module is loaded, .3 to .5 ms a class:
a small release loads 300 of them, makes objects of 60, and spent a sixth of its time there.  What
``pattern_on_demand`` gives is compiled when it is used, too.

Whether pictures can be drawn: matplotlib is an extra, and slow to load.
"""

from __future__ import annotations

import dataclasses
import gc
import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from voile_base.errors import InputError

__all__ = [
    "dataclass",
    "leave_loaded_out_of_searches",
    "leave_pandas_unloaded",
    "loaded",
    "on_demand",
    "pattern_on_demand",
    "require_plotting",
]


_own_process = threading.Event()


class _OnDemand:
    """Stands for a module until one of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if self._module is None:
            self._module = loaded(self._name)
        return getattr(self._module, name)


def on_demand(name: str) -> Any:
    """The module of a name, such as ``scipy.special``, not yet imported."""
    return _OnDemand(name)


def loaded(name: str) -> ModuleType:
    """A module, imported now; a command leaves what it brings out of searches for garbage."""
    if name in sys.modules or not (_own_process.is_set() and gc.isenabled()):
        return import_module(name)
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def leave_loaded_out_of_searches() -> None:
    """For a process of our own: what is loaded from now on is never looked through for garbage.

    What is loaded stays, and searching it takes a fifteenth of a small release.
    """
    _own_process.set()


class _Hidden:
    """Has a library not find another, as where that is not installed; everybody else finds it."""

    def __init__(self, name: str, by: str) -> None:
        self._name, self._by = name, by

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name != self._name:
            return
        asking = sys._getframe(1)
        while asking.f_back and "importlib" in asking.f_globals.get("__name__", ""):
            asking = asking.f_back
        if asking.f_globals.get("__name__", "").partition(".")[0] == self._by:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def leave_pandas_unloaded() -> None:
    """For a process of our own: scikit-learn does not load pandas to ask whether it has a frame.

    It does without; pandas takes 40 MiB, and half a second of processor.
    """
    if _own_process.is_set() and not any(isinstance(one, _Hidden) for one in sys.meta_path):
        sys.meta_path.insert(0, _Hidden("pandas", by="sklearn"))


def require_plotting(what: str = "a picture", install: str = "voile-base[plot]") -> None:
    """Raise ``InputError`` where matplotlib is absent, with what needs it and what to install."""
    if find_spec("matplotlib") is None:
        msg = f"{what} needs matplotlib: pip install '{install}'"
        raise InputError(msg)


if TYPE_CHECKING:
    from dataclasses import dataclass
    from re import compile as pattern_on_demand
else:

    class _Pattern:
        """A regular expression, which ``re.compile`` compiles when it is first used.

        What it has by then is its own attribute: it is as fast as that of the library.
        """

        def __init__(self, text, flags=0):
            self._given = text, flags

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            self.__dict__[name] = found = getattr(re.compile(*self._given), name)
            return found

    pattern_on_demand = _Pattern

    def dataclass(cls=None, /, **options):
        """``dataclasses.dataclass``, whose methods are compiled when the first of them is called.

        Options, fields, equality, hashes, texts, errors and pickles are those of the standard
        library.  Classes that inherit from a data class, say how they are compared, or have other
        options than ``frozen`` and ``eq`` are made by it at once.
        """
        if cls is None:
            return partial(dataclass, **options)
        if (
            not options.keys() <= {"frozen", "eq"}
            or any(map(dataclasses.is_dataclass, cls.__mro__))
            or not vars(cls).keys().isdisjoint((*_COMPILED, "__setattr__", "__delattr__"))
        ):
            return dataclasses.dataclass(**options)(cls)
        return _compiled_when_called(cls, **options)


_COMPILED = ("__init__", "__repr__", "__eq__", "__hash__")


def _compiled_when_called(cls: type, *, frozen: bool = False, eq: bool = True) -> type:
    """A class with its fields, and with methods that are compiled when one of them is called."""
    own = vars(cls)
    body = {name: own[name] for name in own.get("__annotations__", ()) if name in own}
    _with_fields(cls)
    state = cls.__dataclass_params__  # type: ignore[attr-defined]
    state.init, state.repr, state.eq, state.frozen = True, True, eq, frozen

    made: list[type] = []  # of no cache, which cannot be sent to other processes with a class

    def twin() -> type:
        """A class of the same fields, whose methods are all compiled."""
        if not made:
            kept = ("__annotations__", "__module__", "__qualname__", "__post_init__")
            named = {name: getattr(cls, name) for name in kept if hasattr(cls, name)}
            # A class without words of its own would have those of its signature worked out.
            bare = type(cls.__name__, (), {**body, **named, "__doc__": "fields"})
            made.append(dataclasses.dataclass(frozen=frozen, eq=eq)(bare))
        return made[0]

    for name in _COMPILED[: 4 if eq and frozen else 3 if eq else 2]:
        setattr(cls, name, _compiling(name, cls, twin))
    if eq and not frozen:
        cls.__hash__ = None  # type: ignore[assignment]
    if frozen:
        _freeze(cls)
    return cls


def _with_fields(cls: type) -> None:
    """Find the fields of a class, of whose types only those that change what a field is matter.

    The standard library looks for these in the text of each, a third of all that it takes.
    """
    stated = vars(cls).get("__annotations__", {})
    plain = not any(mark in str(of) for of in stated.values() for mark in _NO_FIELDS)
    if plain:
        cls.__annotations__ = dict.fromkeys(stated, object)
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    if plain:
        cls.__annotations__ = stated
        for name, field in vars(cls)["__dataclass_fields__"].items():
            field.type = stated[name]


_NO_FIELDS = ("ClassVar", "InitVar", "KW_ONLY")
"""Types of what is declared in the body of a class, and is no field or one by name alone."""


def _compiling(name: str, cls: type, twin: Callable[[], type]) -> Callable[..., Any]:
    """A method that the one of a twin takes the place of when it is called."""
    compiled: list[Callable[..., Any]] = []  # as above

    def method(self: object, /, *arguments: Any, **named: Any) -> Any:
        if not compiled:
            own = _ALONE[name](cls) if name in _ALONE else None
            compiled.append(own or getattr(twin(), name))
        if vars(cls)[name] is method:  # a decorator may have wrapped it
            setattr(cls, name, compiled[0])
        return compiled[0](self, *arguments, **named)

    return method


def _constructor(cls: type) -> FunctionType | None:
    """``__init__`` of a class, by itself; None where it takes more than fields by their order.

    The standard library compiles five other methods with it.
    """
    own = dataclasses.fields(cls)
    if len(own) < len(vars(cls)["__dataclass_fields__"]) or any(
        field.kw_only or not field.init or field.name == "self" for field in own
    ):
        return None
    names: dict[str, object] = {"_set_": object.__setattr__, "_unset_": (unset := object())}
    frozen = vars(cls)["__dataclass_params__"].frozen
    defaults, lines = [], []
    for field in own:
        name, value = field.name, field.name
        if field.default is not dataclasses.MISSING:
            defaults.append(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            defaults.append(unset)
            names[f"_of_{name}_"] = field.default_factory
            value = f"_of_{name}_() if {name} is _unset_ else {name}"
        elif defaults:
            return None  # the standard library says what is wrong with that
        lines.append(f"_set_(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join(["self", *(field.name for field in own)])
    text = "".join(f" {line}\n" for line in lines or ["pass"])
    whole = compile(f"def __init__({head}):\n{text}", f"<{cls.__qualname__}>", "exec")
    code = next(one for one in whole.co_consts if isinstance(one, CodeType))
    made = FunctionType(code, names, "__init__", tuple(defaults))
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {**{field.name: field.type for field in own}, "return": None}
    return made


def _hashing(cls: type) -> Callable[..., int]:
    """``__hash__`` of a class, of the values of its fields, without compiling any other method.

    Types that are told apart by what marks them hash a mark of a dozen classes.
    """
    fields = dataclasses.fields(cls)
    names = tuple(f.name for f in fields if (f.compare if f.hash is None else f.hash))
    many = attrgetter(*names) if len(names) > 1 else None

    def method(self: object) -> int:
        return hash(many(self) if many else tuple([getattr(self, name) for name in names]))

    method.__name__, method.__qualname__ = "__hash__", f"{cls.__qualname__}.__hash__"
    return method


_ALONE: dict[str, Callable[[type], Callable[..., object] | None]] = {
    "__init__": _constructor,
    "__hash__": _hashing,
}
"""Methods that can be made without the others of their class."""


def _freeze(cls: type) -> None:
    """Have a class refuse new values for its fields, and new attributes."""
    fields = frozenset(field.name for field in dataclasses.fields(cls))

    def refuse(self: object, name: str, act: str) -> None:
        if type(self) is cls or name in fields:
            msg = f"cannot {act} field {name!r}"
            raise dataclasses.FrozenInstanceError(msg)

    def assign(self: object, name: str, value: object) -> None:
        refuse(self, name, "assign to")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    def delete(self: object, name: str) -> None:
        refuse(self, name, "delete")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    type.__setattr__(cls, "__setattr__", assign)
    type.__setattr__(cls, "__delattr__", delete)

"""What has a name in a plan or a command: methods, criteria, attacks, measures, risks, engines.

Voile's own stand in a table of their registry, as "module:Name"; those of other packages announce
themselves by an entry point of a group such as ``voile.attacks``, in the same form.  Either is
imported when it is asked for: what has not been named costs nothing.  Own names are looked up
first, without a look at what is installed; nobody can take one of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from voile_base.errors import InputError, VoileError, nearest
from voile_base.ondemand import dataclass, on_demand

if TYPE_CHECKING:
    from importlib import metadata
    from importlib.metadata import EntryPoint
else:
    metadata = on_demand("importlib.metadata")

__all__ = ["Registry"]

T = TypeVar("T")


@dataclass(frozen=True)
class Registry(Generic[T]):
    """Classes by the names that plans and commands give them."""

    group: str
    """The group of entry points by which other packages add theirs."""
    what: str
    """One of them in words, with its article: "an attack"."""
    own: Mapping[str, str]
    """Where each of Voile's own is, as "module:Name"."""
    offers: tuple[str, ...]
    """What each of them must have: names of its methods and properties."""
    error: type[VoileError] = InputError
    parameter: str = "parameter"
    """What a field of one of them is to whoever names it."""
    typed: Callable[[type[Any]], type[Any]] | None = None
    """Lets a class of another package validate its fields, unless it does (``checked``)."""

    @cached_property
    def installed(self) -> Mapping[str, EntryPoint]:
        """Those of other packages, by name.

        Raises ``InputError`` where two packages give one name, or one gives a name of ours.
        """
        found: dict[str, EntryPoint] = {}
        if not _may_be_announced(self.group):
            return found
        for point in sorted(metadata.entry_points(group=self.group), key=lambda each: each.name):
            there = found.get(point.name)
            if point.name in self.own or (there and there.value != point.value):
                whose = "Voile" if point.name in self.own else f"the package {_package(there)}"
                msg = (
                    f"the package {_package(point)} adds {self.what} {point.name!r}, and {whose} "
                    "has one of this name; uninstall one of the two packages, or ask for another "
                    f"name in its entry points ({self.group})"
                )
                raise InputError(msg)
            found[point.name] = point
        return found

    def __contains__(self, name: str) -> bool:
        """Whether there is one of this name."""
        return name in self.own or name in self.installed

    @property
    def names(self) -> tuple[str, ...]:
        """All names: Voile's own in their order, then those of other packages by name."""
        return (*self.own, *self.installed)

    def class_of(self, name: str) -> type[T]:
        """The class of a name.

        Raises ``error`` where there is none, and ``InputError`` where another package announces
        what cannot be imported, or is no class that has what it must offer.
        """
        if (home := self.own.get(name)) is not None:
            module, title = home.split(":")
            return cast("type[T]", getattr(import_module(module), title))
        if (point := self.installed.get(name)) is not None:
            return self._of_package(point)
        msg = (
            f"there is no {self._bare} {name!r}{nearest(name, self.names)} "
            f"(known: {', '.join(self.names)})"
        )
        raise self.error(msg)

    def announced(self, name: str) -> Any:
        """What another package announces by a name, imported; raises as ``class_of``."""
        point = self.installed[name]
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            msg = (
                f"the package {_package(point)} announces {self.what} {name!r} at {point.value}, "
                f"which cannot be imported: {error}"
            )
            raise InputError(msg) from None

    def package_of(self, name: str) -> str:
        """The package that announces a name, for people."""
        return _package(self.installed[name])

    def fields_of(self, name: str) -> Mapping[str, Field[Any]]:
        """What can be said of one by name, its fields that are parameters; raises as above."""
        made = self.class_of(name)
        if not is_dataclass(made):
            return {}
        return {field.name: field for field in fields(made) if field.init}

    def make(self, name: str, parameters: Mapping[str, object]) -> T:
        """One with these parameters, and by default with what its fields say.

        Raises ``error`` where there is none of the name, where it does not have a parameter or
        lacks one that it needs, and whatever its own validation raises.  A class
        whose ``checks_itself`` is true (``values.value.checked``) says itself what is wrong.
        """
        made: Any = self.class_of(name)
        if getattr(made, "checks_itself", False):
            if name not in self.own:  # a list of a document is a tuple
                listed = {n: tuple(v) for n, v in parameters.items() if isinstance(v, list)}
                parameters = {**parameters, **listed}
            return cast("T", made(**parameters))
        known = self.fields_of(name)
        for given in parameters:
            if given not in known:
                msg = (
                    f"the {self._bare} {name!r} has no {self.parameter} {given!r}"
                    f"{nearest(given, known)} (known: {', '.join(known) or 'none'})"
                )
                raise self.error(msg)
        for field in known.values():
            required = field.default is MISSING and field.default_factory is MISSING
            if required and field.name not in parameters:
                msg = f"the {self._bare} {name!r} needs the {self.parameter} {field.name}"
                raise self.error(msg)
        return cast("T", made(**parameters))

    @property
    def _bare(self) -> str:
        return self.what.partition(" ")[2]

    def _of_package(self, point: EntryPoint) -> type[T]:
        made = self.announced(point.name)
        lacks = [name for name in self.offers if not hasattr(made, name)]
        if not isinstance(made, type) or lacks:
            what = f"has no {lacks[0]!r}" if lacks else "is no class"
            msg = (
                f"the package {_package(point)} announces {self.what} {point.name!r} at "
                f"{point.value}, which {what}"
            )
            raise InputError(msg)
        if self.typed and is_dataclass(made) and "checks_itself" not in vars(made):
            return cast("type[T]", self.typed(made))
        return cast("type[T]", made)


def _may_be_announced(group: str) -> bool:
    """Whether anything on the path may announce something of a group; True where that is unclear.

    ``importlib.metadata`` knows, and is not loaded where there is nothing: it takes as much
    processor time as all else that a command needs to say its help.
    """
    if any(hasattr(one, "find_distributions") for one in sys.meta_path if one is not PathFinder):
        return True
    head = f"[{group}]".encode()
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except NotADirectoryError:
            return True  # an archive
        except OSError:
            continue
        if any(name.endswith(".egg") for name in names):
            return True
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                with (
                    suppress(OSError),
                    open(f"{place or '.'}/{name}/entry_points.txt", "rb") as file,
                ):
                    if head in file.read():
                        return True
    return False


def _package(point: EntryPoint | None) -> str:
    """The package that announces an entry point, for people."""
    distribution = point.dist if point else None
    return repr(distribution.name) if distribution else "(unnamed)"

"""How releases that tests make by hand show their columns, told by their guarantee and method.

Roles, kind of guarantee and ``decision`` say it where nothing else does: which columns are
permuted, have noise, or are generalized to which level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from voile.disclosure.exact import Exact, Numbered, Permuted, Withheld
from voile.disclosure.interval import Generalized, Interval
from voile.disclosure.replaced import Moved, Noisy, PlanarZones, Remaining
from voile.disclosure.shown import Disclosure, GroupNumbering, Shown
from voile.table.published import GROUP, PublishedTable
from voile_base.errors import TableError
from voile_base.values import Document, exact_decimal
from voile_base.values.value import read

__all__ = ["disclosure_of"]

_MIXED = ("k-anonymity", "ranking")
"""Guarantees of releases whose groups may differ in detail."""
_PERIODS = re.compile(r"\d{4}-\d{2}-\d{2}[^/\s]*(/\d{4}-\d{2}-\d{2}[^/\s]*)?")
_INTERVALS = re.compile(r"\[[^,\[\]]*, [^,\[\]]*\]")
_POSITION = ("latitude", "longitude")


def disclosure_of(document: Mapping[str, object], table: PublishedTable) -> Disclosure:
    """How a release shows its columns, from what is said of it and its rows."""
    release = _Described(document, table)
    columns = dict(release.shown())
    return Disclosure(columns=columns, groups=release.groups(columns), sampled=release.sampled)


class _Described:
    """What is said of a release, beside its rows."""

    def __init__(self, document: Document, table: PublishedTable) -> None:
        self._table, self._columns = table, table.columns
        self._roles: Mapping[str, Sequence[str]] = document["columns"]
        self._method, guarantee = document["method"], document["guarantee"]
        self._kind, beta = guarantee["kind"], guarantee.get("beta")
        sampled = isinstance(beta, int | float) and 0 < beta < 1
        self.sampled = exact_decimal(beta) if sampled else None
        found = self._method.get("decision")
        self._decision: Document = found if isinstance(found, Mapping) else {}
        sensitive = self._roles.get("sensitive", ()) if self._kind == "ke-anonymity" else ()
        self._permuted = {*sensitive, *self._decision.get("permuted", ())}
        noise = None if self._permuted else self._decision.get("columns")
        self._noise: Document = noise if isinstance(noise, Mapping) else {}
        levels = self._decision.get("levels")
        self._levels: Mapping[str, int] = levels if isinstance(levels, Mapping) else {}
        self._stated = isinstance(levels, Mapping)

    def groups(self, columns: Mapping[str, Shown]) -> GroupNumbering | None:
        """What the numbers of groups are of; None where there are none."""
        if GROUP not in self._columns:
            return None
        if self._permuted:
            by = tuple(self._roles.get("sensitive", ()))
            return GroupNumbering(
                column=GROUP,
                made="blocks" if self._kind == "ke-anonymity" else "clusters",
                # Only a release made by hand has permuted columns, and none that decide the groups.
                by=by or tuple(sorted(self._permuted)),
            )
        coarse = tuple(name for name, shown in columns.items() if shown.coarse)
        known = [self._stem(column) for role in self._coarse_roles() for column in role]
        by = tuple(dict.fromkeys([*known, *coarse])) or tuple(columns)
        return GroupNumbering(column=GROUP, made="alike", by=by)

    def shown(self) -> Iterator[tuple[str, Shown]]:
        """Each column of the table, and how it is shown."""
        for name in dict.fromkeys(map(self._stem, self._columns)):
            if name != GROUP:
                yield name, self._shown(name)
        if "remaining" in self._roles:
            yield from ((name, Withheld()) for name in _POSITION if name not in self._columns)

    def _stem(self, column: str) -> str:
        """The column of the table that a published column shows.

        A table may have columns that are called like the ends of an interval.
        """
        stem, _, end = column.rpartition(".")
        if stem in self._noise:
            return stem
        ends = {f"{stem}.low", f"{stem}.high"}
        both = column in ends and ends <= set(self._columns) and stem not in self._columns
        coarse = any(column in names for names in self._coarse_roles()) or stem in self._levels
        return stem if end and both and coarse else column

    def _coarse_roles(self) -> Iterator[Sequence[str]]:
        for role in ("quasi_identifiers", "ranking"):
            yield self._roles.get(role, ())

    def _shown(self, name: str) -> Shown:
        if name in self._permuted:
            return Permuted()
        if name in self._noise:
            return self._noisy(name, self._noise[name])
        if (special := self._of_trips(name)) is not None:
            return special
        two = f"{name}.low" in self._columns and name not in self._columns
        level: Any = int(self._levels.get(name, 0))
        parts = {name, f"{name}.low"}
        if not self._stated and any(parts & set(names) for names in self._coarse_roles()):
            level = "differs" if self._kind in _MIXED else 0
        if level == 0:
            return Interval(level=0) if two else Exact()
        return self._labels(name, level, two=two)

    def _labels(self, name: str, level: object, *, two: bool) -> Shown:
        """A generalized column, whose cells tell whether they are intervals."""
        if two:
            return Interval(level=level)
        if name in self._method.get("orders", {}):
            return Interval(level=level, ends="range")
        if self._table.kinds()[name] != "text":
            return Generalized(level=level)
        texts = [text for text in self._table.cells([name], name).values.texts if text is not None]
        if texts and all(map(_INTERVALS.fullmatch, texts)):
            return Interval(level=level, ends="text")
        if (
            level == "differs"
            and all(map(_PERIODS.fullmatch, texts))
            and any("/" in t for t in texts)
        ):
            return Interval(level=level, ends="period")
        return Generalized(level=level)

    def _noisy(self, name: str, stated: Mapping[str, object]) -> Noisy:
        clusters = stated["clusters"]
        shares = self._method.get("shares", [])
        if len(shares) != len(clusters):
            shares = [1 / len(clusters)] * len(clusters)
        described = [{**c, "share": s} for c, s in zip(clusters, shares, strict=True)]
        ends = "columns" if f"{name}.low" in self._columns else "text"
        document = {"kind": "noisy", "step": stated["step"], "clusters": described, "ends": ends}
        noisy: Noisy = read(Noisy, document, f"the noise of column {name!r}", TableError)
        return noisy

    def _of_trips(self, name: str) -> Shown | None:
        """A column of a release of trips; None for others."""
        role = next((r for r in _TRIPS if name in self._roles.get(r, ())), None)
        if role is None:
            return None
        destination = self._method.get("destination")
        place = None if destination is None else (float(destination[0]), float(destination[1]))
        if role == "trip":
            return Numbered() if self._method.get("trips") == "numbered" else Exact()
        if role == "remaining":
            return Remaining(zones=self._zones(), destination=place)
        if role in _POSITION:
            return Moved(
                coordinate="latitude" if role == "latitude" else "longitude",
                law=self._distribution(),
                zones=self._zones(),
                decimals=int(self._decision["decimals"]),
                destination=place,
            )
        return None

    def _distribution(self) -> Any:
        method = self._method
        match method["mechanism"]:
            case "correlated-gaussian":
                return {"kind": "correlated-gaussian", "tau": float(method["tau"])}
            case "angle-selection":
                return {
                    "kind": "angle-selection",
                    "deviation": float(self._decision["deviation"]),
                    "start": method.get("start", "uniform"),
                }
        return {"kind": "planar-laplace"}

    def _zones(self) -> PlanarZones:
        method = self._method
        stated: dict[str, object] = {
            name: tuple(map(float, method[name]))
            for name in ("levels", "radii", "level_limits", "radius_limits", "centre")
            if name in method
        }
        stated.setdefault("levels", (float(method.get("epsilon") or 0),))
        if "zones_by" in method:
            stated["by"] = method["zones_by"]
        if "roads" in method:
            found = self._decision["map"]
            stated["radii"] = tuple(map(float, found["radii"]))
            stated["map"] = {
                "name": method["roads"],
                "digest": found["digest"],
                "within": method["roads_within"],
                "bounds": tuple(map(float, method["radius_bounds"])),
                "cell_metres": float(found["cell_metres"]),
                "cells": tuple(found["cells"]),
            }
        return PlanarZones(factor=float(self._decision.get("epsilon_factor", 1)), **stated)


_TRIPS = ("trip", "remaining", *_POSITION)

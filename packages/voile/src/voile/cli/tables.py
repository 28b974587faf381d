"""Tables as commands are told of them: files, parts of files, and addresses of databases."""

from __future__ import annotations

import click

from voile.table.places import Place, place_of

__all__ = ["TABLE"]


class _Table(click.ParamType[Place]):
    """Where a table stands; see ``table.places``."""

    name = "path"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Place:
        """The place; raises ``InputError`` for an address that cannot be."""
        del param, ctx
        return place_of(value)  # type: ignore[arg-type]


TABLE = _Table()

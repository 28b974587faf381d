"""The options of ``voile attack`` that tell adversaries what they know.

Voile's own attacks declare theirs in a table (``attack.asking``), so that none of them is loaded
for a list of options; attacks of other packages say in the metadata of a field how it is asked for.
Attacks that ask alike share an option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from voile.attack.protocol import OPTIONS, AttackOption
from voile.attack.registry import ATTACKS
from voile.cli.tables import TABLE
from voile.table.places import Place
from voile_base.errors import InputError

__all__ = ["destination", "knowledge_said", "options_of_attacks", "used_by"]

_TYPES: Mapping[str, Any] = {
    "whole number": int,
    "number": float,
    "people": TABLE,
}


def options_of_attacks() -> Mapping[str, click.Option]:
    """The options, by the names under which their values are found.

    Raises ``InputError`` where two attacks mean different things by one option.
    """
    asked = {one.option: one for one in OPTIONS}
    for name in ATTACKS.installed:
        for one in _asked_by(name).values():
            if asked.setdefault(one.option, one) != one:
                msg = f"the attack {name!r} and another mean different things by {one.option}"
                raise InputError(msg)
    return {destination(one): _option(one) for one in asked.values()}


def knowledge_said(
    name: str, said: Mapping[str, Any], people: Callable[[Place], Any]
) -> dict[str, Any]:
    """What was said of the adversary of an attack, by the names of its fields.

    ``said`` are the values of options, None or False where one was not given; ``people`` reads a
    file of people.
    """
    known = {}
    for field, one in _asked_by(name).items():
        value = said.get(destination(one))
        if value is not None and value is not False:
            known[field] = people(value) if one.reading == "people" else value
    return known


def used_by(name: str) -> frozenset[str]:
    """The names of the options for which an attack has a use."""
    return frozenset(map(destination, _asked_by(name).values()))


def destination(asked: AttackOption) -> str:
    """The name under which Click puts the value of an option."""
    return asked.option.lstrip("-").replace("-", "_")


def _asked_by(name: str) -> Mapping[str, AttackOption]:
    """How the fields of an attack are asked for, of those that are."""
    known = ATTACKS.fields_of(name).items()
    return {field: it.metadata["asked"] for field, it in known if "asked" in it.metadata}


def _option(asked: AttackOption) -> click.Option:
    read = {"texts": _texts, "decimal": _decimal}.get(asked.reading)
    return click.Option(
        [asked.option],
        is_flag=asked.reading == "flag",
        type=_TYPES.get(asked.reading),
        callback=read,
        metavar=asked.metavar,
        help=asked.words,
    )


def _texts(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _decimal(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> Decimal | None:
    try:
        return None if text is None else Decimal(text)
    except InvalidOperation:
        msg = f"{text!r} is not a number"
        raise click.BadParameter(msg, context, parameter) from None

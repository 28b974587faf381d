"""The options of ``voile attack`` that tell adversaries what they know.

Voile's own attacks declare theirs in a table (``attack.asking``), so that none of them is loaded
for a list of options; attacks of other packages say in the metadata of a field how it is asked for.
Attacks that ask alike share an option.

An option with several values: ``--previous A B`` beside ``--previous A --previous B``.

Click gives an option a fixed number of values.  Here every name behind the option is its, up to the
next option.  The argument of the command stands before the option, or behind a later one; where it
stands in neither place, the last of the names is the argument, as in ``--previous A B NEW``: with a
single name before it, that is how such a call has always been read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from voile.attack.asking import OPTIONS, AttackOption
from voile.attack.registry import ATTACKS
from voile.cli.options import TABLE
from voile.table.places import Place
from voile_base.errors import InputError
from voile_base.values import Document, Json

__all__ = ["TakesSeveral", "knowledge_said", "options_of_attacks", "used_by"]


_TYPES: Document = {
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
    return {_destination(one): _option(one) for one in asked.values()}


def knowledge_said(name: str, said: Document, people: Callable[[Place], Any]) -> Json:
    """What was said of the adversary of an attack, by the names of its fields.

    ``said`` are the values of options, None or False where one was not given; ``people`` reads a
    file of people.
    """
    known = {}
    for field, one in _asked_by(name).items():
        value = said.get(_destination(one))
        if value is not None and value is not False:
            known[field] = people(value) if one.reading == "people" else value
    return known


def used_by(name: str) -> frozenset[str]:
    """The names of the options for which an attack has a use."""
    return frozenset(map(_destination, _asked_by(name).values()))


def _destination(asked: AttackOption) -> str:
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


class TakesSeveral(click.Command):
    """A command with one argument, one of whose repeatable options takes several values."""

    def __init__(self, *arguments: Any, several: str, **named: Any) -> None:
        """``several`` is the option as it is typed."""
        super().__init__(*arguments, **named)
        self._several = several

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of a call, the option once for each of its values."""
        return super().parse_args(ctx, self._spread(ctx, args))

    def _spread(self, ctx: click.Context, words: Sequence[str]) -> list[str]:
        """The words with the option before each of its values, and the argument where it is due."""
        others, groups = self._apart(list(words))
        named = [group for group in groups if len(group) > 1]
        argument: list[str] = []
        if named and not self._has_argument(others):
            if len(named) > 1:
                msg = (
                    f"which of the names behind {self._several} is the release to look at cannot "
                    "be told: put it first"
                )
                raise click.UsageError(msg, ctx)
            argument = [named[0].pop()]
        spread = [word for group in groups for value in group for word in (self._several, value)]
        bare = [self._several] * any(not group for group in groups)  # which Click refuses
        return [*argument, *spread, *others, *bare]

    def _apart(self, words: list[str]) -> tuple[list[str], list[list[str]]]:
        """All other words, and the values behind each time that the option stands there."""
        others: list[str] = []
        groups: list[list[str]] = []
        while words:
            word = words.pop(0)
            if word == "--":
                return [*others, word, *words], groups
            if word == self._several:
                group: list[str] = []
                while words and not (group and words[0].startswith("-")):
                    group.append(words.pop(0))
                groups.append(group)
            else:
                others.append(word)
                if word in self._with_value and words:
                    others.append(words.pop(0))
        return others, groups

    def _has_argument(self, words: Sequence[str]) -> bool:
        """Whether a word is neither an option nor its value."""
        left = iter(words)
        for word in left:
            if word == "--":
                return next(left, None) is not None
            if word in self._with_value:
                next(left, None)
            elif not word.startswith("-"):
                return True
        return False

    @property
    def _with_value(self) -> frozenset[str]:
        """The options that have a value behind them."""
        options = (one for one in self.params if isinstance(one, click.Option) and not one.is_flag)
        return frozenset(name for option in options for name in option.opts)

"""An option with several values: ``--previous A B`` beside ``--previous A --previous B``.

Click gives an option a fixed number of values.  Here every name behind the option is its, up to the
next option.  The argument of the command stands before the option, or behind a later one; where it
stands in neither place, the last of the names is the argument, as in ``--previous A B NEW``: with a
single name before it, that is how such a call has always been read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

__all__ = ["TakesSeveral"]


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

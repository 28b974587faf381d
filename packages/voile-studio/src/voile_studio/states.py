"""Undo and redo: every state that a project's plan was in, each under its own hash.

    states/a1b2c3.toml       a state: the plan's text
    states/line.json         the hashes in the order in which they were reached, and which is now

Hierarchies that were edited stand in files of their own, which nothing overwrites, so that a plan
says all that a state is.

Going back loses nothing: what is changed after an undo comes behind all that was there, with the
state that was gone back to once more, so that undo leads through every state there ever was.
A plan that a command or an editor changed meanwhile is a state, too, as soon as Studio meets it.

What stands here is as private as the plan.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from voile_base.durable import replace_private_file
from voile_base.errors import InputError

__all__ = ["PlanStates"]

_DIGEST = 8
_PRIVATE = 0o700


@dataclass(frozen=True)
class _Line:
    """The states in the order in which they were reached."""

    digests: tuple[str, ...] = ()
    now: int = -1


@dataclass(frozen=True)
class PlanStates:
    """The states of one project, in its folder."""

    folder: Path

    @property
    def back(self) -> int:
        """How many states can be gone back."""
        return max(0, self._line.now)

    @property
    def forth(self) -> int:
        """How many states can be gone forth."""
        line = self._line
        return len(line.digests) - line.now - 1 if line.digests else 0

    def record(self, plan: str) -> None:
        """Put a plan behind all others, unless it is the one that stands."""
        line, digest = self._line, _digest(plan)
        if line.digests and line.digests[line.now] == digest:
            return
        self.folder.mkdir(mode=_PRIVATE, exist_ok=True)
        replace_private_file(self.folder / f"{digest}.toml", plan)
        again = line.digests[line.now : line.now + 1] if self.forth else ()
        digests = (*line.digests, *again, digest)
        self._keep(_Line(digests, len(digests) - 1))

    def step(self, by: int) -> str:
        """The plan before (-1) or after (1), which now stands; raises ``InputError`` for none."""
        line = self._line
        to = line.now + by
        if not 0 <= to < len(line.digests):
            msg = "there is nothing to undo" if by < 0 else "there is nothing to redo"
            raise InputError(msg)
        found = self._state(line.digests[to])
        self._keep(_Line(line.digests, to))
        return found

    def _state(self, digest: str) -> str:
        try:
            plan = (self.folder / f"{digest}.toml").read_text("utf-8")
        except (OSError, ValueError):
            plan = ""
        if _digest(plan) != digest:
            msg = "that state of the plan cannot be read any more, or was altered"
            raise InputError(msg)
        return plan

    @property
    def _line(self) -> _Line:
        try:
            said = json.loads((self.folder / "line.json").read_text("utf-8"))
            line = _Line(tuple(map(str, said["digests"])), int(said["now"]))
        except (OSError, ValueError, KeyError, TypeError):
            return _Line()
        return line if 0 <= line.now < len(line.digests) else _Line()

    def _keep(self, line: _Line) -> None:
        text = json.dumps({"digests": line.digests, "now": line.now})
        replace_private_file(self.folder / "line.json", text)


def _digest(plan: str) -> str:
    return blake2b(plan.encode(), digest_size=_DIGEST).hexdigest()

"""``assumptions.toml``: what a human must make sure of, and who has.

    [[assumption]]
    says = "each row is another person"
    ticked = true
    by = "data protection officer"

``voile check`` writes the file with nothing ticked, and adds what another policy asks at its end; a
line that somebody wrote is never changed.  Statements count by their words: where a promise comes
to assume something else, nobody has ticked it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import model_validator

from voile_base.durable import replace_private_file
from voile_base.errors import InputError, place_in_toml
from voile_base.values.toml import toml_text
from voile_base.values.value import Value, read

__all__ = ["ASSUMPTIONS", "Tick", "read_ticks", "ticked", "with_form"]

ASSUMPTIONS = "assumptions.toml"
_HEAD = """\
# What no machine can see. Say ticked = true, and by whom (a role), of what somebody has made sure.
"""


class Tick(Value):
    """One statement, and whether somebody has made sure of it."""

    says: str
    ticked: bool = False
    by: str | None = None
    """A role, where it is ticked."""

    @model_validator(mode="after")
    def _by_somebody(self) -> Self:
        if self.ticked and not (self.by and self.by.strip()):
            msg = 'what is ticked says by whom: by = "data protection officer"'
            raise ValueError(msg)
        return self


class _Form(Value):
    assumption: tuple[Tick, ...] = ()


def ticked(says: str, ticks: Sequence[Tick]) -> str | None:
    """The role that has made sure of a statement; None where nobody has."""
    return next((one.by for one in ticks if one.says == says and one.ticked), None)


def read_ticks(path: Path) -> tuple[Tick, ...]:
    """What stands in the file, nothing where there is none; raises ``InputError``."""
    return _parsed(path)[1]


def with_form(path: Path, statements: Sequence[str]) -> tuple[Tick, ...]:
    """What stands in the file, to which statements that are missing are added, unticked.

    Raises ``InputError`` where it cannot be read or written.
    """
    text, found = _parsed(path)
    known = {one.says for one in found}
    new = [Tick(says=says) for says in dict.fromkeys(statements) if says not in known]
    if new:
        document = [toml_text({"says": one.says, "ticked": False, "by": ""}) for one in new]
        added = "".join(f"\n[[assumption]]\n{one}" for one in document)
        replace_private_file(path, (text or _HEAD).rstrip("\n") + "\n" + added)
    return (*found, *new)


def _parsed(path: Path) -> tuple[str, tuple[Tick, ...]]:
    try:
        text = path.read_text(encoding="utf-8")
        form: _Form = read(_Form, tomllib.loads(text), str(path), public=True, tables=True)
    except FileNotFoundError:
        return "", ()
    except tomllib.TOMLDecodeError as error:
        msg = f"{path}: this is not valid TOML at {place_in_toml(error)}"
        raise InputError(msg) from None
    except (OSError, UnicodeDecodeError):
        msg = f"{path}: it cannot be read as a UTF-8 text file"
        raise InputError(msg) from None
    return text, form.assumption

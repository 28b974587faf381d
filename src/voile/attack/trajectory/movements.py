"""How trucks move, as a file says it: the adversary's law of movement for other vehicles or roads.

# movement.toml; every key may be left out
usual     = 10.0     # m/s, of a truck that moves
deviation = 6.0      # m/s
memory    = 120.0    # seconds in which the correlation of speeds falls to 1 / e
fastest   = 28.0     # m/s: no truck is faster
standing  = 0.08     # the probability of standing still from one report to the next
stop      = 35.0     # seconds in which the correlation of standing falls to 1 / e

[traffic]            # how much is driven on a metre of road of each class; others count 1
motorway = 4.0
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from voile.attack.trajectory.inference import Movement
from voile.errors import InputError, PlanError
from voile.schema.keys import known_keys, number_between

__all__ = ["read_movement"]


def read_movement(path: str | Path) -> Movement:
    """The movement that a TOML file describes; raises ``InputError`` with what is wrong in it."""
    file = Path(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{file}: the file cannot be read: {error.strerror}"
        raise InputError(msg) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{file}: the file is not valid TOML: {error}"
        raise InputError(msg) from None
    try:
        return _movement(document)
    except PlanError as error:
        msg = f"{file}: {error}"
        raise InputError(msg) from None


def _movement(document: dict[str, Any]) -> Movement:
    names = [one.name for one in fields(Movement)]
    known_keys("the file of movement", document, names)
    given: dict[str, Any] = {}
    for name, value in document.items():
        if name == "traffic":
            given[name] = _traffic(value)
        elif name == "memory" and value == 0:
            given[name] = 0.0
        else:
            most = 1 if name == "standing" else None
            given[name] = float(number_between(name, value, 0, most))
    return Movement(**given)


def _traffic(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        msg = "traffic must be a table: [traffic] and a line for each class of roads"
        raise PlanError(msg)
    return {name: float(number_between(f"traffic {name}", one, 0)) for name, one in value.items()}

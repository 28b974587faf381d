"""How trucks move, as a file says it: the adversary's model of movement for other vehicles.

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
from pathlib import Path
from typing import Annotated

from pydantic import Field

from voile.attack.trajectory.inference import TRAFFIC, Movement
from voile_base.errors import InputError
from voile_base.values.value import Real, Value, read

__all__ = ["read_movement"]

Speed = Annotated[Real, Field(gt=0)]


class StatedMovement(Value):
    """What the file may hold: the fields of ``Movement``."""

    usual: Speed = Movement.usual
    deviation: Speed = Movement.deviation
    memory: Annotated[Real, Field(ge=0)] = Movement.memory
    fastest: Speed = Movement.fastest
    standing: Annotated[Real, Field(gt=0, lt=1)] = Movement.standing
    stop: Speed = Movement.stop
    traffic: dict[str, Speed] = Field(default_factory=lambda: dict(TRAFFIC))


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
    stated: StatedMovement = read(StatedMovement, document, str(file), public=True, tables=True)
    return Movement(**dict(stated))

"""The suites that there are, by their names and by their codes in messages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from voile_base.errors import InputError, nearest
from voile_share.protocol.paper_suite import PaperSuite
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.suite import Suite
from voile_share.protocol.voile_suite import VoileSuite

__all__ = ["suite_named", "suite_of_code"]

_SUITES: Mapping[str, Suite] = MappingProxyType({"voile": VoileSuite(), "paper": PaperSuite()})


def suite_named(name: str = "voile") -> Suite:
    """The suite of that name; raises ``InputError``."""
    if name not in _SUITES:
        msg = f"there is no suite {name!r}{nearest(name, _SUITES)} (known: {', '.join(_SUITES)})"
        raise InputError(msg)
    return _SUITES[name]


def suite_of_code(code: int) -> Suite:
    """The suite that a message names; raises ``RejectedError``."""
    for suite in _SUITES.values():
        if suite.code == code:
            return suite
    msg = f"the message is of suite {code}, which this program does not know"
    raise RejectedError(Reason.SUITE, msg)

"""The package of somebody else in ``tests/others``, installed for the time of a test."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from voile.attack.registry import ATTACKS
from voile.audit.risk import RISKS
from voile.disclosure.shown import SHOWN
from voile.models.criteria import CRITERIA
from voile.publish.registry import METHODS
from voile.recognisers.recognition import RECOGNISERS
from voile.release.claims import CLAIMS
from voile.release.recounting import FORMS
from voile.table.decisions import TREATMENTS
from voile.table.engines import ENGINES
from voile.table.formats.registry import FORMATS
from voile.utility.protocol import MEASURES

__all__ = ["OTHERS", "environment_with_others", "others_installed"]

OTHERS = Path(__file__).parent / "others"
"""Where the package and its announcement are."""


@contextmanager
def others_installed() -> Iterator[None]:
    """Let this process find the package."""
    _forget()
    sys.path.insert(0, str(OTHERS))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(OTHERS))
        _forget()


def environment_with_others() -> Mapping[str, str]:
    """The environment of a process that finds the package."""
    path = os.pathsep.join([str(OTHERS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def _forget() -> None:
    """Let registries look anew at what is installed."""
    for registry in (
        *(ATTACKS, CLAIMS, CRITERIA, ENGINES, FORMATS, FORMS),
        *(MEASURES, METHODS, RECOGNISERS, RISKS, SHOWN, TREATMENTS),
    ):
        vars(registry).pop("installed", None)

"""``verdict.json``: each criterion of a policy with its figure and ruling; private."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from voile.policy.case import FileDocument
from voile.policy.ruling import Ruling
from voile.study.documents import schema_of, without_heading
from voile.study.record import PRIVATE
from voile_base.errors import InputError
from voile_base.values.value import Several, checked, plain

__all__ = [
    "NO_ADVICE",
    "VERDICT",
    "Verdict",
    "read_verdict",
    "verdict_document",
    "verdict_schema",
]

VERDICT = "verdict.json"
VERDICT_FORMAT = "voile-verdict-1"
NO_ADVICE = (
    "This is evidence, held against figures that somebody has chosen. It is no legal advice, and "
    "no finding that the law is kept"
)


@checked(InputError)
@dataclass(frozen=True)
class Verdict:
    """What a policy says to a release and its evidence; private."""

    policy: str
    """The name of the policy."""
    text: str
    """All of it, as it was stated."""
    judged: Literal["study", "audit", "release"]
    files: Several[FileDocument]
    """What is published."""
    rulings: Several[Ruling]
    advice: str = NO_ADVICE

    @property
    def passed(self) -> bool:
        """Whether every criterion is met; signatures are not among them."""
        return all(ruling.passed for ruling in self.rulings)


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """A verdict for JSON; the first key says that it is private."""
    return {"private": PRIVATE, "format": VERDICT_FORMAT, **plain(verdict)}


def read_verdict(path: Path) -> Verdict:
    """Read a verdict back; raises ``InputError`` where the file holds none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        msg = f"{path}: there is no verdict; run voile check first"
        raise InputError(msg) from None
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict) or document.get("format") != VERDICT_FORMAT:
        msg = f"{path}: this is no verdict in the format {VERDICT_FORMAT}; run voile check again"
        raise InputError(msg)
    try:
        return Verdict(**without_heading(document))
    except (InputError, TypeError) as error:
        msg = f"{path}: {error}; run voile check again"
        raise InputError(msg) from None


def verdict_schema() -> dict[str, Any]:
    """The schema of ``verdict.json``, for programs that read it."""
    return schema_of("Voile: the verdict of a policy (private)", VERDICT_FORMAT, Verdict)

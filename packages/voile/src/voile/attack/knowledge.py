"""What adversaries are supposed to know: the fields that several attacks share, checked alike."""

from __future__ import annotations

from collections.abc import Sequence

from voile.attack.asking import asks
from voile.disclosure.synthetic import Synthetic
from voile.release.release import Release
from voile_base.errors import InputError

__all__ = [
    "COLUMNS",
    "LINK",
    "TARGETS",
    "WITHIN",
    "check_names",
    "check_targets",
    "checked_columns",
    "nobody_known",
    "require_sense",
]

COLUMNS = asks("--columns")
LINK = asks("--link")
WITHIN = asks("--within")
TARGETS = asks("--targets")


def check_targets(targets: int | None) -> None:
    """Raise ``InputError`` unless an attack is aimed at somebody; None is everybody."""
    if targets is not None and targets < 1:
        msg = "the number of targets must be at least 1"
        raise InputError(msg)


def checked_columns(
    columns: Sequence[str] | None, link: str | None = None
) -> tuple[str, ...] | None:
    """The known columns, each once; raises ``InputError`` where the link is among them."""
    if columns is None:
        return None
    if link in columns:
        msg = f"column {link!r} is the link, which the adversary must not know"
        raise InputError(msg)
    return tuple(dict.fromkeys(columns))


def check_names(names: Sequence[str] | None, earlier: Sequence[Release]) -> None:
    """Raise ``InputError`` unless there is a name for each release, where there are names."""
    if names is not None and len(names) != 1 + len(earlier):
        msg = f"give {1 + len(earlier)} names: of the newest release and of all earlier"
        raise InputError(msg)


def nobody_known(release: Release, columns: Sequence[str] | None) -> str | None:
    """Why nobody can be known in a release, as a clause; None where somebody can."""
    if any(isinstance(one, Synthetic) for one in release.disclosure.columns.values()):
        return "its rows are made up, so that none of them is anybody's"
    if columns is None and not any(
        release.roles.get(role) for role in ("quasi_identifiers", "ranking")
    ):
        return "the release has no quasi-identifier by which people could be known"
    return None


def require_sense(name: str, refusal: str | None) -> None:
    """Raise ``InputError`` where an attack is refused."""
    if refusal is not None:
        msg = f"the attack {name!r} makes no sense here: {refusal}"
        raise InputError(msg)

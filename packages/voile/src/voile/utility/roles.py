"""Which columns of the original a release shows in which role."""

from __future__ import annotations

from voile.utility.covering import published_columns
from voile.utility.protocol import Comparison

__all__ = ["columns_in_role"]


def columns_in_role(comparison: Comparison, role: str) -> tuple[str, ...]:
    """Names of the original's columns that are published in a role, in the order of the role.

    ``role`` is one of those of ``Release.roles``, such as "quasi_identifiers".
    """
    published, known = comparison.published, published_columns(comparison)
    owners = map(published.disclosure.owner, published.release.roles.get(role, ()))
    return tuple(dict.fromkeys(name for name in owners if name in known))

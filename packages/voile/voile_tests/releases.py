"""Releases made by hand, for tests of those who read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from voile.release.claims import UnknownClaim
from voile.release.release import Guarantee, Release
from voile.table.published import PublishedTable
from voile_base.errors import TableError
from voile_testing.disclosing import disclosure_of

__all__ = ["described", "permuted", "promised", "restating"]


def promised(
    kind: str,
    parameters: Mapping[str, Any],
    statement: str = "as stated",
    assumes: Sequence[str] = (),
) -> Guarantee:
    """A guarantee of this kind; one that nobody can check where its parameters say too little."""
    document = {"kind": kind, **parameters, "statement": statement, "assumes": [*assumes]}
    try:
        return Guarantee.of_document(document)
    except TableError:
        return Guarantee((UnknownClaim(kind=kind, parameters=dict(parameters)),), statement)


def permuted(k: float, e: float, name: str) -> Guarantee:
    """The promise of (k,e)-anonymity of a column, in the words that its claims allow."""
    return promised(
        "ke-anonymity",
        {"k": k, "e": e},
        f"({k}, {e})-anonymous: within each group, the values of {name!r} number at least {k} "
        f"distinct ones, span at least {e}, and are permuted uniformly at random, so nobody's "
        "value can be narrowed down further than to their group",
        (
            "nobody but the custodian knows any of the sensitive values",
            "no other published data is derived from the same values",
        ),
    )


def described(
    table: PublishedTable,
    method: Mapping[str, Any],
    guarantee: Guarantee,
    roles: Mapping[str, Sequence[str]],
    release_id: str = "0" * 32,
    *,
    publishable: bool = True,
    **more: Any,
) -> Release:
    """A release whose method, guarantee and roles say how it shows its columns."""
    document = {"method": method, "guarantee": guarantee.document(), "columns": roles}
    return Release(
        table=table,
        method=method,
        disclosure=disclosure_of(document, table),
        guarantee=guarantee,
        roles={role: tuple(names) for role, names in roles.items()},
        release_id=release_id,
        publishable=publishable,
        **more,
    )


def restating(release: Release, name: str, **changes: Any) -> Release:
    """The release with other facts stated of one column."""
    disclosure = release.disclosure
    columns = {**disclosure.columns, name: disclosure.columns[name].model_copy(update=changes)}
    return replace(release, disclosure=disclosure.model_copy(update={"columns": columns}))

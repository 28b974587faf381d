"""A method of somebody else: it permutes columns within groups of equal sensitive values.

That is what M-Shuffle does with categories; nothing in it but its own statement tells so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from voile.disclosure.exact import Exact, Permuted
from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.publish.publisher import Capabilities, SingleRelease
from voile.release.claim_checks import PublicRelease
from voile.release.claims import Claim
from voile.release.history import History
from voile.release.release import Guarantee, Pay, PrivateRecord, Publication, Release, unaccounted
from voile.table.decisions import Grouping, PermutedColumn, Treatment
from voile.table.private import PrivateTable
from voile_base.randomness import Randomness
from voile_base.values import Document


class Mixed(Claim):
    """A claim of its own, which says how it is checked."""

    kind: Literal["mixed"] = "mixed"
    wording: ClassVar[Document | None] = {
        "claims": ["mixed"],
        "says": ["columns are mixed"],
        "methods": {"mixing": []},
    }

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Nothing but that something is permuted."""
        if not published.disclosure.permuted:
            yield "nothing is mixed"


@dataclass(frozen=True)
class Mixing(SingleRelease):
    """Permute these columns."""

    capabilities: ClassVar[Capabilities] = Capabilities(exact_kept=True)

    columns: tuple[str, ...] = ()

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release."""
        roles = table.plan.roles
        counts = table.count_combinations(roles.sensitive)
        each = np.arange(len(counts.rows))
        groups = Grouping.of_counts(counts, each)
        shown = table.apply(Treatment(tuple(map(PermutedColumn, self.columns)), groups), randomness)
        columns = {
            name: Permuted() if name in self.columns else Exact() for name in roles.published
        }
        release = Release(
            table=shown,
            method={"name": "mixing"},
            disclosure=Disclosure(
                columns=columns,
                groups=GroupNumbering(column="group", made="clusters", by=roles.sensitive),
            ),
            guarantee=Guarantee((Mixed(),), "columns are mixed"),
            roles={
                "quasi_identifiers": roles.quasi_identifiers,
                "sensitive": roles.sensitive,
                "keep": roles.keep,
            },
            release_id=randomness.token("release"),
            publishable=randomness.publishable,
        )
        private = PrivateRecord(
            table.rows, shown.rows, suppressed=0, held=0, objective="0", decision={}
        )
        return Publication(release, private)

"""What an adversary reads in the published files, coded by numbers that all releases share.

A release shows two kinds of tokens, and in which group each stands: people (tuples of the
columns that are published unpermuted) and sensitive values.  A token of one kind occurs as often
as it has rows; which person goes with which value is what a release hides.

People are told apart over the releases by all published columns but the sensitive one, and are
known to the adversary by the quasi-identifiers among them; several tuples may be one "person".

Cost for n rows in all releases: one grouping of the rows, and a sort of the distinct tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from voile.release.release import Release
from voile.schema.numbers import ExactNumbers
from voile.table.alignment import Codes, common_codes, joint_codes
from voile.table.arrays import Frame, frame_of
from voile_base.errors import TableError

__all__ = ["SeenRelease", "SeriesEvidence", "TokenCounts", "gather"]


@dataclass(frozen=True, eq=False)
class TokenCounts:
    """How often tokens of one kind stand in the groups of one release.

    Parallel arrays over the distinct pairs; groups are numbered from 1.
    """

    item: Codes
    group: Codes
    rows: Codes

    def totals(self, items: int) -> Codes:
        """Rows of each of the items, shape (items,)."""
        return np.bincount(self.item, self.rows, items).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SeenRelease:
    """One release as the adversary sees it."""

    name: str
    values: TokenCounts
    people: TokenCounts
    labels: Codes
    """The published number of each group; entry 0 stands for absence."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.values.rows.sum())


@dataclass(frozen=True, eq=False)
class SeriesEvidence:
    """Releases, newest first, and the meaning of the codes in them."""

    releases: tuple[SeenRelease, ...]
    sensitive: str
    levels: ExactNumbers
    """The distinct sensitive values of all releases, ascending: value i is ``levels[i]``."""
    tuples: int
    """Number of distinct tuples by which people are told apart."""
    person: Codes
    """The person of each tuple, shape (tuples,)."""
    persons: Frame
    """Quasi-identifiers of each person."""

    def only(self, releases: Sequence[SeenRelease]) -> SeriesEvidence:
        """The same with fewer releases."""
        return SeriesEvidence(
            tuple(releases), self.sensitive, self.levels, self.tuples, self.person, self.persons
        )


def gather(releases: Sequence[Release], names: Sequence[str]) -> SeriesEvidence:
    """Read the evidence in releases, newest first.

    Raises ``TableError`` where a release lacks the groups or the sensitive column of the newest,
    or where the releases have no quasi-identifier in common.
    """
    sensitive = _sensitive(releases[0], names[0])
    known = _common(releases, [release.roles.get("quasi_identifiers", ()) for release in releases])
    if not known:
        msg = f"{names[-1]}: has no quasi-identifier in common with {names[0]}; nobody can be known"
        raise TableError(msg)
    kept = _common(releases, [release.roles.get("keep", ()) for release in releases])
    numbers = [
        _groups(release, name, sensitive) for release, name in zip(releases, names, strict=True)
    ]
    both = list(zip(releases, numbers, strict=True))
    values = [release.table.group_values(sensitive, group) for release, group in both]
    members = [release.table.group_members([*known, *kept], group) for release, group in both]
    levels, value_codes = joint_codes([seen.values for seen in values])
    tuples, tuple_codes = common_codes([frame_of(tuples) for tuples, _, _ in members])
    persons, (person,) = common_codes([tuples.select(known)])
    published = []
    for index, name in enumerate(names):
        _, groups, rows = members[index]
        labels = np.unique(groups)
        published.append(
            SeenRelease(
                name=name,
                values=TokenCounts(
                    value_codes[index],
                    np.searchsorted(labels, values[index].group) + 1,
                    values[index].rows,
                ),
                people=TokenCounts(tuple_codes[index], np.searchsorted(labels, groups) + 1, rows),
                labels=np.concatenate(([0], labels)),
            )
        )
    return SeriesEvidence(tuple(published), sensitive, levels, tuples.height, person, persons)


def _sensitive(release: Release, name: str) -> str:
    sensitive = release.roles.get("sensitive", ())
    if len(sensitive) != 1:
        msg = f"{name}: has {len(sensitive)} sensitive columns; this attack needs exactly one"
        raise TableError(msg)
    return sensitive[0]


def _groups(release: Release, name: str, sensitive: str) -> str:
    """The column with the numbers of groups; raises ``TableError`` where a release is no use."""
    groups = release.disclosure.groups
    if groups is None or sensitive not in release.table.columns:
        lacks = "no groups" if groups is None else f"no column {sensitive!r}"
        msg = (
            f"{name}: has {lacks}, which this attack needs; name a release with groups and the "
            "same sensitive column"
        )
        raise TableError(msg)
    return groups.column


def _common(releases: Sequence[Release], named: Sequence[Sequence[str]]) -> list[str]:
    """Names of the newest release that all releases publish."""
    return [name for name in named[0] if all(name in release.table.columns for release in releases)]

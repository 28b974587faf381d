"""Trees of records: a root for many, and a proof that one is among them.

Source: RFC 9162, section 2.1 (Certificate Transparency), with SHA-256: leaves and nodes are hashed
under different first bytes, and no leaf is counted twice, so that a root has one meaning.  A leaf
is a report's record (``protocol.Record``, encoded), which holds a digest of the report's body: one
proof serves readers, who have the report, and auditors, who have the record.

Cost: n hashes for a root, log2 n for a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from voile_base.errors import InputError

__all__ = ["Inclusion", "leaf_of", "path_of", "root_of", "verify_inclusion"]

_HASH_BYTES = 32
_HEAD_BYTES = 8 + 4 + 4


def leaf_of(record: bytes) -> bytes:
    """The hash of a record."""
    return sha256(b"\0" + record).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root of the hashes of one record or more."""
    level = list(leaves)
    while len(level) > 1:
        level = _above(level)
    return level[0]


def path_of(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """What stands beside a leaf on its way to the root, from below."""
    level, path = list(leaves), []
    while len(level) > 1:
        beside = index ^ 1
        if beside < len(level):
            path.append(level[beside])
        level, index = _above(level), index // 2
    return tuple(path)


def _above(level: Sequence[bytes]) -> list[bytes]:
    """The hashes of pairs; one that is left over goes up as it is."""
    pairs = [_node(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
    return pairs + list(level[len(pairs) * 2 :])


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


@dataclass(frozen=True)
class Inclusion:
    """Where a record is: which root of its truck's company, and its path there."""

    number: int
    """Of the root."""
    index: int
    """Of the leaf, from 0."""
    size: int
    """How many leaves the tree has."""
    path: tuple[bytes, ...]

    def root(self, leaf: bytes) -> bytes | None:
        """The root to which a leaf leads; None where the path cannot be one of such a tree."""
        index, last, found, left = self.index, self.size - 1, leaf, list(reversed(self.path))
        if not 0 <= index <= last:
            return None
        while last > 0:
            # At the right edge of the tree a node without a neighbour goes up as it is.
            if index % 2 or index < last:
                if not left:
                    return None
                beside = left.pop()
                found = _node(beside, found) if index % 2 else _node(found, beside)
            index, last = index // 2, last // 2
        return None if left else found

    def encode(self) -> bytes:
        """16 bytes, and 32 for each level."""
        head = (self.number.to_bytes(8, "big"), self.index.to_bytes(4, "big"))
        return b"".join((*head, self.size.to_bytes(4, "big"), *self.path))

    @classmethod
    def decode(cls, proof: bytes) -> Self:
        """Raises ``InputError``."""
        path, head = proof[_HEAD_BYTES:], proof[:_HEAD_BYTES]
        if len(head) < _HEAD_BYTES or len(path) % _HASH_BYTES or len(path) > 32 * _HASH_BYTES:
            msg = "a proof of inclusion has 16 bytes, and 32 for each of up to 32 levels"
            raise InputError(msg)
        number, index, size = (
            int.from_bytes(head[a:b], "big") for a, b in ((0, 8), (8, 12), (12, 16))
        )
        steps = (path[at : at + _HASH_BYTES] for at in range(0, len(path), _HASH_BYTES))
        return cls(number, index, size, tuple(steps))


def verify_inclusion(record: bytes, inclusion: Inclusion, root: bytes) -> bool:
    """Whether a record (``protocol.Record``, encoded) is under a root."""
    return inclusion.root(leaf_of(record)) == root

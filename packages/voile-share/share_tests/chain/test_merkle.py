"""Trees of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile_base.errors import InputError
from voile_share.chain.anchor_log import Inclusion, _path_of, leaf_of, root_of, verify_inclusion

RECORDS = [b"record %d" % number for number in range(70)]
sizes = st.integers(1, len(RECORDS))


def by_the_book(leaves: Sequence[bytes]) -> bytes:
    """The root as RFC 9162 defines it, by recursion."""
    if len(leaves) == 1:
        return leaves[0]
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1" + by_the_book(leaves[:left]) + by_the_book(leaves[left:])).digest()


def included(index: int, size: int) -> tuple[Inclusion, bytes]:
    """The proof of a record among so many, and their root."""
    leaves = [leaf_of(record) for record in RECORDS[:size]]
    return Inclusion(7, index, size, _path_of(leaves, index)), root_of(leaves)


def test_roots_are_those_of_the_standard() -> None:
    """For every size up to 70 the root is the recursive definition's."""
    for size in range(1, len(RECORDS) + 1):
        leaves = [leaf_of(record) for record in RECORDS[:size]]
        assert root_of(leaves) == by_the_book(leaves)


@given(sizes, st.data())
def test_every_record_is_proven_and_nothing_else(size: int, data: st.DataObject) -> None:
    """A proof holds for its record, and for no other record, place, size or path."""
    index = data.draw(st.integers(0, size - 1))
    proof, root = included(index, size)
    assert verify_inclusion(RECORDS[index], proof, root)
    assert Inclusion.decode(proof.encode()) == proof
    other = data.draw(st.integers(0, len(RECORDS) - 1).filter(lambda one: one != index))
    assert not verify_inclusion(RECORDS[other], proof, root)
    assert not verify_inclusion(RECORDS[index], replace(proof, index=other), root)
    assert not verify_inclusion(RECORDS[index], replace(proof, path=(*proof.path, root)), root)
    if proof.path:
        step = data.draw(st.integers(0, len(proof.path) - 1))
        cut = (*proof.path[:step], *proof.path[step + 1 :])
        flipped = bytes([proof.path[step][0] ^ 1]) + proof.path[step][1:]
        changed = (*proof.path[:step], flipped, *proof.path[step + 1 :])
        assert not verify_inclusion(RECORDS[index], replace(proof, path=cut), root)
        assert not verify_inclusion(RECORDS[index], replace(proof, path=changed), root)


def test_an_inner_node_is_no_record() -> None:
    """Two leaves side by side, given out as one record, are not under the root."""
    leaves = [leaf_of(record) for record in RECORDS[:2]]
    forged = leaves[0] + leaves[1]
    assert not verify_inclusion(forged, Inclusion(0, 0, 1, ()), root_of(leaves))


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused(proof: bytes) -> None:
    """What decodes encodes to the same bytes, and leads to some root or to none."""
    try:
        read = Inclusion.decode(proof)
    except InputError:
        return
    assert read.encode() == proof
    assert not verify_inclusion(b"record", read, b"root")


def test_a_proof_of_too_many_levels_is_refused() -> None:
    """33 levels would be more leaves than the size can say."""
    with pytest.raises(InputError):
        Inclusion.decode(bytes(16 + 33 * 32))

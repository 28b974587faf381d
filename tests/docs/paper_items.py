"""The numbered things of the five papers, written down from the papers, one list for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["PAPERS"]


def _numbered(kind: str, last: int) -> list[str]:
    return [f"{kind} {number}" for number in range(1, last + 1)]


PAPERS: Mapping[str, Sequence[str]] = {
    "bin-packing": [
        *_numbered("Algorithm", 2),
        *_numbered("Eq.", 33),
        *_numbered("Table", 2),
        *_numbered("Figure", 8),
    ],
    "k-arq": [
        *_numbered("Definition", 8),
        "Hardness",
        "Perfect Recall",
        "Perfect Precision",
        "Mondrian",
        *_numbered("Algorithm", 4),
        "Greedy Insertion",
        "θ-rapid",
        "Table 1",
        "Parameters",
        *_numbered("Figure", 13),
    ],
    "trajectories": [
        *_numbered("Definition", 2),
        "Theorem 1",
        *_numbered("Lemma", 3),
        *_numbered("Algorithm", 2),
        *_numbered("Protocol", 3),
        *_numbered("Eq.", 16),
        *_numbered("Table", 2),
        *_numbered("Figure", 11),
    ],
    "m-shuffle": [
        *_numbered("Algorithm", 2),
        *_numbered("Eq.", 8),
        *_numbered("Table", 4),
        *_numbered("Figure", 4),
    ],
    "incremental-ke": [
        *_numbered("Definition", 5),
        *_numbered("Lemma", 3),
        "Theorem 1",
        "Naive algorithm",
        "Proposed algorithm",
        "Complexity",
        *_numbered("Figure", 22),
    ],
}

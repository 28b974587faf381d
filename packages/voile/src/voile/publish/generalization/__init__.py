"""Generalization: rows share their published quasi-identifiers with enough others.

- ``publisher``     the publisher: its parameters, and how a release is made
- ``terms``         the parameters l and t, and the criteria that they mean
- ``statement``     the guarantee in words, and why there may be no release
- ``problem``       what an algorithm is given and what it answers
- ``objective``     what to lose least of, with bounds for the search
- ``auto``          the better of both kinds below; with the least that any of them loses
- ``chosen``        whether another table would have got the same groups

Full domain: one level for all values of a column, a node of a lattice.

- ``flash``, ``ola``   the best node
- ``datafly``          some node, by one greedy climb, in lattices of any size
- ``search``           what the first two share: verdicts, bounds, and the proof of the best
- ``lattice``          nodes and their neighbours
- ``evaluation``       what a node does to the counted rows
- ``rolling``, ``grouping``   tables of groups, rolled up from finer ones

Partitions: every group shows what its own rows need.

- ``mondrian``, ``k_optimize``   the algorithms
- ``atoms``, ``cutting``, ``regions``   rows to be cut, cuts, and what groups show
"""

from voile.publish.generalization.publisher import Generalization

__all__ = ["Generalization"]

"""Generalization: rows share their published quasi-identifiers with enough others.

- ``publisher``     the publisher: its parameters, how a release is made, and the choice ``auto``
- ``statement``     the guarantee in words, and why there may be no release
- ``lasting``       a series of releases, whose groups last
- ``problem``       the parameters l and t; what an algorithm is given and what it answers, and for
  which other tables alike

Full domain: one level for all values of a column, a node of a lattice.

- ``lattice_search``   Flash and OLA, which find the best node, and Datafly, one greedy climb
- ``lattice``          nodes, their neighbours, and what to lose least of
- ``evaluation``       what a node does to the counted rows
- ``grouping``         tables of groups

Partitions: every group shows what its own rows need.

- ``mondrian``, ``k_optimize``   the algorithms
- ``regions``                  what groups show
"""

from voile.publish.generalization.publisher import Generalization

__all__ = ["Generalization"]

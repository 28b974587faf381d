"""M-Shuffle: weakly tied columns, each permuted within clusters of like sensitive values.

Publishes: all rows; the sensitive columns, the kept ones, and the quasi-identifiers that are
strongly tied to the sensitive ones (QIA) or hold at most two values (QIB) as they are; chosen
weakly tied quasi-identifiers (QIC) permuted, each by itself, within each cluster; the number of the
cluster as the column ``group``.

Source: "Privacy Preserving in Big Data Sets through Multiple Shuffle" (ACSW 2017), all sections;
eq. 8 for the automatic choice.

Guarantee: every permutation of each permuted column within clusters is equally likely, and
independent of those of other columns.  So the distribution of every column within every cluster is
exactly that of the private table.  Nothing else is promised: no k-anonymity and no differential
privacy.  Columns that stay identify people as well as they did before.

Algorithm: the engine counts combinations of sensitive values, alone and with each quasi-identifier;
``clustering`` divides them (k-means, in one dimension exactly optimal); ``columns`` ranks
quasi-identifiers by their tie to the clusters; ``decision`` chooses, among many divisions with what
``measured`` says of them; the engine permutes.

Persons with several rows: each weighs one in whatever is chosen by, clusters, ties, entropies, the
probability of guessing and the divergence, divided evenly among their rows (``schema.persons``).
Repeating all rows changes no choice.  What the release states of its columns are counts of its
rows, which it shows.  Rows are permuted by themselves: a value that moves between two rows of one
person hides nothing, and an arrangement that differs from another by such moves alone is no other
to an adversary.  So each cluster has rows of at least two persons; where it holds two values of a
column besides, these can be named as two persons', so that permuting does mix persons.  Who knows
one row of a person learns which values stand in its cluster, and how often; a person with many of
its rows has many of these.  Who knows all rows finds the cluster of each, and what is the same in
all of them stands in all of these clusters.  The guarantee says so.

Cost: a count of n rows for each quasi-identifier and one for the sensitive columns; the decision
depends on n only through distinct values; permuting is O(n) for each column.  The automatic choice
counts all published columns together once.

Departures from the source:

- its rule for QIC is the entropy of a column, which does not measure a tie between two columns;
  the default is the adjusted mutual information with the clusters, ``rule = "entropy"`` is its own;
- its P_table cannot see what clusters cost; the default counts distinct arrangements within
  clusters; each release states P_table besides, and ``probability = "paper"`` limits by it;
- its printed Algorithm 2 tests rand() <= 1, which is always true, and permutes nothing; this does;
- k-means from random starts misses the optimum of its twelve salaries in four clusters in 84 % of
  runs; one numeric column is solved exactly, ``start = "random"`` is its own.
"""

from voile.publish.m_shuffle.publisher import MShuffle

__all__ = ["MShuffle"]

"""Microaggregation: like rows in groups of k or more, each of which shows its middle.

Publishes: of the columns that it is about, the middle of each group of like rows in the place of
their values: the mean or the median of numbers, the most frequent text, or the row that is nearest
to all; other columns as they are, all rows, in an order that tells nothing.

Sources: those of ``decision``.

Guarantee: each published combination of these columns, or each value of every one of them where
columns are grouped by themselves (``heuristic = "univariate"``), is that of at least k rows, or of
rows of k persons; measured again on the output.  Where all quasi-identifiers are among the columns
the release is k-anonymous.  How far values lie from their middle on average is published, to two
digits: it is computed from all rows and is no promise about any.

Algorithm: the engine counts distinct combinations; ``decision`` groups them; where persons have
several rows, groups of fewer than k persons join the nearest one.

Cost: that of ``decision``, and one count of combinations and one look-up a row.
"""

from voile.publish.microaggregation.publisher import Microaggregation

__all__ = ["Microaggregation"]

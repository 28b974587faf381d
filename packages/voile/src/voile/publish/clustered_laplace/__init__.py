"""Laplace noise within clusters of similar values.

Publishes: each numeric quasi-identifier with noise, as ``NAME`` and as an interval from
``NAME.low`` to ``NAME.high`` that holds the value with a stated confidence; other columns as they
are, all rows, in an order that tells nothing.

Source: "Privacy-Preserving Bin-Packing With Differential Privacy" (IEEE OJ-CS 2022), Algorithm 2
and eqs. 21 to 23.

Guarantee, with ``bounds = "public"`` (the default): epsilon-differential privacy of the perturbed
values for one row replaced by another within the public bounds.  The budget of a column is spent
on the borders of the clusters (private quantiles, a tenth), on drawing the cluster of each row
(randomized response), and on noise of scale width / budget around the value, which is first moved
into the drawn cluster.  Given the borders and its cluster, a row's start differs by at most the
width from that of any other row, so the three budgets add up (sequential composition).

Persons with several rows (``rows_per_person = m``): at most m rows of each are published
(``publish.contribution``), and neighbours differ in the values of all rows of a person: in m rows
at most, in as many on both sides.  A row gets an m-th of the budget; ``columns`` says why.

With ``bounds = "data"``, the seed's algorithm, each value is only indistinguishable from the
others of its own cluster.  Borders and ranges come from the data: one row can change the scale of
every other, and the privacy loss is unbounded (50 rows, a range that one value moves from 1 to
10, epsilon 1: a loss of 116).

Algorithm: the engine counts distinct values; ``columns`` decides clusters, split and grid;
the engine draws a cluster and noise for each row, as a function of a key and the row's identity.
Noise is an exact discrete Laplace draw on a power-of-two grid (``voile.dp.discrete_noise``).

Cost: one pass over n rows to count, some 0.1 microseconds a row and column to draw; O(d c) memory
for d distinct values and c clusters.

Departures from the source: the formal variant; exact noise in place of floating point; rows of
one value stay in one cluster; clusters of a single value, which the seed publishes without any
noise, join a neighbour.  The interval's half-width r has P(noise within r) >= confidence on both
sides together (eq. 23); an upper end alone is right with probability (1 + confidence) / 2.
"""

from voile.publish.clustered_laplace.publisher import ClusteredLaplace

__all__ = ["ClusteredLaplace"]

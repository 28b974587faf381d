"""Differentially private tables: counts, sums, means and quantiles of all cells, with intervals.

Publishes: for each table that the plan names, and for each combination of levels of its columns,
the estimated count of every cell of the public domain, with an interval; the number of all rows;
where the plan asks for them the sums, means and quantiles of numbers (``release.cell_measures``);
and the noisy counts and sums behind them (``measurements``).

Who publishes tables with noise by another command calls ``NoisyTables``, whose docstring says how.

Guarantee: rho-zero-concentrated differential privacy for one row, or one person with at most m
rows, more or less, by discrete Gaussian noise; or pure epsilon by discrete Laplace noise.  Proof of
the price: as that of ``publish.dp_synthesis``, whose measuring it shares.  A sum is of numbers that
are clamped to public bounds; measured from their middle in p parts of half their width and rounded
once, after it was added up, it changes by at most p for each row (``table.domains``): m p for m.
Domains, levels, tables and shares follow from the plan alone, and cells, intervals and what is
suppressed from the measurements and the plan.

Source: consistency over levels after Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of
differentially private histograms through consistency" (VLDB 2010), over shared margins after Barak
et al. (PODS 2007); both at once by the decomposition of ``voile.dp.marginals``.

Algorithm.  (1) The engine counts the tables in one pass; coarser levels are sums of that.  (2) All
tables at all levels, and the total, get even shares of the budget and noise: Laplace noise, or,
with a delta, Gaussian noise if its intervals are narrower, which a public rule decides by the
number of tables, those of sums counted: a person changes one cell of each, so that Laplace noise
grows with that number and Gaussian noise with its root.  (3) Cells are estimated from all tables,
with their variances.
(4) ``show_from`` suppresses estimates below it, and widens the intervals of the others.

Departure from the field: negative estimates are published as they are.  Counts that are raised to 0
are biased, and no longer add up.

Cost: the count; see ``voile.dp.marginals``.
"""

from voile.publish.dp_tables.asked import NoisyTables, TableTerms
from voile.publish.dp_tables.publisher import DPTables

__all__ = ["DPTables", "NoisyTables", "TableTerms"]

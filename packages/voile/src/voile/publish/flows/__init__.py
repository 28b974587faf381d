"""Flows instead of tracks: how many trips go from where to where, and along which roads, by hour.

What it publishes: a table with a row for each cell and no row of the private table.  Cells are the
hours, each with all pairs of zones, and with all stretches of a public map if one is named; all of
them are published, also those that count nothing, for which cells there are must not tell anything.

Guarantee: epsilon-differentially private for one vehicle more or less, with all its trips.
Assumptions: zones, hours and the map are public and do not come from the data; trips of one vehicle
have its id.

Source: the discrete Laplace mechanism (Ghosh, Roughgarden and Sundararajan 2009) on histograms of
bounded contributions, as in Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson,
"Differentially private SQL with bounded user contribution" (PETS 2020).

Algorithm.  Of each vehicle at most ``trips`` trips count, drawn by a key, and of each of these at
most ``passages`` pairs of a stretch and an hour.  So a vehicle changes counts of trips by at most
``trips`` in all, and counts of passages by at most ``trips`` x ``passages``.  Trips are counted at
three levels: cells, hours, and pairs of zones of all hours; each gets a share of epsilon
(``levels``), and discrete Laplace noise with what a vehicle changes over that.  All that is
published is estimated from the three, consistently (``voile.dp.marginals``): sums of 1,000 cells
have the noise of 1,000 cells, which buries an hour or a day that is measured by itself precisely.

Cost: a sort of the n reports; 50 ns a cell for noise, and eight passes over the cells.

Departure from the source: numbers of persons are not published, and no cell is left out for being
small, since the cells are public.
"""

from voile.publish.flows.publisher import Flows

__all__ = ["Flows"]

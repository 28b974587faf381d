"""Generalization with a differentially private choice, of a random sample of the rows.

Publishes: a sample of the rows with their values generalized, every published combination of
values shared by at least k rows; numbers become intervals where their hierarchy says so.

Source: "Privacy-Preserving Bin-Packing With Differential Privacy" (IEEE OJ-CS 2022), Algorithm 1,
eqs. 13 to 20, after Li, Qardaji and Su, "On sampling, anonymization, and differential privacy"
(ASIACCS 2012), and Bild, Kuhn and Prasser, "SafePub" (PoPETs 2018).

Guarantee: (epsilon, delta)-differential privacy for one row more or less.  epsilon is the budget
of the choice plus an excess of at least -ln(1 - beta), and delta follows from k, beta and the
excess (``voile.dp.sampling``).  Assumes public hierarchies and parameters.  All published columns
take part: one without a declared hierarchy that is no quasi-identifier is published where k rows
share its very values, for the proof fails as soon as anything about a row of a group shows.

Outcome.  Where no group of the drawn node has k sampled rows the release shows that node and no
row: an output of step (4) like any other, of which the proof of (epsilon, delta) holds as of all
sets of outputs.  So every table has a release, at one and the same price, and whether a release
shows rows tells no more of one row than epsilon and delta allow.  Ending without a release instead
would be seen as well, and whoever may begin again until one comes tells k rows from k - 1 for
certain, at the price of one release.  What ends before anything is drawn (a value outside its
public bounds or unknown to its hierarchy, an empty table, a spent budget) depends on the plan, on
the account and on whether the table is what the plan says, which is assumed.

Persons with several rows (``rows_per_person = m``): at most m rows of each take part
(``publish.contribution``), and neighbours differ in a person with all its rows, so by m rows at
most.  Each step pays for m rows:
- the node: the score of a group moves by at most D with one row, so by m D with m rows, and not
  less where they come to m groups of the most sensitive size.  Utilities stay monotone.
- the sample: (x, delta) with an excess x of at least -m ln(1 - beta) and delta of m rows, which may
  fall into any groups; derived in ``voile.dp.sampling``, where it is less than m steps of one row.
- the least size k counts rows, not persons, as delta does: it hides how often a row was sampled.
Their rows cannot wait for the next pool: the pairing below exchanges rows of one person for rows of
others, and of these again at most m may take part, so the pools would differ in several persons.

Algorithm: (1) the engine counts combinations of values; (2) every node of the lattice gets its
utility, what it publishes times what it leaves of the values (``decision``); (3) the
exponential mechanism draws one of all nodes; (4) each row is sampled with
probability beta, generalized by that node, and published if its group has k rows.

Rows carried over to the next pool (``suppressed = "carry"``): the budgets of successive pools add
up.  Given what a release shows, the rows that it leaves out of two neighbouring tables can be
paired so that they differ in one row: which j rows of a group were published is uniform, so where
the one more row was among them another one of the group waits in its place.  (With ``choice =
"sampled"`` they are not uniform given the node, and this is not proven.)

Cost: one pass over n rows for each count, one roll-up of groups for each of the N nodes of the
lattice (at most ten million), and one pass to publish.

Departures from the source, with ``choice = "expected"``, the default:

- The node is chosen on all rows, before and apart from the sample that is published.  The seed
  chooses it on that sample, and its proof treats the node as chosen without it.  But a node at
  which chance sampled too many rows of a group is then likelier to be chosen: enumeration finds
  a table of five rows whose delta is 0.3616 where eq. 14 says 0.36 (a test has it).  A sum of
  delta over all nodes bounds what can happen.
- The utility is the expected number of published rows, to which one row matters far less than k;
  the draw is sharper at the same budget.
- One row more never lowers a utility, so the exponent needs no factor 1/2 (eq. 18).
- Counts are not divided by the number of rows: that number is private where rows come and go.
  The seed's eps' (eq. 33) is ``epsilon_choice`` * |D| / (2 k).

``choice = "sampled"`` is the seed's version.  There the exponent keeps its factor 1/2 (the proof
exchanges one sampled row for another, eq. 20), and delta is summed over the nodes.  For m rows it
exchanges each that was sampled into a published group for another one of that group, and takes each
that was sampled into a small group out: at most m changes, which move a utility by m k.
"""

from voile.publish.dp_generalization.publisher import DPGeneralization

__all__ = ["DPGeneralization"]

"""Differentially private synthesis: made-up rows that count like the rows of the table.

Publishes: rows of nobody over public domains, and the noisy tables that they were made from
(``measurements``), of which whoever wants intervals computes them.

Guarantee: rho-zero-concentrated differential privacy for one row, or one person with at most m
rows, more or less, by discrete Gaussian noise; or, without a delta, pure epsilon by discrete
Laplace noise.  Source of both: ``voile.dp``; price of each table: ``measuring``.

Proof of the price.  The domain, the tables, the shares and the noise follow from the plan alone.
Which cell a row counts in is a function of its own values, and which rows of a person take part
is one of that person's rows and a key (``publish.contribution``), so neighbours' counts of table
t differ by a vector of whole numbers whose absolute values sum to at most m: its squared length
is at most m^2.  With variance m^2 / (2 rho_t) the noisy table is rho_t-concentrated private
(Canonne, Kamath and Steinke 2020, Theorem 4); tables are drawn independently, so all of them
together are sum rho_t = rho (Bun and Steinke 2016, Lemma 1.7), and (epsilon, delta)-private by
one conversion of the sum.  Everything after ``measured`` sees the measurements, the plan and a
key: the fit (``fitting`` can import no table), the number of rows, the rows.  So it costs nothing
more, can be repeated by anybody, and takes a number of steps that tells nothing.

What ends a call before a charge depends on the plan alone: values beyond the domain, missing ones,
an empty table or ids that are missing are counted somewhere, or left out, and refuse nothing.

Algorithm: (1) the engine counts all one-way tables and all pairs in one pass; (2) noise; (3) a
mixture of products is fitted (``fitting``); (4) rows are drawn from it, part by part (``drawing``).

Departure from the field's select-measure-generate: nothing is selected.  All pairs are measured
once, their precision set by their size, which beat every selection that was tried.

Cost: the count; a V x V array for V cells of all columns; 600 steps.
"""

from voile.publish.dp_synthesis.publisher import DPSynthesis

__all__ = ["DPSynthesis"]

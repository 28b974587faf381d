"""The papers that Voile builds on, a module each: what a paper prints beside what is measured here.

``python -m benchmarks papers`` runs all of them, ``python -m benchmarks papers.k_arq`` one.  A
module has ``run() -> Measurement``, as every benchmark.  Its first table is
``beside_paper(items)``, one row for each table and figure of the paper, and each theorem or claim
that has a number; what is plotted there is drawn by ``chart.draw`` into ``benchmarks/figures``.
"""

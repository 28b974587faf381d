"""The measurements: ``python -m benchmarks [NAME...]`` runs them and records them.

A benchmark is a module with a function ``run() -> Measurement``.  Ratios are taken side by side in
one run.  Each result is one line of ``results.jsonl``, from which ``RESULTS.md`` is written;
running one benchmark again leaves the lines of the others as they were.
"""

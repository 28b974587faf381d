"""The measurements: ``python -m benchmarks [NAME...]`` runs them and records them.

A benchmark is a module with a function ``run() -> Measurement``.  Ratios are taken side by side in
one run.  Each result is one line of ``results.jsonl``, with its protocol and all its tables
(``--show``); running one benchmark again leaves the lines of the others as they were.  From them
``RESULTS.md`` is written, a page for people: what was asked, what came out, what was missed.  Where
a question is answered for good its module is deleted, and its line stays.
"""

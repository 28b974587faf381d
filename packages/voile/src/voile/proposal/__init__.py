"""Proposals: what a plan for a table might say, for a custodian to judge.

Three steps, which know nothing of each other: the engine counts (``table.profile``), a pure
function on these small facts decides (``columns``, ``whole``), and a writer prints a plan in TOML
with a reason beside each line (``writing``).

A proposal is made from private rows, and so is for the custodian alone until it has been read.
Nothing of a value stands in it but what is public anyway: marks such as "?" for missing values,
names of public lists, the format of dates, the length of codes.
"""

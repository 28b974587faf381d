"""Generalization hierarchies: what a value may be published as, from itself to everything.

A plan declares one for a column; ``declared`` lists the kinds.  Bound to the distinct values of a
column, every kind becomes the same ``generalized.BoundHierarchy``.  Generalized values and their
shares follow from the declaration alone, never from the data; the data says only which of them
are needed.
"""

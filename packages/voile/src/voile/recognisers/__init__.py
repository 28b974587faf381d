"""Recognisers: whether a column holds direct identifiers, positions, or numbers of records.

One list for everybody who asks: proposals and ``plan --check``, the tables that a publisher opens,
the policies, the audit.  What is looked for stands in ``recognisers.toml``, by the names of columns
in fifteen languages and by how values are written; packages add recognisers by entry points of the
group ``voile.recognisers``.

A recogniser looks at one column (``looks.ColumnLook``) and gives a recognition with its reason, or
nothing.  It sees a sample of the different values, but how many there are is counted on the whole
column: whether nearly each row has its own value is decided by no sample.
"""

"""Reading a release: what its rows show of values that somebody knows.

Adversaries compare what they know of people with the rows; utility measures ask which values of
a column a published one may stand for.  Both are the same question, asked here once.
"""

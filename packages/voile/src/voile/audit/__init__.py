"""Judging a released file of any origin against the table that it was made from; private.

How each column is shown is found out (``spellings``, ``recognition``) and said; then adversaries
look at it as they do at a release of Voile (``foreign``), and three risks are counted (``risk``).
The parts are put together in ``examine``.
"""

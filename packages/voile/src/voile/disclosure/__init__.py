"""How a published column is shown: one value that a publisher returns and that everybody reads.

Each kind is a class: what it states, which columns show it, what its cells say of values that
somebody knows (``evidence``), and what they stand for among the values of a column (``covering``).
``exact`` has those that show own values, ``replaced`` those that show something in their place.  To
add one is to write its class and to name it in ``shown``; another package announces its own
(``docs/extending.md``).

    exact         the value itself
    altered       a value of the table, in rows of which some are of nobody
    generalized   a label that stands for several values: a node of the column's hierarchy
    interval      two ends between which the value lies: numbers, dates, texts of a declared order
    noisy         the value with noise, and an interval around it
    perturbed     a number near the value, how it was made being unknown
    permuted      a value of somebody in the same group
    moved         a coordinate of a position that was moved in the plane
    remaining     the noisy distance that remains to a destination, in place of a position
    numbered      a number in place of an identifier
    withheld      nothing

No module here imports a table, a frame or compiled code before somebody asks what cells say.
"""

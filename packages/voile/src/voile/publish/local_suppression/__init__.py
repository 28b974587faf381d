"""Local suppression: single cells blanked, until k share what is left.

Publishes: all rows; of the columns that it is about, a missing value in the place of some; other
columns as they are, in an order that tells nothing.

Source: Hundepool and others, "Statistical Disclosure Control" (2012), section 3.4.2.2; risk as
there and in sdcMicro: a missing value matches anything.

Guarantee, where a blank matches anything (``missing = "matches"``): each published combination of
the columns is matched by at least k rows, a missing value matching any; and k rows of the table, or
rows of k persons, agree with it in all that it shows.  It holds against somebody who looks for a
person by the values that are shown.  Who knows a value that is blanked may rule out those of the k
who show another one, and be left with one row.  Where a blank is a value of its own (``"value"``)
k rows show exactly the same, blanks included: k-anonymity, against anybody who knows the columns.

Algorithm: the engine counts combinations; ``decision`` chooses their blanks.

Cost: that of ``decision``, a count of combinations and a look-up a row.
"""

from voile.publish.local_suppression.publisher import LocalSuppression

__all__ = ["LocalSuppression"]

"""The ten applicants of the thesis (Figure 1): three marks each, and their quasi-identifiers.

Larger is better, the score is the sum, rows 7 and 8 tie at 279.
"""

import numpy as np

APPLICANTS = np.array(
    [
        [99, 99, 99],
        [96, 98, 99],
        [92, 97, 95],
        [96, 96, 90],
        [98, 89, 94],
        [97, 95, 88],
        [96, 95, 88],
        [98, 90, 91],
        [92, 96, 90],
        [97, 89, 90],
    ]
)
SCORES = APPLICANTS.sum(axis=1)
AGES = (33, 39, 23, 74, 51, 37, 45, 22, 33, 37)
SEXES = tuple("FMFMMFFMFF")
ZIP_CODES = (53715, 53715, 53715, 53703, 53703, 53703, 53712, 53712, 53712, 53712)

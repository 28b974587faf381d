"""A column whose values were permuted within the groups of a release.

Which rows make a group, and what decides it, is stated once for all such columns: by the
disclosure's ``groups``.  A row shows the value of some row of its group, all arrangements being
equally likely; ``shuffled`` says what that tells.
"""

from __future__ import annotations

from typing import Literal

from voile.disclosure.exact import AsItReads

__all__ = ["Permuted"]


class Permuted(AsItReads):
    """Each row shows the value of some row of its group.

    ``evidence`` is that of the cell by itself, wherever in its group its owner stands.
    """

    kind: Literal["permuted"] = "permuted"

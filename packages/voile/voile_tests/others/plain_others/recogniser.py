"""What somebody else knows of columns: numbers of library cards, which identify their holders."""

from __future__ import annotations

import re
from dataclasses import dataclass

from voile.recognisers.recognition import Recognition
from voile.recognisers.values import ColumnLook

_CARD = re.compile(r"LC-\d{6}")


@dataclass(frozen=True)
class LibraryCards:
    """Texts such as LC-204817."""

    def recognise(self, look: ColumnLook) -> Recognition | None:
        """Looks at some of the values; they are never written down."""
        if not look.texts or not all(map(_CARD.fullmatch, look.texts)):
            return None
        return Recognition("library-cards", "J", "identifier", "numbers of library cards", "values")

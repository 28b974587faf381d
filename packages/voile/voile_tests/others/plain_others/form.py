"""A form of release of somebody else: a histogram, noisy counts in a file without rows."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile.release.folder import verified_files
from voile.release.recounting import Recount, RecountedClaim
from voile.release.release import Guarantee
from voile.table.protocol import Engine


@dataclass(frozen=True)
class Histogram:
    """A folder whose ``release.json`` says ``"form": "histogram"``: ``data.csv`` has its counts."""

    def recount(self, folder: Path, document: Mapping[str, Any], engine: Engine | str) -> Recount:
        """Files have the hashes that are listed, and no count is below 0."""
        del engine  # a few lines
        files = verified_files(document, folder)
        with files.whole.open(encoding="utf-8", newline="") as file:
            counts = [float(row["count"]) for row in csv.DictReader(file)]
        files.require_unchanged()
        guarantee = Guarantee.of_document(document["guarantee"], f"{folder / 'release.json'}")
        claims = tuple(RecountedClaim(claim, ()) for claim in guarantee.claims)
        below = ("its histogram has counts below 0",) if min(counts) < 0 else ()
        return Recount(folder, files.names, len(counts), claims, below)

"""``verify.html``: a page that recounts a release in the browser of whoever received it.

One file: it opens from a file address, loads nothing and sends nothing.  Its policy allows the
script and the style that stand in it, by their hashes, and no request.  What it counts, it counts
with code that shares none with this package; what it does not count, it names.  The declaration of
``release.json`` in it is ``folder.release_schema``, kept beside the parts so that publishing need
not make it.

Cost: some files of 80 kB in all are read, once a process.
"""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

__all__ = ["verification_page"]


@cache
def verification_page() -> str:
    """The whole page."""
    script = f"{_part('verify.js')}{_part('page.js')}"
    style = _part("verify.css")
    schemas = {"release": json.loads(_part("release.schema.json"))}
    page = _part("page.html")
    for mark, text in (
        ("{scripts}", _allowed(script)),
        ("{styles}", _allowed(style)),
        ("{style}", style),
        ("{schemas}", json.dumps(schemas, separators=(",", ":"))),
        ("{script}", script),
    ):
        page = page.replace(mark, text, 1)
    return page


def _part(name: str) -> str:
    return (files("voile.release") / "browser" / name).read_text(encoding="utf-8")


def _allowed(text: str) -> str:
    """What a policy says of a script or a style that stands in the page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

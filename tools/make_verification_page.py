"""Write ``verify.html``, the page of a release that recounts it in a browser, from its parts.

One file: it opens from a file address, loads nothing and sends nothing.  Its policy allows the
script and the style that stand in it, by their hashes, and no request.  The declaration of
``release.json`` in it is that of ``voile.release.folder.release_schema``.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from voile.release import folder
from voile.release.folder import release_schema
from voile.release.manifest import PAGE

__all__ = ["PLACE", "verification_page"]

_PARTS = Path(folder.__file__).parent / "browser"
PLACE = _PARTS / PAGE
_FOR_READERS = {"title", "description", "default", "examples", "$schema", "$id"}


def verification_page() -> str:
    """The whole page."""
    script = f"{_part('verify.js')}{_part('page.js')}"
    style = _part("verify.css")
    schemas = json.dumps({"release": _plain(release_schema())}, separators=(",", ":"))
    page = _part("page.html")
    for mark, text in (
        ("{scripts}", _allowed(script)),
        ("{styles}", _allowed(style)),
        ("{style}", style),
        ("{schemas}", schemas),
        ("{script}", script),
    ):
        page = page.replace(mark, text, 1)
    return page


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def _allowed(text: str) -> str:
    """What a policy says of a script or a style that stands in the page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _plain(schema: Any, *, names: bool = False) -> Any:
    """A schema without what only people read; below ``properties`` keys are ``names``."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _plain(one, names=key in {"properties", "$defs"})
        for key, one in schema.items()
        if names or key not in _FOR_READERS
    }


if __name__ == "__main__":
    PLACE.write_text(verification_page(), encoding="utf-8")

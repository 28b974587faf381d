"""Studio for a folder, as a browser that it let in sees it."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from voile_studio.project import Start
from voile_studio.screens import application
from voile_testing import processes

HOST = "127.0.0.1:8123"
_DIGEST = re.compile(r'name="digest" value="([0-9a-f]+)"')


class Visitor:
    """A browser without scripts."""

    def __init__(self, folder: Path) -> None:
        guard = application(Start(folder), frozenset({HOST}))
        self._client = TestClient(guard, base_url=f"http://{HOST}", raise_server_exceptions=True)
        self._client.get(guard.new_entrance())

    def lenient(self) -> None:
        """See a fault of the server as a browser does, and not as a test."""
        self._client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]

    def get(self, path: str) -> Any:
        """A page."""
        return self._client.get(path)

    def post(self, path: str, **fields: Any) -> Any:
        """What a form sends, from a page of Studio, and the page that follows."""
        return self._client.post(path, data=fields, headers={"origin": f"http://{HOST}"})

    def digest(self, path: str) -> str:
        """The state of the plan that a page shows."""
        found = _DIGEST.search(self.get(path).text)
        assert found is not None
        return found[1]

    def wait(self, path: str, words: str) -> str:
        """Look at a page until it has some words; the page."""
        deadline = time.monotonic() + processes.PATIENCE
        while time.monotonic() < deadline:
            page: str = self.get(path).text
            if words in page:
                return page
            time.sleep(0.1)
        msg = f"{path} never said {words!r}"
        raise AssertionError(msg)

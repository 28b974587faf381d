"""Questions that are asked in a process of their own, by one that goes on to fork others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any


def answer_of(question: Callable[[], Any]) -> Any:
    """What a child answers, as JSON has it.

    Whoever opens rows starts threads, which do not survive a fork; so a parent leaves that to a
    child.  Raises ``RuntimeError`` where the child fails.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.write(writing, json.dumps(question()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        msg = "the child did not answer"
        raise RuntimeError(msg)
    return json.loads(text)

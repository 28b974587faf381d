"""Who is at the other end of a connection within this machine: the same user, or somebody else.

A cookie is sent to every port of a host, so a page that another user of this machine serves could
be sent ours, and use it.  Linux says who owns each socket in ``/proc/net/tcp``: a connection of
another user than ours, or than the superuser, is none of a browser that we opened.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["owner_of", "stranger"]

_TABLE = Path("/proc/net/tcp")
_LOOPBACK = "127."
_SUPERUSER = 0


def stranger(client: tuple[str, int] | None, server: tuple[str, int] | None) -> bool:
    """Whether a connection on this machine is known to be of another user."""
    if client is None or server is None or not client[0].startswith(_LOOPBACK):
        return False
    owner = owner_of(client, server)
    return owner is not None and owner not in {_SUPERUSER, os.geteuid()}


def owner_of(client: tuple[str, int], server: tuple[str, int], table: Path = _TABLE) -> int | None:
    """The user id of the client's socket; None where the system does not say."""
    ends = [_written(client), _written(server)]
    try:
        lines = table.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError:
        return None
    for fields in map(str.split, lines):
        if fields[1:3] == ends:
            return int(fields[7])
    return None


def _written(end: tuple[str, int]) -> str:
    """An address and a port as the table has them: of the address, the bytes as a native number."""
    host, port = end
    number = int.from_bytes(bytes(map(int, host.split("."))), sys.byteorder)
    return f"{number:08X}:{port:04X}"

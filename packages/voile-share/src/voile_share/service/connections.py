"""How many connections there may be, and which one goes where another one comes.

Each connection is an open file, of which a process may have so many and no more; beyond that it can
accept nobody, and cannot open its store.  So connections are fewer than files.  Where all are taken
the one that has been idle longest goes, of the address of the network that holds most idle ones: an
address that opens connections and sends nothing takes them from itself.  A connection is idle while
no request is being answered on it; who sends a head drop by drop is idle.  Feeds are not.  Where
none is idle the new one is told to come later.
"""

from __future__ import annotations

import resource
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Protocol

from voile_share.service.limits import network_of
from voile_share.service.options import Options

__all__ = ["Connections", "ServedConnection", "within_files"]

_OTHER_FILES = 128
"""The store's, pipes of processes beside, the socket, files of the page."""
_LEAST_CONNECTIONS = 16
_SHARE_OF_FEEDS = 0.75


class ServedConnection(Protocol):
    """A connection, as far as it is chosen here."""

    def is_idle(self) -> bool:
        """Whether no request is being answered on it."""

    def let_go(self) -> None:
        """Close it."""


class Connections:
    """Those that are open; of one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._of: dict[bytes, OrderedDict[Hashable, ServedConnection]] = {}

    def open(self, host: str | None, connection: ServedConnection) -> bool:
        """Count a connection; False where there is no room for it."""
        if self._count >= self._most and not self._make_room():
            return False
        self._of.setdefault(network_of(host), OrderedDict())[id(connection)] = connection
        self._count += 1
        return True

    def used(self, host: str | None, connection: ServedConnection) -> None:
        """Something has come by it: it is the last of its address to go."""
        those = self._of.get(network_of(host))
        if those is not None and id(connection) in those:
            those.move_to_end(id(connection))

    def closed(self, host: str | None, connection: ServedConnection) -> None:
        """It counts no more; a second time changes nothing."""
        network = network_of(host)
        those = self._of.get(network, OrderedDict())
        if those.pop(id(connection), None) is not None:
            self._count -= 1
        if not those:
            self._of.pop(network, None)

    def _make_room(self) -> bool:
        idle = {
            network: [one for one in those.values() if one.is_idle()]
            for network, those in self._of.items()
        }
        network = max(idle, key=lambda one: len(idle[one]), default=b"")
        if not idle.get(network):
            return False
        longest = idle[network][0]
        del self._of[network][id(longest)]
        self._count -= 1
        longest.let_go()
        return True


def within_files(options: Options, tell: Callable[[str], None]) -> Options:
    """The options with as many connections and feeds as files may be open.

    The limit of this process is raised as far as it may be; what it leaves is told where that is
    less than was chosen.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = options.most_connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    room = wanted if soft == resource.RLIM_INFINITY else soft
    connections = max(_LEAST_CONNECTIONS, min(wanted, room) - _OTHER_FILES)
    feeds = min(options.most_feeds, int(_SHARE_OF_FEEDS * connections))
    if (connections, feeds) != (options.most_connections, options.most_feeds):
        tell(
            f"at most {room} files may be open, which leaves {connections} connections "
            f"(most_connections: {options.most_connections}) and {feeds} feeds (most_feeds: "
            f"{options.most_feeds}); raise the limit, by ulimit -n or LimitNOFILE of systemd, or "
            "choose fewer"
        )
    return replace(options, most_connections=connections, most_feeds=feeds)

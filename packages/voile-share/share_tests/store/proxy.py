"""A wire between a store and its server that is cut at a chosen moment."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path


class Proxy:
    """Forwards connections to a socket of PostgreSQL; once armed, cuts one at its ``COMMIT``."""

    def __init__(self, folder: Path, target: Path) -> None:
        self._target = str(target / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self._forward_commit: bool | None = None
        self.refuses = False
        """Whether new connections are closed at once."""
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at_commit(self, *, forwarded: bool) -> None:
        """Cut the next connection that commits, after or before the server hears of it."""
        self._forward_commit = forwarded

    def close(self) -> None:
        _cut(self._listener)  # which ends the thread that accepts

    def _accept(self) -> None:
        with suppress(OSError), self._listener:
            while True:
                client, _ = self._listener.accept()
                if self.refuses:
                    client.close()
                else:
                    threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._target)
            answering = threading.Thread(target=_answer, args=(client, server), daemon=True)
            answering.start()
            with suppress(OSError):
                self._ask(client, server)
            _cut(server, socket.SHUT_WR)
            answering.join()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        while data := client.recv(65536):
            if b"COMMIT\0" in data and self._forward_commit is not None:
                forwarded, self._forward_commit = self._forward_commit, None
                self.cuts += 1
                _cut(client)
                if forwarded:
                    server.sendall(data)
                return
            server.sendall(data)


def _answer(client: socket.socket, server: socket.socket) -> None:
    with suppress(OSError):
        while data := server.recv(65536):
            client.sendall(data)
    _cut(client)


def _cut(wire: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    with suppress(OSError):
        wire.shutdown(how)

"""A server that runs the application: one process, or several over PostgreSQL.

What it writes to standard error is up to ``tell``; there is no log of accesses, since addresses may
hold the tokens of trackers, and uvicorn's own log is off, since tracebacks may hold anything.
"""

from __future__ import annotations

import asyncio
import errno
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI
from prometheus_client import multiprocess

from voile_base.errors import InputError, VoileError
from voile_share.platform.writers import collect_seldom, end_with_parent
from voile_share.service.app import SEVERAL, application
from voile_share.service.connections import bounded_protocol, within_files
from voile_share.service.folder import Configuration, alone, open_platform, road_map
from voile_share.service.options import Options

if TYPE_CHECKING:
    from voile_share.chain import Chain

__all__ = ["listening_socket", "serve", "server_of"]

_BACKLOG = 2_048
_KEEP_ALIVE = 30
_STEADY_SECONDS = 5.0
_POLL_SECONDS = 3.0
"""Heartbeat of feeds where another process may have taken a report."""

Tell = Callable[[str], None]
Ready = Callable[[str, int], None]


def serve(
    folder: Path,
    *,
    host: str | None = None,
    port: int | None = None,
    workers: int = 1,
    ready: Ready = lambda host, port: None,
    tell: Tell = lambda _: None,
    node: Chain | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; ``ready`` is told where, once it listens.

    ``node`` is the chain of a trial, where the caller looks at it, too.

    Raises ``InputError`` where the folder, its key, its store or the port is not fit, and where
    another service runs on it.
    """
    configuration = Configuration.read(folder).on(host, port)
    if workers > 1 and configuration.database is None:
        msg = (
            "more than one worker needs PostgreSQL: SQLite has one writer; name the database in "
            f"[store] of {folder / 'share.toml'}, or leave --workers out"
        )
        raise InputError(msg)
    if workers > 1 and configuration.chain is not None:
        msg = "reports go to a chain from one process: leave --workers out, or [chain]"
        raise InputError(msg)
    if configuration.broker is not None:
        configuration.broker.check()
    configuration.telemetry.check()
    configuration.hooks.password()
    road_map(folder)
    options = configuration.options
    if not options.is_encrypted and not options.address_is_local:
        tell(
            "links begin with an address of http, where browsers decrypt nothing: let a proxy "
            "answer https, and set [service] address in share.toml"
        )
    with alone(folder, configuration), listening_socket(configuration.options) as listener:
        if workers == 1:
            _serve_one(folder, configuration, listener, ready, tell, node)
        else:
            with _counted_together(configuration):
                _Workers(folder, configuration, listener, tell).run(workers, ready)


@contextmanager
def _counted_together(configuration: Configuration) -> Iterator[None]:
    """A folder in which processes add their counters up, where anything is counted."""
    if not configuration.telemetry.metrics_token_file:
        yield
        return
    with TemporaryDirectory(prefix="voile-metrics-") as folder:
        os.environ[SEVERAL] = folder
        try:
            yield
        finally:
            del os.environ[SEVERAL]


def _serve_one(
    folder: Path,
    configuration: Configuration,
    listener: socket.socket,
    ready: Ready,
    tell: Tell,
    node: Chain | None = None,
) -> None:
    options, broker = within_files(configuration.options, tell), configuration.broker
    if configuration.chain is not None:
        # Reports that waited for the chain are told of by nobody.
        options = replace(options, heartbeat=min(options.heartbeat, _POLL_SECONDS))
    platform = open_platform(folder, configuration, node)
    try:
        roads = road_map(folder)
        app = application(
            platform,
            options,
            roads=roads,
            broker=broker,
            telemetry=configuration.telemetry,
            hooks=configuration.hooks,
            tell=tell,
        )
        collect_seldom()
        server_of(app, options, listener, ready).run([listener])
    finally:
        platform.close()


@contextmanager
def listening_socket(options: Options) -> Iterator[socket.socket]:
    """The socket that requests come to; raises ``InputError`` where it cannot be had."""
    host, port = options.host, options.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        where = f"port {port} of {host}"
        match error.errno:
            case errno.EADDRINUSE:
                msg = f"{where} is in use: stop what listens there, or choose another by --port"
            case errno.EACCES:
                msg = f"{where} is not yours to take: choose one above 1023 by --port"
            case _:
                msg = f"cannot listen at {where}: check --host ({error.strerror})"
        raise InputError(msg) from None
    with listener:
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Connections inherit it: peers that went away without a word are given up.
            milliseconds = int(options.stalled * 1000)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        yield listener


class _Server(uvicorn.Server):
    """Ends feeds when it ends, and leaves signals to its caller afterwards."""

    def __init__(
        self, config: uvicorn.Config, closing: asyncio.Event, ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._closing = closing
        self._ready = ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._closing.set()
        await super().shutdown(sockets)


def server_of(
    app: FastAPI,
    options: Options,
    listener: socket.socket,
    ready: Ready = lambda host, port: None,
) -> uvicorn.Server:
    """What runs an application on a socket; its ``run`` ends by SIGTERM or SIGINT."""
    config = uvicorn.Config(
        app,
        http=bounded_protocol(options),
        h11_max_incomplete_event_size=options.header_bytes,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        forwarded_allow_ips=list(options.trusted_proxies),
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=options.grace,
    )
    host, port = listener.getsockname()[:2]
    return _Server(config, app.state.context.closing, lambda: ready(host, port))


_Given = tuple[Path, Configuration, socket.socket, Tell]
_Began = dict[int, tuple[BaseProcess, float, _Given]]


class _Workers:
    """Processes that share a socket; one that dies is replaced.

    One of them takes what comes by MQTT: a broker knows one client of a name.  They end with this
    process, however it ends: else they would serve on, and hold the port.
    """

    def __init__(
        self, folder: Path, configuration: Configuration, listener: socket.socket, tell: Tell
    ) -> None:
        options = configuration.options
        options = replace(options, heartbeat=min(options.heartbeat, _POLL_SECONDS))
        self._given = (folder, replace(configuration, options=options), listener, tell)
        self._tell = tell
        self._context = multiprocessing.get_context("spawn")

    def run(self, count: int, ready: Ready) -> None:
        """Until SIGTERM or SIGINT; raises ``VoileError`` where a worker cannot begin."""
        open_platform(*self._given[:2]).close()  # says what is wrong, once
        began: _Began = {}
        folder, configuration, listener, tell = self._given
        others = folder, replace(configuration, broker=None), listener, tell
        for number in range(count):
            self._begin(began, others if number else self._given)
        host, port = self._given[2].getsockname()[:2]
        ready(host, port)
        try:
            while True:
                ended = set(wait(list(began)))
                for sentinel in [one for one in began if one in ended]:
                    self._replace(began, sentinel)
        except KeyboardInterrupt:
            pass
        finally:
            for process, *_ in began.values():
                process.terminate()
            for process, *_ in began.values():
                process.join(self._given[1].options.grace + 5)

    def _begin(self, began: _Began, given: _Given) -> None:
        process = self._context.Process(target=_work, args=given)
        process.start()
        began[process.sentinel] = process, time.monotonic(), given

    def _replace(self, began: _Began, sentinel: int) -> None:
        process, since, given = began.pop(sentinel)
        if SEVERAL in os.environ and process.pid is not None:
            multiprocess.mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
        if time.monotonic() - since < _STEADY_SECONDS:
            msg = f"a worker ended as soon as it had begun (status {process.exitcode})"
            raise VoileError(msg)
        self._tell(f"a worker ended with status {process.exitcode}, and is replaced")
        self._begin(began, given)


def _work(folder: Path, configuration: Configuration, listener: socket.socket, tell: Tell) -> None:
    grace = configuration.options.grace + _STEADY_SECONDS
    end_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM), grace)
    with suppress(KeyboardInterrupt):
        _serve_one(folder, configuration, listener, lambda host, port: None, tell)

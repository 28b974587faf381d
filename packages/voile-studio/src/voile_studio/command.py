"""``voile studio``: all that one table needs, in a browser on this machine."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import say

if TYPE_CHECKING:
    import uvicorn
    import uvicorn as uvicorn_module

    from voile_studio import project as voile_studio_project
    from voile_studio import screens
else:
    uvicorn_module = on_demand("uvicorn")
    voile_studio_project = on_demand("voile_studio.project")
    screens = on_demand("voile_studio.screens")

__all__: list[str] = []

_HERE = "127.0.0.1"
_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - which are refused
_INTERRUPTED = 130
_OPENING = """<!doctype html><html lang="en"><title>Voile Studio</title>
<meta http-equiv="refresh" content="0;url={address}"><p><a href="{address}">Open Studio</a></p>
"""


@click.command("studio", short_help="All of this for one table, in a browser on this machine.")
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Files in it and below may be opened, and projects stand in it [default: that of FILE, or "
    "the working directory].",
)
@click.option("--host", default=_HERE, show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to listen on [default: a free one].",
)
@click.option("--no-browser", is_flag=True, help="Print the address, which works once.")
def _studio_command(
    file: Path | None, folder: Path | None, host: str, port: int, *, no_browser: bool
) -> None:
    """Open Studio, a local web application, for the table FILE or to choose one.

    It does what the commands do for one table, and shows the command for all that it does. Nothing
    is uploaded: it listens on this machine only, lets in the browser that it opens and no other,
    and reads files in one folder. A project folder beside the table holds plan, tries and releases.
    """
    start = voile_studio_project.Start(_folder(file, folder))
    project = None
    if file is not None:
        if file.is_symlink():
            msg = f"{file}: this is a link; name the file that it leads to"
            raise InputError(msg)
        if not file.is_file():
            msg = f"{file}: there is no such file"
            raise InputError(msg)
        project = start.project(_below(file, start.folder))
    if host in _EVERYWHERE:
        msg = (
            f"--host {host} is no address to call: name the one by which others reach this machine"
        )
        raise InputError(msg)
    if host != _HERE:
        say(
            f"voile: Studio will listen on {host}: others in this network can reach it, and its "
            "pages travel unencrypted. 127.0.0.1 is this machine alone."
        )
    with _listening(host, port) as listener:
        number = listener.getsockname()[1]
        written = f"[{host}]" if ":" in host else host
        names = {host, "localhost"} if host == _HERE else {written}
        guard = screens.application(start, frozenset(f"{name}:{number}" for name in names))
        after = f"/p/{project.name}/data" if project else "/"
        address = f"http://{written}:{number}{guard.new_entrance(after)}"
        # No word of a caller about where it calls from is believed, and nobody needs sockets.
        config = uvicorn_module.Config(
            guard,
            log_level="error",
            access_log=False,
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            ws="none",
        )
        server = uvicorn_module.Server(config)
        with _ended_by_signals(server), _opened(address, no_browser=no_browser):
            server.run(sockets=[listener])
        say("Studio is ended. A command that it has begun goes on to its end.")
        sys.exit(_INTERRUPTED)


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let Ctrl-C end a server whenever it comes: an exception might be raised where none counts."""

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _folder(file: Path | None, folder: Path | None) -> Path:
    """The start folder; raises ``InputError`` where it is none."""
    found = folder or (file.parent if file else Path())
    if not found.is_dir():
        msg = f"{found}: there is no such folder"
        raise InputError(msg)
    return found.resolve()


def _below(file: Path, folder: Path) -> str:
    try:
        return file.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        msg = f"{file}: the file is not in {folder}; name a --folder that holds it"
        raise InputError(msg) from None


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket at the address; raises ``InputError`` where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            msg = f"Studio cannot listen on {host}, port {port} ({error.strerror}); choose another"
            raise InputError(msg) from None
        listener.listen()  # a browser that is opened before the server runs waits for it
        yield listener


@contextmanager
def _opened(address: str, *, no_browser: bool) -> Iterator[None]:
    """Open the browser by a file that only its owner can read, or print the address.

    The token so stands in no argument of a process.
    """
    if no_browser:
        say(f"Studio (this address works once; Ctrl-C ends it): {address}")
        yield
        return
    with tempfile.TemporaryDirectory(prefix="voile-studio-") as folder:
        page = Path(folder) / "open.html"
        descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_OPENING.format(address=address))
        if webbrowser.open(page.as_uri()):
            say(
                "Studio is open in the browser; Ctrl-C ends it. (If no page came up, start it with "
                "--no-browser, and open the address that it shows.)"
            )
        else:
            say(f"Studio (this address works once; Ctrl-C ends it): {address}")
        yield

"""The platform over HTTP: an application of FastAPI, and a server that runs it.

    options, folder        what the operator chooses; the folder that a service runs on
    care                   what is done to a folder now and then
    on_chain               reports on a chain: the platform over it, and trucks that send
    problems, models       errors (RFC 9457) and JSON, as callers see them
    connections            bounds of connections, and how often somebody may ask
    context, observing     who asks, and threads for what blocks; how requests are counted
    devices, mqtt          what trackers send
    company, exchange,     the routes
    feed, hooks, public
    operator               the page of the people who run it
    app, serving           all of it together, and running

It needs FastAPI and uvicorn (``pip install voile-share``); ``options`` and ``folder`` do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voile_share.service.app import application, description
    from voile_share.service.options import Options
    from voile_share.service.serving import serve

__all__ = ["Options", "application", "description", "serve"]

_HOMES = {
    "Options": "options",
    "application": "app",
    "description": "app",
    "serve": "serving",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

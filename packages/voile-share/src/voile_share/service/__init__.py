"""The platform over HTTP: an application of FastAPI, and a server that runs it.

    options, folder        what the operator chooses; the folder that a service runs on
    chain_options,         reports on a chain: [chain], the platform over it, trucks
    on_chain, fleet,       that send, how they stand
    chain_status
    problems, models       errors (RFC 9457) and JSON, as callers see them
    limits, bodies         how often, how much
    connection             bounds of connections
    context                who asks, and threads for what blocks
    devices, company,      the routes
    exchange, readers,
    feed, public
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

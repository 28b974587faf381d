"""The folder that a service runs on.

    share.toml    what the operator chooses
    vault.key     the key that seals secrets: to be kept apart from copies of the store
    share.db      the store, where it is SQLite
    roads.json    the map of the page, where there is one (``voile share roads``)
    chain...      where reports go to a chain: see ``on_chain``

The folder appears whole or not at all, readable by its owner only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from voile_base.durable import new_private_folder, write_text
from voile_base.errors import InputError, PlanError
from voile_base.ondemand import on_demand
from voile_base.operating_system import lock
from voile_base.values import Json
from voile_base.values.toml import toml_document
from voile_base.values.value import Value, json_schema, read
from voile_share.platform import Platform, Settings, Vault
from voile_share.platform.administration import unsealed_secrets
from voile_share.platform.core import PlatformCore
from voile_share.protocol import primitives
from voile_share.service.mqtt import Broker
from voile_share.service.on_chain import ChainOptions, check_place, open_on_chain
from voile_share.service.options import (
    HookOptions,
    Options,
    RequestRates,
    Service,
    Telemetry,
    in_folder,
)
from voile_share.store import StoreError

if TYPE_CHECKING:
    from voile_share import map as share_map
    from voile_share.chain import Chain
    from voile_share.map import MapFile
    from voile_share.store import postgres as store_postgres
    from voile_share.store import sqlite as store_sqlite
else:
    share_map = on_demand("voile_share.map")
    store_postgres = on_demand("voile_share.store.postgres")
    store_sqlite = on_demand("voile_share.store.sqlite")

__all__ = [
    "CONFIGURATION",
    "KEY",
    "ROADS",
    "STORE",
    "Configuration",
    "alone",
    "create",
    "open_platform",
    "open_store",
    "road_map",
    "share_schema",
]

CONFIGURATION, KEY, STORE, ROADS = "share.toml", "vault.key", "share.db", "roads.json"

_GATHER_SECONDS = 0.02
"""By which a position waits for others before it is worked on (``Platform``)."""
_TEMPLATE = """\
# A sharing service of Voile. Lines such as "# port = 8080" show defaults; under [store], [mqtt]
# and [telemetry], which are off by default, examples.

[service]
# What people type: links begin with it. A proxy for TLS answers there and passes requests on.
address = "{address}"
{host}
{port}
# trusted_proxies = ["127.0.0.1", "::1"]   # whose X-Forwarded-For is believed
# most_feeds = 2000                        # readers connected at a time
# most_feeds_of_link = 8
# most_connections = 4000                  # feeds included; an open file each

[store]
# PostgreSQL for more than one process; without it the store is share.db beside this file.
# url = "postgresql://voile@db.example.org/share"

[platform]
# slot_seconds = 300                 # a truck publishes at most once in a slot
# displacements = [150, 600, 2400]   # metres by which the three positions are off on average
# near = [2000, 10000]               # metres to the destination from which a nearer one is seen
# mechanism = "gaussian-field"       # or "correlated-gaussian": see docs/sharing-service.md
# tau = 120                          # seconds (of driving) over which fresh noise is correlated
# stays = 0.8                        # the share of the noise that stays with the place, and
# lengths = [700, 800, 1400]         # metres over which it is correlated, near to far,
# shared = 0.75                      # the part of it that trucks of a company have in common
# period_days = 28                   # days until a place gets other noise
# operator_sees = "far"              # of trucks, on the operator's page: or near, middle, nothing
# keep_days = 31                     # reports and submissions, unless a company has its own
# There is no budget by default: what reports cost is counted and never holds one back.
# A budget is the most epsilon that a truck spends in a day (UTC), for these two:
# distance = 100                     # metres between the trajectories that the budget is about
# delta = 1e-5
# room = 30                          # reports are padded as if a truck had so many parcels
# There is no region by default. One, as [south, west, north, east], finds swapped coordinates.

[rates]
# [requests a second, most at once] for each token, and for wrong ones from one address
# device   = [5, 300]
# company  = [20, 200]
# truck    = [5, 300]
# auditor  = [10, 100]
# link     = [1, 60]
# failures = [0.5, 30]

# Reports on a chain: `voile share chain deploy` adds a table for it; read docs/chain.md first.

# OwnTracks by MQTT. Read in docs/trackers.md first what the broker must see to.
# [mqtt]
# host = "broker.example.org"
# port = 8883
# tls = true                         # false only where broker and service share this machine
# ca_file = "broker-ca.pem"          # in this folder; without it the system's certificates count
# user = "voile-share"
# password_file = "mqtt.password"    # in this folder, readable by its owner only
# topic = "owntracks/+/+"
# client_id = "voile-share"          # the broker keeps messages for it while the service is away
# version = "5"                      # or "3.1.1"
# session_hours = 24                 # for how long it keeps them
# [mqtt.companies]                   # of owntracks/USER/DEVICE: USER = "number of the company"
# fleet = "0123456789abcdef0123456789abcdef"

# What is measured, for Prometheus and OpenTelemetry: read docs/operations.md. Nothing by default.
# [telemetry]
# metrics_token_file = "metrics.token"   # in this folder, readable by its owner only
# traces = "http://127.0.0.1:4318/v1/traces"
# sampled = 0.01                         # the share of requests that are traced

# Companies may be told by signed requests, and by mail where a server is named here: read
# docs/sharing-service.md.
# [hooks]
# private_networks = false               # whether these, and http, may be called
# mail_host = "mail.example.org"
# mail_port = 587
# mail_tls = "starttls"                  # or "tls"; "none" on this machine alone
# mail_user = "voile"
# mail_password_file = "mail.password"   # in this folder, readable by its owner only
# mail_sender = "voile@share.example.org"
"""


class _Store(Value):
    url: Annotated[str, Field(min_length=1)] | None = None
    """The address of PostgreSQL."""


class _File(Value):
    """What share.toml may say, table by table."""

    service: Service = Service()
    rates: RequestRates = RequestRates()
    store: _Store = _Store()
    platform: Settings = Settings()
    mqtt: Broker | None = None
    chain: ChainOptions | None = None
    telemetry: Telemetry = Telemetry()
    hooks: HookOptions = HookOptions()


_SECRETS = {
    ("mqtt", "password"): "put it into a file, and name password_file",
    ("hooks", "mail_password"): "put it into a file, and name mail_password_file",
    ("chain", "key"): "it stands in chain.key (voile share chain account)",
    ("chain", "private_key"): "it stands in chain.key (voile share chain account)",
}
"""What people write where others read it, and where it belongs."""


def share_schema() -> Json:
    """The JSON Schema of share.toml, for editors and programs that write one."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **json_schema(_File),
        "title": "Voile: share.toml, the settings of a sharing service",
    }


@dataclass(frozen=True)
class Configuration:
    """What share.toml says."""

    settings: Settings
    options: Options
    database: str | None = None
    """The address of PostgreSQL; None: SQLite, in the folder."""
    broker: Broker | None = None
    """Where devices publish by MQTT, where they do."""
    chain: ChainOptions | None = None
    """The chain that reports go to; None: the store."""
    telemetry: Telemetry = field(default_factory=Telemetry)
    """What is measured."""
    hooks: HookOptions = field(default_factory=HookOptions)
    """How companies are told of their parcels."""

    def private_files(self, folder: Path) -> list[str]:
        """Names of files in the folder that hold passwords or certificates."""
        broker = self.broker
        named = [self.telemetry.metrics_token_file, self.hooks.mail_password_file]
        named += [] if broker is None else [broker.password_file, broker.ca_file]
        return [Path(one).name for one in named if one and Path(one).parent == folder]

    @classmethod
    def read(cls, folder: Path) -> Configuration:
        """Raises ``PlanError`` where it cannot be; ``InputError`` where it is not there."""
        path = folder / CONFIGURATION
        if not path.exists():
            msg = f"{folder}: no service was set up here: voile share init {folder}"
            raise InputError(msg)
        document = toml_document(path, PlanError)
        for (table, key), remedy in _SECRETS.items():
            if isinstance(held := document.get(table), Mapping) and key in held:
                msg = f"{path}: [{table}] takes no {key}: {remedy}"
                raise PlanError(msg)
        stated: _File = read(_File, document, str(path), PlanError, tables=True)
        return cls(
            stated.platform,
            Options(**vars(stated.service), rates=stated.rates),
            stated.store.url,
            None if stated.mqtt is None else in_folder(stated.mqtt, folder),
            stated.chain,
            in_folder(stated.telemetry, folder),
            in_folder(stated.hooks, folder),
        )

    def on(self, host: str | None, port: int | None) -> Configuration:
        """The same, listening elsewhere where that is said."""
        options = self.options
        options = options if host is None else replace(options, host=host)
        options = options if port is None else replace(options, port=port)
        return replace(self, options=options)


def create(folder: Path, address: str = Options.address) -> None:
    """Set a service up in a folder that is not there yet, or is empty.

    Where the address has a port and no TLS, the service listens on that port, and at ``::1`` where
    the address says so: nothing stands between.  With TLS both are the proxy's.  Raises
    ``InputError``.
    """
    chosen = Options(address=address)
    if not chosen.is_encrypted and not chosen.address_is_local:
        msg = (
            f"{address}: over http browsers decrypt nothing but on this machine itself, and the "
            "service listens there alone: give the https address of a proxy (docs/sharing-service."
            "md, TLS), or http://127.0.0.1:8080 for a trial"
        )
        raise InputError(msg)
    port = None if chosen.is_encrypted else chosen.address_port
    line = f"# port = {chosen.port}" if port in {None, chosen.port} else f"port = {port}"
    by_ipv6 = not chosen.is_encrypted and chosen.address_is_loopback_6
    host = 'host = "::1"' if by_ipv6 else f'# host = "{chosen.host}"'
    text = _TEMPLATE.format(address=address, host=host, port=line)
    with new_private_folder(folder) as unfinished:
        Vault.create(unfinished / KEY)
        store_sqlite.SQLiteStore.open(unfinished / STORE).close()
        write_text(unfinished / CONFIGURATION, text, private=True)


@contextmanager
def alone(folder: Path, configuration: Configuration) -> Iterator[None]:
    """Be the only service of a folder whose reports one process must write.

    That is so for SQLite, and for a chain.  Commands may work on the folder beside it.  Raises
    ``InputError`` where another service runs; one that was killed is none.
    """
    if configuration.database is not None and configuration.chain is None:
        yield
        return
    # The folder itself: files in it get replaced, and their locks would go with them.
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            lock(handle, wait=False)
        except BlockingIOError:
            msg = f"{folder}: a service runs on this folder already; stop it first"
            raise InputError(msg) from None
        yield
    finally:
        os.close(handle)


def open_platform(
    folder: Path, configuration: Configuration, node: Chain | None = None
) -> Platform:
    """The platform of a folder; the caller closes it.

    ``node`` is the chain of a trial, where somebody else looks at it, too.

    Raises ``InputError`` where the key is missing, readable by others or not the store's, and where
    the store was written by a newer Voile or cannot be reached; ``StoreError`` where it fails then.
    """
    primitives.reduced(bytes(64))  # says what to install before anybody waits for an answer
    vault = Vault.open(folder / KEY)
    store = open_store(folder, configuration)
    try:
        held = next((truck for truck in store.trucks() if truck.secrets is not None), None)
        if held is not None:
            unsealed_secrets(PlatformCore(store, store, vault), held)
        check_place(folder, configuration.chain, store)
        lines = os.cpu_count() or 1
        given = vault, configuration.settings
        if configuration.chain is None:
            return Platform(store, store, *given, writing_lines=lines, gather=_GATHER_SECONDS)
        log, fleet = open_on_chain(folder, configuration.chain, store, vault, node)
        return Platform(store, log, *given, registrar=fleet, writing_lines=lines)
    except BaseException:
        store.close()
        raise


def open_store(folder: Path, configuration: Configuration) -> Any:
    """The store of a folder, a directory and a log; raises ``InputError``.

    So it does where the store cannot be reached: nothing has begun that could be tried again.
    """
    try:
        return _opened(folder, configuration.database)
    except StoreError as error:
        raise InputError(str(error)) from None


def _opened(folder: Path, database: str | None) -> Any:
    if database is not None:
        try:
            import_module("psycopg")
        except ImportError:
            msg = "a store in PostgreSQL needs psycopg: pip install 'voile-share[postgres]'"
            raise InputError(msg) from None

        return store_postgres.PostgresStore.open(database)

    path = folder / STORE
    if not path.exists():
        # A new one would begin the chains of all trucks again.
        msg = f"{path}: the store is missing; restore it from a backup"
        raise InputError(msg)
    return store_sqlite.SQLiteStore.open(path)


def road_map(folder: Path) -> MapFile | None:
    """The map of the page, where there is one; raises ``InputError`` where it is none."""
    path = folder / ROADS
    return share_map.MapFile.read(path) if path.exists() else None

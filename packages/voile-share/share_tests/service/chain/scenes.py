"""Platforms whose reports go to a chain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from share_tests.scene import Clock, Scene
from voile_share.chain import ChainError, Deployment
from voile_share.platform import Platform, Vault
from voile_share.service import on_chain
from voile_share.service.on_chain import ChainOptions
from voile_share.store import SQLiteStore

__all__ = ["MODES", "URL", "OnChain", "Served", "away"]

MODES = ["log", "storage", "anchor"]
URL = "http://127.0.0.1:1"
"""Where nobody answers."""


class OnChain(Scene):
    """The scene, over a contract that outlives it."""

    def __init__(self, folder: Path, options: ChainOptions, clock: Clock | None = None) -> None:
        self.options = options
        super().__init__(folder, clock=clock or Clock())

    def __post_init__(self) -> None:
        """As the scene, with another log, and never with the same randomness twice."""
        self.vault = vault_of(self.folder)
        self.store = SQLiteStore.open(self.folder / "share.db")
        given = self.folder, self.options, self.store, self.vault
        self.log, self.fleet = on_chain.open_on_chain(*given)
        self.platform = Platform(
            self.store,
            self.log,
            self.vault,
            self.settings,
            clock=self.clock,
            registrar=self.fleet,
        )

    def reopened(self) -> OnChain:
        self.platform.close()
        return OnChain(self.folder, self.options, self.clock)

    @property
    def deployment(self) -> Deployment:
        return self.options.deployment


@contextmanager
def away(scene: OnChain) -> Iterator[None]:
    """While no transaction reaches the node: who waits for one has soon waited long enough."""
    late = 0.0

    def send(raw: bytes) -> bytes:
        nonlocal late
        late += scene.options.patience
        msg = "the node is away"
        raise ChainError(msg)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scene.fleet._side.node, "send", send)
        for sender in (scene.log, scene.fleet._registry):
            patched.setattr(sender._delivery, "_clock", lambda: time.monotonic() + late)
        yield


def vault_of(folder: Path) -> Vault:
    key = folder / "vault.key"
    return Vault.open(key) if key.exists() else Vault.create(key)


class Served:
    """What `serving` asks of a scene."""

    def __init__(self, platform: Platform) -> None:
        self.platform, self.settings = platform, platform.settings
        self.clock = Clock(time.time())

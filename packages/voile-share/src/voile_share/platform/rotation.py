"""Another key for what a store keeps sealed, while services run on it.

1. ``begin`` puts a new key before the old one in the key's file: the new one seals, both open.
2. ``reseal`` seals anew what the old one has sealed, value by value, each only where nobody has
   changed it meanwhile.  A process that runs takes the new key within ``LOOK_SECONDS`` of its next
   sealing, or as soon as something does not open (``Vault``).
3. ``finish`` takes the old key away, once nothing in the store needs it.

Whoever is killed anywhere leaves a store that opens, and the same command goes on.  Copies of the
store from before need the old key: keep it with them, or make a new backup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from voile_base.durable import replace_private_file
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.platform.administration import destination_context, label_context, secrets_context
from voile_share.platform.arrivals import past_context
from voile_share.platform.core import Vault, read_keys
from voile_share.platform.trucks import fleet_context
from voile_share.platform.writers import stream_context
from voile_share.store import SealedColumn

__all__ = ["SEALED", "begin", "factor_context", "finish", "hook_context", "reseal"]

T = TypeVar("T")
Key = Sequence[object]
_AT_ONCE = 200
_MOST_ROUNDS = 20


def factor_context(name: str) -> bytes:
    """What the sealed second factor of a user is bound to."""
    return b"second factor" + name.encode()


def hook_context(hook: str) -> bytes:
    """What the sealed address and secret of a hook are bound to."""
    return b"hook" + hook.encode()


@dataclass(frozen=True)
class _Sealed:
    """A column whose values the vault has sealed."""

    column: SealedColumn
    context: Callable[..., bytes]
    """Of the keys of a row."""


SEALED: tuple[_Sealed, ...] = (
    _Sealed(SealedColumn("trucks", ("truck",), "secrets"), secrets_context),
    _Sealed(SealedColumn("parcels", ("truck", "parcel"), "destination"), destination_context),
    _Sealed(SealedColumn("states", ("truck",), "state"), stream_context),
    _Sealed(SealedColumn("users", ("name",), "factor"), factor_context),
    _Sealed(SealedColumn("hooks", ("hook",), "target"), hook_context),
    _Sealed(SealedColumn("hooks", ("hook",), "secret"), hook_context),
    _Sealed(SealedColumn("links", ("hash",), "label"), label_context),
    _Sealed(SealedColumn("arrivals", ("company",), "secret"), past_context),
    _Sealed(SealedColumn("fleet_keys", ("company", "ends"), "sealed"), fleet_context),
)
"""All there are: who seals another column adds it here."""


class _Upkeep(Protocol):
    """What of a store is needed."""

    def sealed(self, column: SealedColumn) -> Iterator[tuple[tuple[object, ...], bytes]]:
        """See ``SQLUpkeep``."""

    def replace_sealed(
        self, column: SealedColumn, changes: Sequence[tuple[tuple[object, ...], bytes, bytes]]
    ) -> int:
        """See ``SQLUpkeep``."""


def begin(path: Path) -> bool:
    """Put a new key before the one in a file; False where that was done before, and not finished.

    Raises ``InputError``.
    """
    keys = read_keys(path)
    if len(keys) > 1:
        return False
    _replace_keys(path, [Randomness.secure().key("vault").secret, *keys])
    return True


def _replace_keys(path: Path, keys: Sequence[bytes]) -> None:
    """Put keys, the first one first, in the place of what a file holds; the old or the new, whole.

    Raises ``InputError``.
    """
    replace_private_file(path, "".join(f"{key.hex()}\n" for key in keys))


def reseal(store: _Upkeep, vault: Vault) -> int:
    """Seal anew what another key than the first one has sealed; how many values.

    Raises ``InputError`` where something opens by none.
    """
    return sum(_resealed(store, vault, one) for one in SEALED)


def _resealed(store: _Upkeep, vault: Vault, sealed: _Sealed) -> int:
    def changed() -> Iterator[tuple[tuple[object, ...], bytes, bytes]]:
        for key, value in store.sealed(sealed.column):
            after = vault.resealed(sealed.context(*key), value)
            if after is not value:
                yield key, value, after

    return sum(store.replace_sealed(sealed.column, some) for some in _batches(changed()))


def finish(store: _Upkeep, vault: Vault, path: Path) -> int:
    """Take the old key away; how many values were sealed anew before.

    Raises ``InputError`` where there is none, and where somebody goes on sealing by it.
    """
    keys = read_keys(path)
    if len(keys) == 1:
        msg = f"{path}: no rotation was begun: voile share rotate-keys"
        raise InputError(msg)
    total = 0
    for _ in range(_MOST_ROUNDS):
        found = reseal(store, vault)
        total += found
        if not found:
            _replace_keys(path, keys[:1])
            return total
    msg = "a service goes on sealing by the old key: give each machine the new file first"
    raise InputError(msg)


def _batches(things: Iterator[T]) -> Iterator[list[T]]:
    while some := list(islice(things, _AT_ONCE)):
        yield some

"""The only door to entropy.

Whatever is random about a row is a function of a secret key, a purpose and the row's identity,
never of the order of evaluation.  A part that is computed twice, in another order or on another
machine therefore draws the same, and a retry never gives a second look at a value.

- ``Randomness.secure()`` takes its root secret from the operating system; it is the default
  everywhere.  ``Randomness.seeded(n)`` is for experiments and tests: what it draws can be
  repeated by anybody who knows ``n``, so a release made with it is not publishable.
- ``randomness.key("permute", ...)`` derives an independent key for one purpose
  (BLAKE2b keyed with the root secret).
- ``Key`` is a pseudorandom function on 128-bit blocks: AES-128.  ``Key.words`` maps blocks to
  64 uniform bits each; ``Key.absorb`` chains blocks as in CBC-MAC, which is a pseudorandom
  function on messages of a fixed number of blocks.

Secrets never show in ``repr``, in messages or in logs.  Cost: about 1 ns a block on one core.
"""

from __future__ import annotations

import secrets
import stat
import threading
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from voile_base.durable import write_text
from voile_base.errors import PlanError
from voile_base.ondemand import on_demand

__all__ = ["UNFIT", "Blocks128", "Draws", "Key", "Randomness", "parts"]

Blocks128 = NDArray[np.uint64]
"""Shape (n, 2): n blocks of 128 bits, two little-endian words each."""

UNFIT = (
    "it was made with a seed, which others may know, or by a paper's version that is known to leak"
)
"""Why a release may not be publishable."""

_SECRET_BYTES = 32
_MAX_SEED = 2**63
_PART = 1 << 15
_CHUNK = 1 << 13

# What draws, for annotations: few calls need NumPy's generators, which load by themselves.
if TYPE_CHECKING:
    from cryptography.hazmat.primitives import ciphers
    from cryptography.hazmat.primitives.ciphers import algorithms, modes

    Draws = np.random.Generator
else:
    # A release that draws nothing does without.
    ciphers = on_demand("cryptography.hazmat.primitives.ciphers")
    algorithms = on_demand("cryptography.hazmat.primitives.ciphers.algorithms")
    modes = on_demand("cryptography.hazmat.primitives.ciphers.modes")
    Draws = "numpy.random.Generator"


class Randomness:
    """A root secret from which the keys of all purposes are derived."""

    def __init__(self, secret: bytes, *, publishable: bool) -> None:
        self._secret = secret
        self.publishable = publishable
        """False where the secret came from a seed that others may know."""

    @classmethod
    def secure(cls) -> Self:
        """Fresh secret entropy of the operating system."""
        return cls(secrets.token_bytes(_SECRET_BYTES), publishable=True)

    @classmethod
    def seeded(cls, seed: int) -> Self:
        """Repeatable draws for experiments and tests; never for a publication.

        Raises ``PlanError`` unless 0 <= seed < 2**63.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MAX_SEED:
            msg = "the seed must be a whole number from 0 to 2**63 - 1"
            raise PlanError(msg)
        secret = blake2b(seed.to_bytes(8, "little"), person=b"voile-seed").digest()
        return cls(secret[:_SECRET_BYTES], publishable=False)

    @classmethod
    def following(cls, *facts: str) -> Self:
        """Draws that follow from facts, so that nobody chooses them by drawing again.

        Whoever knows the facts foresees them: never for a publication.
        """
        label = b"".join(len(f.encode()).to_bytes(4, "little") + f.encode() for f in facts)
        secret = blake2b(label, person=b"voile-facts").digest()
        return cls(secret[:_SECRET_BYTES], publishable=False)

    @classmethod
    def in_file(cls, path: str, named: str) -> Self:
        """The secret in a file, which is made where there is none; ``named`` where it is named.

        Raises ``PlanError`` where the file holds none, or others than its owner may read it.
        """
        file = Path(path)
        try:
            if not file.exists():
                drawn = cls.secure().key("file").secret
                write_text(file, f"{drawn.hex()}\n", private=True, replacing=False)
            mode = stat.S_IMODE(file.stat().st_mode)
            held = bytes.fromhex(file.read_text("ascii").strip())
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it does not hold a secret"
            msg = f"{named}: the file {file.name} cannot be used: {why}"
            raise PlanError(msg) from None
        if len(held) != _SECRET_BYTES:
            msg = (
                f"{named}: the file {file.name} must hold {2 * _SECRET_BYTES} hexadecimal digits; "
                "give a name that is free, and the file is made"
            )
            raise PlanError(msg)
        if mode & 0o077:
            # Repairing this silently would hide that others may have read the secret.
            msg = (
                f"{named}: others than its owner may read or write the file {file.name} (mode "
                f"{mode:04o}), and whoever has it takes noise off; find out who could have copied "
                "it, then run `chmod 600` on it, or delete it for noise that nobody knows"
            )
            raise PlanError(msg)
        return cls(held, publishable=True)

    def key(self, *purpose: str) -> Key:
        """The key for one purpose: independent of the keys of all other purposes."""
        label = b"".join(
            len(part.encode()).to_bytes(4, "little") + part.encode() for part in purpose
        )
        return Key(blake2b(label, key=self._secret, digest_size=32).digest())

    def within(self, *purpose: str) -> Randomness:
        """Randomness for one part of a task: all that it draws is independent of the rest."""
        return Randomness(self.key("within", *purpose).secret, publishable=self.publishable)

    def token(self, *purpose: str) -> str:
        """A public name of 128 bits in hexadecimal, such as the identity of a release."""
        return self.key("token", *purpose).secret[:16].hex()

    def __repr__(self) -> str:
        return f"Randomness(publishable={self.publishable})"


class Key:
    """A pseudorandom function for one purpose; 32 secret bytes."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != _SECRET_BYTES:
            msg = f"a key has {_SECRET_BYTES} bytes"
            raise ValueError(msg)
        self.secret = secret
        self._single: ciphers.CipherContext | None = None

    def __repr__(self) -> str:
        return "Key(secret)"

    def __reduce__(self) -> tuple[type[Key], tuple[bytes]]:
        """As an engine sends it to the workers that draw by it: the secret, and no cipher."""
        return Key, (self.secret,)

    def within(self, *purpose: str) -> Key:
        """A key for a part of the purpose: independent of all others, and of this one."""
        return Randomness(self.secret, publishable=True).key("part", *purpose)

    def absorb(self, state: Blocks128, blocks: Blocks128) -> None:
        """One step of CBC-MAC for n messages at once, in place: state = AES(state xor blocks).

        ``state`` and ``blocks`` have shape (n, 2) and are contiguous.
        """
        np.bitwise_xor(state, blocks, out=state)
        self._encrypt_in_place(state)

    def words(self, first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """64 pseudorandom bits for each of n distinct pairs of words; all of shape (n,)."""
        drawn = np.empty(len(first), dtype=np.uint64)
        for part in parts(len(first)):
            blocks = np.column_stack((first[part], second[part]))
            self._encrypt_in_place(blocks)
            drawn[part] = blocks[:, 0]
        return drawn

    def blocks(self, words: NDArray[np.uint64], counter: int | NDArray[np.uint64]) -> Blocks128:
        """128 pseudorandom bits for each pair of one of n words, shape (n,), and a counter.

        The counter is one number for all, or one for each.
        """
        blocks = np.empty((len(words), 2), dtype=np.uint64)
        blocks[:, 0] = words
        blocks[:, 1] = counter
        self._encrypt_in_place(blocks)
        return blocks

    def drawn(self, asked: Blocks128) -> Blocks128:
        """What ``blocks`` draws for n pairs of words that stand in ``asked``, contiguous; (n, 2).

        For one to some thousands at a time, since the memory is new.
        """
        encryptor = ciphers.Cipher(algorithms.AES(self.secret[:16]), modes.ECB()).encryptor()
        # A block more than is drawn, which is room that the cipher asks for.
        found = np.empty((len(asked) + 1, 2), dtype="<u8")
        plain = np.ascontiguousarray(asked, dtype="<u8").data.cast("B")
        encryptor.update_into(plain, found.data.cast("B"))
        return found[:-1].astype(np.uint64, copy=False)

    def block(self, first: int, second: int) -> tuple[int, int]:
        """128 pseudorandom bits for one pair of words: what ``blocks`` draws, for a live stream."""
        if self._single is None:
            self._single = ciphers.Cipher(algorithms.AES(self.secret[:16]), modes.ECB()).encryptor()
        drawn = self._single.update(first.to_bytes(8, "little") + second.to_bytes(8, "little"))
        return int.from_bytes(drawn[:8], "little"), int.from_bytes(drawn[8:], "little")

    def generator(self) -> Draws:
        """A generator for draws that protect nobody: whom an audit asks for, rows made of noise."""
        return np.random.default_rng(self.stream(4))

    def stream(self, count: int, first: int = 0) -> NDArray[np.uint64]:
        """Words ``first`` to ``first + count - 1`` of a stream of 64 pseudorandom bits each.

        Word i is a function of the key and of i alone: AES in counter mode, two words a block.
        """
        counter = (first // 2).to_bytes(16, "big")
        encryptor = ciphers.Cipher(algorithms.AES(self.secret[:16]), modes.CTR(counter)).encryptor()
        encryptor.update(bytes(8 * (first % 2)))
        drawn = np.empty(count, dtype=np.uint64)
        for part in parts(count):
            drawn[part] = np.frombuffer(encryptor.update(bytes(drawn[part].nbytes)), dtype="<u8")
        return drawn

    def stream_at(self, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The words of ``stream`` at some places, in any order; both of shape (n,)."""
        blocks = np.zeros((len(places), 2), dtype=np.uint64)
        blocks[:, 1] = (places // 2).astype(np.uint64).byteswap()
        self._encrypt_in_place(blocks)
        words: NDArray[np.uint64] = blocks[np.arange(len(places)), places % 2]
        return words

    def digest(self, message: bytes) -> int:
        """64 pseudorandom bits for a message of any length (keyed BLAKE2b)."""
        return int.from_bytes(blake2b(message, key=self.secret, digest_size=8).digest(), "little")

    def _encrypt_in_place(self, blocks: Blocks128) -> None:
        # ECB is the bare block cipher applied to each block: the pseudorandom function itself,
        # not a mode that hides anything.
        encryptor = ciphers.Cipher(algorithms.AES(self.secret[:16]), modes.ECB()).encryptor()
        # One small buffer for the cipher's output: fresh memory would cost ten times the cipher.
        buffer = _outputs.buffer
        for start in range(0, len(blocks), _CHUNK):
            chunk = blocks[start : start + _CHUNK]
            plain = np.ascontiguousarray(chunk, dtype="<u8").data.cast("B")
            encryptor.update_into(plain, buffer)
            drawn = np.frombuffer(buffer, dtype="<u8", count=chunk.size)
            chunk[:] = drawn.reshape(-1, 2)


class _Outputs(threading.local):
    """Where a thread's ciphers write; its length is a chunk's and what a cipher asks beyond."""

    def __init__(self) -> None:
        self.buffer = bytearray(16 * _CHUNK + 15)


_outputs = _Outputs()


def parts(rows: int) -> Iterator[slice]:
    """Slices of rows whose blocks stay in the processor's cache."""
    return (slice(start, start + _PART) for start in range(0, rows, _PART))

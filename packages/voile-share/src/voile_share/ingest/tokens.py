"""Tokens with which devices send positions, and do nothing else.

A token is 160 random bits in 32 letters and digits, which can be typed into a phone.  It is shown
once; what is stored is a ``DeviceToken``, which holds only its hash (BLAKE2b).  A hash without a
salt or a slow function is right here, and would not be for a password: nobody can try 2^160
tokens.

The door is opened by the token alone, and the device that a message names must then be the
token's.  So a guessed name is as good as none:

- The store is asked for a hash, never for a name; what it takes to look one up tells of hashes,
  which nobody can choose the bits of.
- Unknown, expired, revoked and foreign tokens are refused with the same words, after the same
  steps; hashes are compared in constant time.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import b32encode, b64decode
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from voile_base.randomness import Randomness
from voile_share.ingest.fixes import IngestError, quietly

__all__ = ["DeviceToken", "admit", "issue", "revoked", "token_hash", "token_in"]

_BYTES = 20
_LONGEST = 1024
_NOBODY = bytes(32)


@dataclass(frozen=True, slots=True)
class DeviceToken:
    """What is kept of a token; it opens nothing."""

    device: str
    hash: bytes = field(repr=False)
    """``token_hash`` of the token: 32 bytes, the key to look it up by."""
    issued: float
    """Seconds since 1970 UTC, as all times here."""
    expires: float | None = None
    """From then on it is refused; None: never."""
    revoked: float | None = None
    """Since when it is refused; None: it is not revoked."""

    def is_open(self, now: float) -> bool:
        """Whether it is neither expired nor revoked at the time ``now``."""
        ended = self.expires is not None and now >= self.expires
        return not ended and (self.revoked is None or now < self.revoked)


def issue(
    device: str, now: float, lifetime: float | None = None, randomness: Randomness | None = None
) -> tuple[str, DeviceToken]:
    """A new token for a device, and what is to be kept of it; ``lifetime`` is in seconds.

    ``randomness`` is for demonstrations and tests: the same root, device and time make the same
    token again.
    """
    key = (randomness or Randomness.secure()).key("ingest token", device, repr(now))
    token = b32encode(key.secret[:_BYTES]).decode("ascii").lower()
    expires = None if lifetime is None else now + lifetime
    return token, DeviceToken(device, token_hash(token), now, expires)


def revoked(token: DeviceToken, now: float) -> DeviceToken:
    """The token, refused from ``now`` on; a second time changes nothing."""
    return token if token.revoked is not None else replace(token, revoked=now)


def token_hash(token: str) -> bytes:
    """What a store knows a token by: 32 bytes.  Letters may be of either case."""
    text = token.strip().lower().encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=32, person=b"voile-ingest").digest()


def admit(token: str, found: DeviceToken | None, named: Collection[str], now: float) -> str:
    """The device that may send, where the token is its own.

    ``found`` is what the store has under ``token_hash(token)``, and ``named`` the devices that the
    message names (``Decoded.devices``); none before it is decoded.

    Raises ``IngestError`` ("token-refused") in all other cases, in the same way.
    """
    kept = found or DeviceToken("", _NOBODY, now, now)
    same = hmac.compare_digest(kept.hash, token_hash(token))
    own = all([_same_text(name, kept.device) for name in named])  # noqa: C419 - all, each time
    if not (same & own & kept.is_open(now) & (found is not None)):
        raise IngestError("token-refused", "check the token and the identifier of the device")
    return kept.device


def _same_text(one: str, other: str) -> bool:
    return hmac.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )


def token_in(authorization: str) -> str | None:
    """The token of the header Authorization: of Bearer, or as the password of Basic.

    None where there is none; the user's name of Basic is not read.
    """
    scheme, _, rest = authorization[:_LONGEST].strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip() or None
    if scheme.lower() != "basic":
        return None
    pair = quietly(
        lambda: b64decode(rest.strip(), validate=True).decode("utf-8"),
        binascii.Error,
        UnicodeError,
        ValueError,
    )
    return (pair or "").partition(":")[2] or None

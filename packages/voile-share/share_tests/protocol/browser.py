"""A reader of its own: X25519, HKDF, AES-GCM, SHA-256 and Ed25519, as WebCrypto has them.

It follows docs/sharing-protocol.md and shares no code with the package.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from hashlib import sha256
from struct import unpack

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ITEM, HEAD = 68, 130


def framed(*parts: bytes) -> bytes:
    """Each part after its length in four bytes."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def derived(secret: bytes, salt: bytes, *info: bytes) -> tuple[bytes, bytes]:
    """A key and a nonce."""
    both = HKDF(SHA256(), 44, salt, framed(*info)).derive(secret)
    return both[:32], both[32:]


@dataclass(frozen=True)
class Browser:
    """What stands in the fragment of a link of one day."""

    truck: bytes
    verifying: bytes
    tracking: bytes
    address: bytes

    @classmethod
    def of(cls, fragment: str) -> Browser:
        """Read the fragment."""
        link = base64.urlsafe_b64decode(fragment + "=" * (-len(fragment) % 4))
        assert link[:3] == bytes([1, 8, 1])
        assert link[55] == 1
        return cls(link[3:19], link[19:51], link[56:88], link[88:120])

    def verify(self, report: bytes) -> None:
        """Check the truck's signature; raises ``InvalidSignature``."""
        place, size = report[3:23], int.from_bytes(report[23:26], "big")
        body, tail = report[26 : 26 + size], report[26 + size :]
        digest = sha256(framed(b"voile 1 body", b"\1", body)).digest()
        record = bytes([1, 7, 1]) + place + tail[:4] + digest + tail[4:36]
        key = Ed25519PublicKey.from_public_bytes(self.verifying)
        key.verify(tail[36:], framed(b"voile 1 record", record))

    def items(self, body: bytes, place: bytes) -> dict[int, bytes]:
        """The items that open, by number."""
        theirs = X25519PublicKey.from_public_bytes(body[:32])
        shared = X25519PrivateKey.from_private_bytes(self.tracking).exchange(theirs)
        key, nonce = derived(shared, body[:32], b"voile 1 item", place, self.address)
        opened = {}
        for number in range((len(body) - HEAD) // ITEM):
            item = body[HEAD + number * ITEM :][:ITEM]
            bound = framed(b"\1", place, body[:32], item[:32])
            try:
                opened[number] = AESGCM(key).decrypt(nonce, item[32:], bound)
            except InvalidTag:
                continue
        return opened

    def read(self, report: bytes) -> tuple[int, float, float, int, float, int] | None:
        """Level, latitude, longitude, time, epsilon, remaining metres; None if not about it."""
        self.verify(report)
        place, body = report[3:23], report[26:-100]
        for item in self.items(body, place).values():
            position = position_at(body, place, item[0], item[4:])
            assert position is not None
            north, east, time, epsilon = unpack(">iiIf", position)
            remaining = int.from_bytes(item[1:4], "big")
            return item[0], north / 1e7, east / 1e7, time, epsilon, remaining
        return None


def position_at(body: bytes, place: bytes, level: int, seed: bytes) -> bytes | None:
    """The position of a level opened by a seed; None if it does not open."""
    key, nonce = derived(seed, body[:32], b"voile 1 position", place, bytes([level]))
    bound = framed(b"\1", place, body[:32], bytes([level]))
    box = body[32 + 32 * level :][:32]
    try:
        return AESGCM(key).decrypt(nonce, box, bound)
    except InvalidTag:
        return None

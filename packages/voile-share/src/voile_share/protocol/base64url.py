"""Octets as text in addresses and JSON: base64url (RFC 4648, section 5) without padding."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

__all__ = ["from_base64url", "to_base64url"]


def to_base64url(octets: bytes) -> str:
    """The text of some octets."""
    return urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")


def from_base64url(text: str) -> bytes:
    """The octets of a text.

    Raises ``binascii.Error`` where its length is impossible, and ``UnicodeEncodeError``; characters
    that do not belong there are passed over.
    """
    return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))

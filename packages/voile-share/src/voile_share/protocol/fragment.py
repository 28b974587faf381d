"""Links as the fragment of an address, which browsers send to nobody."""

from __future__ import annotations

from binascii import Error as Base64Error
from typing import Self

from voile_share.protocol.base64url import from_base64url, to_base64url
from voile_share.protocol.rejection import Reason, RejectedError

__all__ = ["Fragment"]


class Fragment:
    """What ``encode`` writes and ``decode`` reads, as text behind ``#``."""

    def encode(self) -> bytes:
        """The octets; two equal links have the same."""
        raise NotImplementedError

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        raise NotImplementedError

    def fragment(self) -> str:
        """The link as the fragment of an address: base64url without padding."""
        return to_base64url(self.encode())

    @classmethod
    def from_fragment(cls, fragment: str) -> Self:
        """Raises ``RejectedError``."""
        try:
            link = cls.decode(from_base64url(fragment))
        except (Base64Error, UnicodeEncodeError):
            msg = "the fragment of the link is not base64url: copy the whole link"
            raise RejectedError(Reason.FIELD, msg) from None
        if link.fragment() != fragment:
            msg = "the fragment of the link holds characters that do not belong to it"
            raise RejectedError(Reason.FIELD, msg)
        return link

"""Where companies may be told, and by which mail server: ``[hooks]`` of share.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from voile_base.errors import InputError, PlanError
from voile_share.platform.key_file import secret_text
from voile_share.service.options import chosen_in

__all__ = ["ADDRESS", "HookOptions"]

ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,255}")
_TLS = ("starttls", "tls", "none")


@dataclass(frozen=True)
class HookOptions:
    """Raises ``PlanError`` where they cannot be."""

    private_networks: bool = False
    """Whether addresses of private networks, and http, may be called: whoever has a company's
    token could so reach what stands behind your firewall."""
    mail_host: str = ""
    """The server that takes mail; empty: none is sent."""
    mail_port: int = 587
    mail_tls: str = "starttls"
    """``starttls``, ``tls`` or, on this machine alone, ``none``."""
    mail_user: str = ""
    mail_password_file: str = ""
    """Its first line is the password; only its owner may read it."""
    mail_sender: str = ""
    """Whom mails come from."""
    folder: Path = Path()

    def __post_init__(self) -> None:
        if self.mail_tls not in _TLS:
            msg = f"mail_tls of hooks must be one of: {', '.join(_TLS)}"
            raise PlanError(msg)
        if self.mail_tls == "none" and self.mail_host not in {"", "localhost", "127.0.0.1", "::1"}:
            msg = 'mail_tls = "none" is for a server on this machine: others read what is sent'
            raise PlanError(msg)
        if self.mail_host and not ADDRESS.fullmatch(self.mail_sender):
            msg = "mail_sender of hooks must be an address, such as voile@share.example.org"
            raise PlanError(msg)

    @classmethod
    def from_document(cls, table: Mapping[str, Any], folder: Path) -> Self:
        """That of the table ``[hooks]``; raises ``PlanError``."""
        known = [one.name for one in fields(cls) if one.name != "folder"]
        return cls(**chosen_in(table, cls, known, "setting of hooks"), folder=folder)

    def password(self) -> str | None:
        """That of the mail server; raises ``InputError``."""
        if not self.mail_password_file:
            return None
        path = self.folder / self.mail_password_file
        lines = secret_text(path, "the password of mail").splitlines()
        if not lines or not lines[0]:
            msg = f"{path} must hold the password of mail in its first line"
            raise InputError(msg)
        return lines[0]

"""What the operator does, and no company may: who is let in at all, and who no longer.

Tokens are returned once and kept as hashes; a lost one is replaced, never shown again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from voile_base.errors import InputError
from voile_share.ingest import token_hash
from voile_share.platform.access import printable
from voile_share.platform.core import PlatformCore
from voile_share.platform.registrar import Registrar
from voile_share.platform.writing import stream_context
from voile_share.positions import without_time
from voile_share.store import AccessToken, Company, TokenRole

__all__ = ["KnownAuditor", "KnownCompany", "Operating"]

_MOST_NAME = 200


@dataclass(frozen=True)
class KnownCompany:
    """A company, and how much of the service it uses."""

    company: Company
    trucks: int
    """That are not retired."""


@dataclass(frozen=True)
class KnownAuditor:
    """Whoever was admitted under one name."""

    name: str
    since: float
    """When the first token was given."""
    tokens: int
    """That are open; none: revoked."""


class Operating:
    """Companies and auditors, as their operator sees them."""

    def __init__(
        self, core: PlatformCore, changed: Callable[[bytes], None], registrar: Registrar
    ) -> None:
        """``changed`` is told which truck lets others in."""
        self._core = core
        self._changed = changed
        self._registrar = registrar

    def open_company(self, name: str) -> tuple[Company, str]:
        """A new company and its token; raises ``AccessError`` for a name that is none.

        Companies may have one name: their numbers tell them apart.
        """
        now, token = self._core.clock(), self._core.new_token()
        number = self._core.fresh("company").token("company")
        company = Company(number, printable(name, _MOST_NAME, "name-unfit"), now)
        self._core.directory.add_company(
            company, AccessToken(token_hash(token), TokenRole.COMPANY, number, now)
        )
        return company, token

    def renew_company(self, number: str, overlap: float = 0.0) -> tuple[Company, str]:
        """A new token for an open company, whose others are refused ``overlap`` hours from now on.

        Raises ``InputError``.
        """
        company = self._company(number)
        if company.closed is not None:
            msg = f"company {number} was closed, and closed companies are not opened again"
            raise InputError(msg)
        now, token = self._core.clock(), self._core.new_token()
        self._core.directory.replace_tokens(
            AccessToken(token_hash(token), TokenRole.COMPANY, number, now), now + overlap * 3_600
        )
        return company, token

    def close_company(self, number: str) -> None:
        """Refuse all that is a company's from now on; raises ``InputError``."""
        self._company(number)
        now = self._core.clock()
        self._core.directory.close_company(number, now)
        self._core.directory.revoke_tokens(TokenRole.COMPANY, number, now)
        for truck in self._core.directory.trucks(number):
            self._changed(truck.truck)
        self._registrar.changed()

    def set_back(self, truck: bytes) -> int:
        """Take back what a truck has published of times that have not come; how many reports.

        It then goes on with its next position.  Where its reports were read already, its chain of
        records has another end than auditors know.  Raises ``InputError``, and ``StoreError``.
        """
        directory, log, now = self._core.directory, self._core.log, self._core.clock()
        if directory.truck(truck) is None:
            msg = f"there is no truck {truck.hex()}"
            raise InputError(msg)
        last = log.last(truck)
        if last is None or last.slot <= now:
            msg = (
                f"the last report of truck {truck.hex()} is not ahead of this machine's clock, so "
                "there is nothing to take back"
            )
            raise InputError(msg)
        context, sealed = stream_context(truck), directory.state(truck)
        if sealed is not None:
            state = without_time(self._core.vault.unseal(context, sealed))
            directory.replace_state(truck, sealed, self._core.vault.seal(context, state))
        taken = log.take_back(truck, int(now))
        self._changed(truck)
        return taken

    def set_retention(self, number: str, days: int | None) -> None:
        """For how many days a company's data are kept; None: as the settings say.

        Raises ``InputError``.
        """
        self._company(number)
        self._core.directory.set_retention(number, days)

    def retentions(self) -> Sequence[tuple[str, str, int]]:
        """Number, name and days of each open company."""
        own = self._core.directory.retentions()
        return [
            (one.company, one.name, own.get(one.company, self._core.settings.keep_days))
            for one in self._core.directory.companies()
            if one.closed is None
        ]

    def companies(self) -> Sequence[KnownCompany]:
        """All, closed ones too, in the order in which they were opened."""
        trucks = Counter(
            truck.company for truck in self._core.directory.trucks() if truck.retired is None
        )
        return [
            KnownCompany(company, trucks[company.company])
            for company in self._core.directory.companies()
        ]

    def open_auditor(self, name: str) -> str:
        """The token of a new auditor; raises ``AccessError``."""
        token, now = self._core.new_token(), self._core.clock()
        holder = printable(name, _MOST_NAME, "name-unfit")
        self._core.directory.add_token(
            AccessToken(token_hash(token), TokenRole.AUDITOR, holder, now)
        )
        return token

    def revoke_auditor(self, name: str) -> int:
        """Refuse all tokens of an auditor from now on; how many were open.

        Raises ``InputError``.
        """
        revoked = self._core.directory.revoke_tokens(
            TokenRole.AUDITOR, name.strip(), self._core.clock()
        )
        if not revoked:
            msg = f"no auditor called {name.strip()!r} has an open token"
            raise InputError(msg)
        return revoked

    def auditors(self) -> Sequence[KnownAuditor]:
        """All, revoked ones too, in the order in which they were first admitted."""
        now, since, tokens = self._core.clock(), dict[str, float](), Counter[str]()
        for token in self._core.directory.tokens(TokenRole.AUDITOR):
            since.setdefault(token.holder, token.created)
            tokens[token.holder] += token.is_open(now)
        return [KnownAuditor(name, first, tokens[name]) for name, first in since.items()]

    def _company(self, number: str) -> Company:
        company = self._core.directory.company(number)
        if company is None:
            msg = f"there is no company {number}"
            raise InputError(msg)
        return company

"""``policy.toml``: a risk appetite that a machine can check.

    name   = "data for researchers"
    source = "decision of the board of 3 March"

    [[criteria]]
    kind  = "group-size"
    least = 11

    [[criteria]]
    kind   = "attack"
    name   = "prosecutor"
    figure = "worst"
    most   = 0.09

    [[signers]]
    role = "data protection officer"
    key  = "ed25519:..."

Each mistake is an ``InputError`` that names the file, the table and the key.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from voile.policy.criteria.groups import ClosenessCriterion, DiversityCriterion, GroupSize
from voile.policy.criteria.identifiers import DeclaredRoles, Identifiers
from voile.policy.criteria.measured import (
    Assumptions,
    AttackRate,
    PrivacyBudget,
    QuestionCriterion,
    RepeatedAudits,
    Utility,
)
from voile.policy.criteria.risks import Copies, ReIdentified, ThreeRisks, WorstOff
from voile.policy.templates import template_names, template_text
from voile_base.errors import InputError, nearest, place_in_toml
from voile_base.ondemand import dataclass
from voile_base.values import Document
from voile_base.values.value import Says, Value, json_schema, read

__all__ = [
    "Policy",
    "Signer",
    "StatedPolicy",
    "policy_schema",
]

AnyCriterion = Annotated[
    GroupSize
    | DiversityCriterion
    | ClosenessCriterion
    | AttackRate
    | ThreeRisks
    | Copies
    | WorstOff
    | ReIdentified
    | PrivacyBudget
    | Identifiers
    | DeclaredRoles
    | Utility
    | Assumptions
    | RepeatedAudits
    | QuestionCriterion,
    Field(discriminator="kind"),
]


class Signer(Value):
    """Somebody who must sign, by role."""

    role: Annotated[str, Field(min_length=1)]
    key: Annotated[
        Annotated[str, Field(pattern="^ed25519:[0-9a-f]{64}$")] | None,
        Says("a public key as voile key prints it: ed25519: and 64 hexadecimal digits"),
    ] = None
    """The public key; None: any key will do, and is told as unknown."""


class Recipient(Value):
    """Whom a release is given to, and what can be expected of them: who it is anonymous for.

    Source: Regulation (EU) 2016/679, recital 26, "means reasonably likely to be used", which are
    those of an actor (Court of Justice of the European Union, C-582/14 and C-413/23 P).
    """

    who: Annotated[str, Field(min_length=1)]
    other_data: tuple[str, ...] = ()
    """What else they can lay hands on: "the voter roll"."""
    contract: str = ""
    """What binds them; empty for nothing."""
    controls: tuple[str, ...] = ()
    """What keeps them from misuse: "a secure room", "outputs are checked"."""
    until: str = ""
    """For how long they have it; empty for ever."""

    @property
    def questions(self) -> tuple[str, ...]:
        """What a human must make sure of."""
        bound = self.contract or "nothing"
        found = [
            f"The recipient is {self.who}, bound by {bound}, and has it {self.until or 'for ever'}"
        ]
        found += [f"This control is in place: {control}" for control in self.controls]
        others = ", ".join(self.other_data) or "no other data about these people"
        return (*found, f"What the recipient can hold beside it was considered: {others}")

    def lines(self) -> Iterator[tuple[str, str]]:
        """What it says, by headings."""
        yield "recipient", self.who
        yield "other data", ", ".join(self.other_data) or "none is stated"
        yield "contract", self.contract or "none"
        yield "controls", ", ".join(self.controls) or "none"
        yield "for how long", self.until or "for ever"


class Policy(Value):
    """What a release and its evidence must satisfy."""

    name: Annotated[str, Field(min_length=1)]
    source: str = ""
    """Who asks for it, and where that stands."""
    about: str = ""
    """What a reader should know of it."""
    audience: str = ""
    """To whom what satisfies it is given: "the public", "accredited researchers"."""
    recipient: Recipient | None = None
    """Who gets it, with which other data, under which contract and controls, for how long."""
    legal_questions: tuple[str, ...] = ()
    """What no figure answers, and a lawyer must still decide; a clause each."""
    criteria: Annotated[tuple[AnyCriterion, ...], Field(min_length=1)]
    signers: tuple[Signer, ...] = ()

    @model_validator(mode="after")
    def _different_signers(self) -> Self:
        roles = [signer.role for signer in self.signers]
        if len(set(roles)) < len(roles):
            msg = "each role signs once; name each signer once"
            raise ValueError(msg)
        return self

    @property
    def questions(self) -> tuple[str, ...]:
        """What it asks of humans."""
        of_recipient = self.recipient.questions if self.recipient else ()
        return (*of_recipient, *(says for each in self.criteria for says in each.questions))


@dataclass(frozen=True)
class StatedPolicy:
    """A policy with the text that states it."""

    policy: Policy
    text: str

    @staticmethod
    def of_text(text: str, where: str) -> StatedPolicy:
        """The policy that a text states; ``where`` names it in messages.  Raises ``InputError``."""
        try:
            document: Document = tomllib.loads(text, parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            msg = f"{where}: this is not valid TOML at {place_in_toml(error)}"
            raise InputError(msg) from None
        return StatedPolicy(read(Policy, document, where, public=True, tables=True), text)

    @staticmethod
    def read(named: str | Path) -> StatedPolicy:
        """A policy by its file, or by the name of a template; raises ``InputError``.

        A file goes before a template of the same name.
        """
        path = Path(named)
        if not path.is_file() and str(named) in template_names():
            return StatedPolicy.of_text(template_text(str(named)), f"template {named}")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            msg = (
                f"{path}: there is no such policy, and no template of this name"
                f"{nearest(str(named), template_names())} "
                f"(templates: {', '.join(template_names())})"
            )
            raise InputError(msg) from None
        except (OSError, UnicodeDecodeError):
            msg = f"{path}: the policy cannot be read as a UTF-8 text file"
            raise InputError(msg) from None
        stated = StatedPolicy.of_text(text, str(path))
        _refuse_shipped_name(stated, path)
        return stated


_LOOKS_LIKE = str.maketrans(
    "АВСЕНІЈКМОРЅТХаесіјорѕхуΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυχ",
    "ABCEHIJKMOPSTXaecijopsxyABEZHIKMNOPTYXavopux",
)
"""Letters of Cyrillic and Greek that readers take for Latin ones."""


def _as_it_looks(name: str) -> str:
    """A name as readers see it: without marks that show nothing, whatever letters it is made of."""
    plain = unicodedata.normalize("NFKD", name).translate(_LOOKS_LIKE)
    return "".join(letter for letter in plain if letter.isalnum()).casefold()


def _refuse_shipped_name(stated: StatedPolicy, path: Path) -> None:
    """Raise ``InputError`` where a file bears the name of a template and asks for other things."""
    called = _as_it_looks(stated.policy.name)
    for template in template_names():
        shipped = StatedPolicy.of_text(template_text(template), template)
        names = {_as_it_looks(template), _as_it_looks(shipped.policy.name)}
        if called in names and stated.policy != shipped.policy:
            msg = (
                f"{path}: its name, {stated.policy.name!r}, is that of the shipped policy "
                f"{template!r}, and it asks for something else; give it a name of its own"
            )
            raise InputError(msg)


def policy_schema() -> dict[str, object]:
    """The schema of a policy, for editors and programs that write one."""
    title = "Voile: a policy"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **json_schema(Policy),
        "title": title,
    }

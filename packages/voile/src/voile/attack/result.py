"""What a differencing adversary found: plain values, made from published files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from voile.attack.outcome import AttackOutcome, Estimate, Target
from voile.schema.numbers import decimals_of, units_of, unscaled

__all__ = ["AttackResult", "Narrowing", "Victim", "VictimPosition"]


@dataclass(frozen=True)
class VictimPosition:
    """Where a victim stands in one release, as far as the adversary can tell."""

    release: str
    groups: tuple[int, ...]
    """The groups that may hold the victim, ascending; none if the victim is not in the release."""
    absent: bool
    """Whether the victim may be missing from the release."""
    subtracted: tuple[int, ...] = ()
    """For a release without the victim: its groups whose values were accounted for by others."""

    def sentence(self) -> str:
        """The place in words."""
        if not self.groups:
            others = f": {_groups(self.subtracted)} subtracted" if self.subtracted else ""
            return f"not in {self.release}{others}"
        doubt = ", or absent" if self.absent else ""
        return f"in {_groups(self.groups, 'or')} of {self.release}{doubt}"


@dataclass(frozen=True)
class Narrowing:
    """How narrow a set of values is."""

    distinct: int
    spread: Decimal
    """Largest minus smallest value."""

    @classmethod
    def of(cls, values: Sequence[Decimal]) -> Narrowing:
        """How narrow one or more distinct values are, given in ascending order."""
        ends = values[0], values[-1]
        scale = max(map(decimals_of, ends))
        low, high = (units_of(end, scale) for end in ends)  # Decimals subtract to 28 digits only
        return cls(len(values), unscaled(high - low, scale))

    def document(self) -> dict[str, Any]:
        """The narrowing for JSON; the range is text, so that no digit is lost."""
        return {"distinct": self.distinct, "range": format(self.spread, "f")}


@dataclass(frozen=True)
class Victim:
    """A person, known by quasi-identifiers, whose value is narrowed down too far."""

    quasi_identifiers: Mapping[str, Any]
    people: int
    """How many people have these quasi-identifiers; what follows is true of each of them."""
    values: tuple[Decimal, ...]
    """Every value that the person can have, distinct, ascending."""
    alone: Narrowing
    """What the newest release that shows the person leaves if nothing else is known."""
    places: tuple[VictimPosition, ...]
    """Where the person stands in each release, newest first: the reason."""

    @property
    def left(self) -> Narrowing:
        """How narrow the values are."""
        return Narrowing.of(self.values)

    @property
    def reason(self) -> str:
        """Which groups were intersected and subtracted, in words."""
        return "; ".join(place.sentence() for place in self.places)

    def target(self) -> Target:
        """The person as a target whose values left are all equally likely."""
        return Target(self.quasi_identifiers, 1 / self.left.distinct)

    def document(self) -> dict[str, Any]:
        """The victim for JSON."""
        return {
            "quasi_identifiers": {name: _plain(v) for name, v in self.quasi_identifiers.items()},
            "people": self.people,
            "values": [format(value, "f") for value in self.values],
            **self.left.document(),
            "alone": self.alone.document(),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class AttackResult:
    """Who is exposed by a release and the earlier ones it is compared with."""

    releases: tuple[str, ...]
    """Names of the releases that were used, newest first."""
    sensitive: str
    k: int
    e: Decimal
    people: int
    """People in all used releases together."""
    exposed: int
    """People left with fewer than ``k`` distinct values, or with a range below ``e``."""
    exposed_alone: int
    """People exposed by the newest release if nothing else is known."""
    victims: tuple[Victim, ...]
    """Fewest values first, then the smallest range; as many as were asked for."""
    assumptions: tuple[str, ...]
    """What must be true for the claims to be true."""
    notes: tuple[str, ...] = ()
    """What was found on the way: people or values that left, releases that could not be used."""
    untried: tuple[str, ...] = ()
    """Adversaries who were left out though they may learn more, as clauses."""
    chance: float = 0.0
    """Mean over all people of the chance to guess a value among those left, or somewhat more."""

    @property
    def share(self) -> float:
        """Share of the people who are exposed, between 0 and 1."""
        return self.exposed / self.people if self.people else 0.0

    @property
    def worst(self) -> Victim | None:
        """The person whose value is narrowed down furthest, if anybody is exposed."""
        return self.victims[0] if self.victims else None

    def document(self) -> dict[str, Any]:
        """The result for JSON."""
        return {
            "releases": list(self.releases),
            "sensitive": self.sensitive,
            "k": self.k,
            "e": format(self.e, "f"),
            "people": self.people,
            "exposed": self.exposed,
            "share": self.share,
            "exposed_alone": self.exposed_alone,
            "victims": [victim.document() for victim in self.victims],
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "untried": list(self.untried),
        }

    def outcome(self) -> AttackOutcome:
        """The result beside those of other attacks: its targets are all people of the releases.

        A success is a claim that follows from the published files, if what is assumed is true;
        nothing follows without them, so the baseline is 0.  Made from published files alone.
        """
        alone = f"{self.exposed_alone:,}" if self.exposed_alone else "nobody"
        compared = ", ".join(self.releases[1:]) or "no earlier release"
        return AttackOutcome(
            attack="differencing",
            goal=(
                f"fewer than {self.k:,} values of {self.sensitive!r} are possible for a person, "
                f"or they span less than {self.e:,f}"
            ),
            targets=self.people,
            checked=False,
            success=Estimate.of_total(self.exposed, self.people),
            probability=Estimate.of_total(self.chance * self.people, self.people),
            baseline=0.0,
            worst=self.worst.target() if self.worst else None,
            typical=None,
            assumptions=self.assumptions,
            notes=(
                f"compared with {compared}; the newest release alone exposes {alone}",
                *self.notes,
            ),
            untried=self.untried,
            drawn_from=self.people,
        )


def _groups(numbers: tuple[int, ...], last: str = "and") -> str:
    named = [str(number) for number in numbers]
    if len(named) == 1:
        return f"group {named[0]}"
    if len(named) > 6:
        return f"one of {len(named)} groups" if last == "or" else f"{len(named)} groups"
    return f"groups {', '.join(named[:-1])} {last} {named[-1]}"


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)

"""What was asked of ``voile attack``, and the private files it names, each read once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

from voile.publish.registry import read_plan
from voile.release.recounting import read_recounted
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.study.evidence import EvidenceRun, ReleaseUnderTest
from voile.table.opening import rows_in_memory
from voile.table.places import Place, laid_out
from voile.table.remote import brought_release
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document

__all__ = ["AttackCall"]


@dataclass(frozen=True)
class AttackCall:
    """What was asked for; an option that was not given is None, empty or False."""

    release: Path
    previous: tuple[Path, ...]
    against: Place | None
    plan: Path | None
    seed: int | None
    attack: tuple[str, ...]
    roads: Path | None
    nodes: Path | None
    fastest: float | None
    movement: Path | None
    vehicle: str | None
    knows: tuple[str, ...]
    places: Path | None
    pictures: Path | None
    engine: str
    as_json: bool
    said: Document
    """The options that tell adversaries what they know."""

    @classmethod
    def of(cls, options: Document) -> AttackCall:
        """A call with the values of all options; releases in stores are brought here."""
        own = {field.name for field in fields(cls)} - {"said"}
        said = {name: value for name, value in options.items() if name not in own}
        given = {name: options[name] for name in own}
        given["release"] = brought_release(given["release"])
        given["previous"] = tuple(map(brought_release, given["previous"]))
        return cls(**given, said=said)

    def read(self, release: Path) -> Release:
        """A release, recounted, in the engine that was asked for."""
        return read_recounted(release, engine=self.engine)

    def people(self, path: Place, plan: Plan | None) -> Any:
        """The rows of a private table, read by the engine that was asked for."""
        missing, texts = (plan.missing, plan.texts) if plan else ((), ())
        path = laid_out(path, plan.input) if plan else path
        frame, _ = rows_in_memory(path, missing=missing, texts=texts, engine=self.engine)
        return frame

    @cached_property
    def told(self) -> Plan | None:
        """The plan of the original; None where none was named."""
        return read_plan(self.plan) if self.plan else None

    @cached_property
    def original(self) -> Any:
        """The rows of the private original, read once."""
        assert self.against is not None
        return self.people(self.against, self.told)

    @cached_property
    def earlier(self) -> list[Release]:
        """The earlier releases, read once."""
        return [self.read(folder) for folder in self.previous]

    def evidence(
        self, new: Release, stage: Callable[[str], None], *, strict: bool = False
    ) -> EvidenceRun:
        """A run of evidence on a release, beside the private original."""
        subject = ReleaseUnderTest(new, self.original, self.told, self.draws())
        return EvidenceRun(subject, stage, strict=strict)

    def draws(self) -> Randomness | None:
        """What draws people and trips, anew from the seed each time; None without one."""
        return None if self.seed is None else Randomness.seeded(self.seed)

    def refuse(self, *options: str, reason: str) -> None:
        """Raise ``InputError`` where one of these options was given."""
        for option in options:
            value = self.said[option] if option in self.said else getattr(self, option)
            if value is not None and value != () and value is not False:
                msg = f"--{option.replace('_', '-')} is of no use here: {reason}"
                raise InputError(msg)

    def refuse_all_said(self, *, but: Collection[str] = (), reason: str) -> None:
        """Raise ``InputError`` where adversaries were told anything but these."""
        self.refuse(*(option for option in self.said if option not in but), reason=reason)

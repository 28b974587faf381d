"""Putting a study on record: from what was published and found to plain values; private."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from voile.disclosure.disclosure import Disclosure
from voile.release.release import Publication
from voile.schema.numbers import json_number
from voile.study.evidence import EvidenceTerms, StudyEvidence
from voile.study.plans import StatedPlan, json_value
from voile.study.record import Distribution, PublicationDocument, RecordedRelease, StudyRecord
from voile.study.rehearsal import Persons, fingerprint
from voile_base.version import VERSION

__all__ = ["Subject", "put_on_record", "versions"]

_LIBRARIES = ("polars", "numpy", "scipy", "numba", "scikit-learn")
_RELEASE = (
    "format",
    "method",
    "guarantee",
    "rows",
    "publishable",
    "release_id",
    *Disclosure.model_fields,
    "roles",
)


@dataclass(frozen=True)
class Subject:
    """What is studied."""

    stated: StatedPlan
    seed: int | None = None
    parameters: Mapping[str, Any] | None = None
    """By which it differs from others of its grid."""


def put_on_record(
    subject: Subject,
    publication: Publication,
    evidence: StudyEvidence,
    terms: EvidenceTerms,
    seconds: Mapping[str, float],
    notices: Sequence[str] = (),
) -> StudyRecord:
    """The record of one study; ``notices`` are added to those of the publication."""
    stages = {**seconds, **evidence.seconds}
    return StudyRecord(
        name=subject.stated.name,
        parameters=json_value(subject.parameters or {}),
        plan=subject.stated.document,
        seed=subject.seed,
        release=_release(publication),
        publication=_private(publication, notices, evidence.persons),
        attacks=tuple(json_value(found.document()) for found in evidence.attacks),
        attacks_skipped=evidence.attacks_skipped,
        utility=tuple(json_value(found.document()) for found in evidence.utility),
        utility_skipped=evidence.utility_skipped,
        distributions=tuple(map(_distribution, evidence.distributions)),
        evidence={
            "targets": terms.targets,
            "held_out": evidence.held_out,
            "rehearsed": list(evidence.rehearsed),
        },
        versions=versions(),
        seconds={stage: round(taken, 3) for stage, taken in stages.items()},
        fingerprint=fingerprint(publication.release),
        risks=evidence.risks,
        risks_skipped=evidence.risks_skipped,
    )


def versions() -> dict[str, str]:
    """Of Voile, Python and the libraries whose numbers matter, as far as they are installed."""
    found = {"voile": VERSION, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _release(publication: Publication) -> RecordedRelease:
    document = publication.release.document()
    stated: Any = {key: json_value(document[key]) for key in _RELEASE if key in document}
    return stated  # type: ignore[no-any-return]


def _private(
    publication: Publication, more: Sequence[str], persons: Persons | None
) -> PublicationDocument:
    private = publication.private
    document: PublicationDocument = {
        "rows_in": private.rows_in,
        "rows_out": private.rows_out,
        "suppressed": private.suppressed,
        "held": private.held,
        "carried": private.carried,
        "objective": json_number(Decimal(private.objective)),
        "summary": private.summary,
        "notices": [*private.notices, *more],
    }
    if persons is not None:
        document["protected"] = persons.protected
        document["units_in"] = persons.all_of_them
        document["units_out"] = persons.published
    return document


def _distribution(found: Any) -> Distribution:
    """The same values as the record's own type, plain."""
    values = {field.name: getattr(found, field.name) for field in fields(Distribution)}
    for name in ("labels", "before", "after", "edges"):
        values[name] = None if values[name] is None else tuple(json_value(values[name]))
    return Distribution(**values)

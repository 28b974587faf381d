"""A policy held against a release and its evidence.

Whatever the policy says, a release that was made with a seed fails: others may know the seed.  So
does an audit that was, for somebody may have chosen among seeds; and so does a file of another make
that shows a column which its plan does not let out.  What no adversary could read in such a file
passes where somebody has ticked it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from voile.policy.assumptions import ASSUMPTIONS, Tick, read_ticks, with_form
from voile.policy.case import Case
from voile.policy.criteria.questions import asked
from voile.policy.ruling import Ruling
from voile.policy.stated import StatedPolicy
from voile.policy.verdict import VERDICT, Verdict, verdict_document
from voile.study.documents import json_text
from voile_base.durable import replace_private_file
from voile_base.errors import TableError
from voile_base.randomness import UNFIT

__all__ = ["form_of", "judge", "keep"]


def judge(case: Case, stated: StatedPolicy) -> Verdict:
    """What a policy says to a case; writes nothing.  Raises a ``VoileError`` as its files do."""
    ticks = () if case.private is None else read_ticks(case.private / ASSUMPTIONS)
    return Verdict(
        policy=stated.policy.name,
        text=stated.text,
        judged=case.kind,
        files=case.files,
        rulings=tuple(_rulings(case, stated, ticks)),
    )


def form_of(case: Case, stated: StatedPolicy) -> Path | None:
    """The file in which humans tick, with all that is asked of them; None where nothing is."""
    if case.private is None:
        return None
    assumed = case.release.guarantee.assumes if case.release else ()
    path = case.private / ASSUMPTIONS
    with_form(path, (*assumed, *case.unexamined, *stated.policy.questions))
    return path if path.is_file() else None


def keep(case: Case, verdict: Verdict) -> Path | None:
    """Write the verdict beside the evidence, in the place of an earlier one; None without any."""
    if case.private is None:
        return None
    path = case.private / VERDICT
    replace_private_file(path, json_text(verdict_document(verdict)))
    return path


def _rulings(case: Case, stated: StatedPolicy, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
    if not case.publishable:
        yield Ruling(
            "publishable",
            "the release is fit for publication",
            passed=False,
            why=UNFIT,
            of_original=False,
        )
    if case.experiment:
        yield Ruling(
            "evidence",
            "the targets of the audit were chosen by nobody",
            passed=False,
            why="they were drawn with --seed, of which several may have been tried; audit without",
        )
    for name, why in case.unfit.items():
        asks = f"column {name!r} may be published"
        yield Ruling("column", asks, passed=False, why=why, of_original=True)
    for says in case.unexamined:
        yield asked("unexamined", says, ticks)
    for criterion in stated.policy.criteria:
        try:
            yield from criterion.rulings(case, ticks)
        except TableError as error:
            why = str(error).rstrip(".")
            yield Ruling(criterion.kind, criterion.kind, passed=False, why=why)

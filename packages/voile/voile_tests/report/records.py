"""Records as a study would make them, for tests of reports; numbers are made up but plausible."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

from voile.audit.record import AuditRecord
from voile.policy.checking import Verdict
from voile.policy.criteria.groups import GroupSize
from voile.policy.criteria.measured import QuestionCriterion
from voile.policy.ruling import Ruling, Tick
from voile.policy.stated import Policy, Signer
from voile.report.html import Dossier, HistoryLine
from voile.study.record import Distribution, Point, Skipped, StudyComparison, StudyRecord

COLUMNS = ("age", "sex", "education", "marital-status", "race", "native-country", "hours-per-week")
ROWS = 48_842


def attack(
    name: str = "prosecutor", success: float = 0.021, baseline: float = 1 / ROWS, **more: Any
) -> dict[str, Any]:
    """A document of an ``AttackOutcome``."""
    reach = 1.96 * math.sqrt(max(success * (1 - success), 1e-3) / 1000)
    person = {"known": {"age": 39, "sex": "Male"}, "probability": min(1.0, 4 * success)}
    return {
        "attack": name,
        "goal": "the best guess is the target's own row",
        "targets": 1000,
        "checked": True,
        "success": {
            "value": success,
            "low": max(0.0, success - reach),
            "high": min(1.0, success + reach),
        },
        "probability": {"value": success, "low": 0.0, "high": min(1.0, 2 * success)},
        "baseline": baseline,
        "advantage": success / baseline if baseline else None,
        "worst": person,
        "typical": {**person, "probability": success / 2},
        "assumptions": ["knows all quasi-identifiers of the target exactly"],
        "notes": ["no published row fits 3 of the targets; for them every guess fails"],
        **more,
    }


def measurement(
    name: str = "normalized-certainty-penalty", value: float | None = 0.314, **more: Any
) -> dict[str, Any]:
    """A document of a ``Measurement``."""
    return {
        "measure": name,
        "title": name.replace("-", " ").capitalize(),
        "value": value,
        "better": "lower",
        "meaning": "share of each column's range that a published value leaves open",
        "untouched": 0.0,
        "useless": 1.0,
        "parts": {},
        "notes": [],
        **more,
    }


def attacks(strength: float = 1.0) -> tuple[dict[str, Any], ...]:
    inferred = {"goal": "the most likely sensitive value of those who fit is the target's"}
    return (
        attack("prosecutor", 0.021 * strength),
        attack("journalist", 0.0064 * strength),
        attack("marketer", 0.0031 * strength, checked=False),
        attack("membership", 0.5 + 0.03 * strength, 0.5, goal="says rightly who is in the table"),
        attack("homogeneity", min(1.0, 0.81 * strength**0.05), 0.7607, **inferred),
        attack("background-knowledge", min(1.0, 0.836 * strength**0.04), 0.7607, **inferred),
        attack("skewness", 0.7651, 0.7607, **inferred),
        attack("identification", 0.0 if strength < 1 else 0.019, 1 / ROWS),
    )


def measures(loss: float = 0.314) -> tuple[dict[str, Any], ...]:
    pairs = {
        f"{a}, {b}": loss * (1 + math.sin(3 * i + 7 * j)) / 4
        for (i, a), (j, b) in combinations(enumerate(COLUMNS), 2)
    }
    parts = {name: loss * (0.3 + 0.2 * place) for place, name in enumerate(COLUMNS)}
    return (
        measurement("normalized-certainty-penalty", loss, parts=parts),
        measurement("prec", loss * 0.9),
        measurement(
            "discernibility", 4_182_337 * loss, useless=float(ROWS**2), untouched=ROWS * 1.0
        ),
        measurement("average-class-size", 11.4 * loss, untouched=1.0, useless=None),
        measurement("pairwise-divergence", loss / 4, parts=pairs),
        measurement(
            "classifier-accuracy",
            0.8512 - loss / 12,
            better="higher",
            untouched=0.8512,
            useless=0.7607,
            meaning="accuracy on held-out originals of a classifier trained on the release",
            notes=["gradient boosting, 10,000 held-out rows"],
        ),
        measurement("query-error", 0.08 + loss / 10, useless=None),
    )


def distributions() -> tuple[Distribution, ...]:
    edges = tuple(float(e) for e in range(15, 95, 5))
    age = [math.exp(-(((e - 36) / 17) ** 2)) for e in edges[:-1]]
    flat = [sum(age[i // 3 * 3 : i // 3 * 3 + 3]) / 3 for i in range(len(age))]
    schools = [f"school {place} of many names" for place in range(16)]
    grades = [1 / (place + 1) for place in range(16)]
    return (
        Distribution(
            "age", "quasi-identifier", "number",
            tuple(f"{a:g} to {b:g}" for a, b in pairwise(edges)), edges,
            _shares(age), _shares(flat),
        ),
        Distribution(
            "sex", "quasi-identifier", "text", ("Male", "Female"), None, (0.6685, 0.3315),
            (0.6685, 0.3315),
        ),
        Distribution(
            "education", "quasi-identifier", "text", tuple(schools), None, _shares(grades),
            _shares([sum(grades) / 16 + g / 9 for g in grades]),
        ),
        Distribution(
            "hours-per-week", "keep", "number", tuple(f"{e} hours" for e in range(0, 100, 10)),
            tuple(float(e) for e in range(0, 110, 10)),
            _shares([2, 4, 8, 9, 46, 14, 9, 5, 2, 1]), _shares([2, 4, 8, 9, 46, 14, 9, 5, 2, 1]),
        ),
        Distribution(
            "income", "sensitive", "text", ("<=50K", ">50K"), None, (0.7607, 0.2393),
            (0.7607, 0.2393),
        ),
    )  # fmt: skip


def _shares(weights: list[float]) -> tuple[float, ...]:
    return tuple(weight / sum(weights) for weight in weights)


def record(**more: Any) -> StudyRecord:
    """A study of a generalization with k = 5; ``more`` replaces fields."""
    values: dict[str, Any] = {
        "name": "adult-k5",
        "parameters": {},
        "plan": {
            "missing": ["?"],
            "roles": {"quasi_identifiers": list(COLUMNS), "sensitive": ["income"], "keep": []},
            "columns": {
                "age": {"bounds": [17, 90], "intervals": {"origin": 0, "widths": [5, 10, 20]}},
                "native country": {"hierarchy": "native-country.csv"},
            },
            "method": {"name": "generalization", "k": 5, "suppression_limit": 0.02},
        },
        "seed": 7,
        "release": {
            "method": {
                "name": "generalization",
                "k": 5,
                "algorithm": "flash",
                "suppression_limit": 0.02,
                "decision": {"levels": {"age": 3, "education": 2, "race": 1}, "groups": 1204},
            },
            "guarantee": {
                "kind": "k-anonymity",
                "k": 5,
                "statement": "5-anonymous: every published row agrees with at least 4 others in "
                "all quasi-identifiers",
                "assumes": ["nobody is in the table twice", "the hierarchies are public"],
            },
            "rows": 47_901,
            "publishable": False,
            "release_id": "9a7019f12a1bc2d6dc052243fae08d2c",
            "columns": {"quasi_identifiers": list(COLUMNS), "sensitive": ["income"], "keep": []},
        },
        "publication": {
            "rows_in": ROWS,
            "rows_out": 47_901,
            "suppressed": 941,
            "held": 0,
            "carried": 0,
            "objective": 0.3141592653589793,
            "summary": "in 1,204 groups",
            "notices": ["941 rows were suppressed, 1.9 % of all"],
        },
        "attacks": attacks(),
        "attacks_skipped": (
            Skipped("row-tracing", "no column was shuffled"),
            Skipped("differencing", "there is no earlier release"),
        ),
        "utility": measures(),
        "utility_skipped": (Skipped("ranking-precision", "the release is no ranking"),),
        "distributions": distributions(),
        "evidence": {"targets": 1000, "held_out": 9768, "rehearsed": ["membership"]},
        "versions": {"voile": "0.1.0", "python": "3.11.2", "polars": "2.0.1", "numpy": "2.4.6"},
        "seconds": {"read": 0.212, "publish": 1.482, "attack": 2.934, "measure": 6.018},
    }
    return StudyRecord(**{**values, **more})


def judged(found: StudyRecord | AuditRecord | None = None) -> Dossier:
    """A study that a policy has judged: one criterion straddles, one is not ticked."""
    found = record() if found is None else found
    questions = (
        QuestionCriterion(says="the recipient has signed"),
        QuestionCriterion(says="nobody else may see it"),
    )
    policy = Policy(
        name="wages for researchers", source="the board", audience="researchers",
        criteria=(GroupSize(least=5), *questions), signers=(Signer(role="officer"),),
    )  # fmt: skip
    rulings = (
        Ruling("group-size", "at least 5 share", passed=True, why="rows of the smallest of 9",
               value=5.0, low=5.0, high=5.0, limit=5.0, side="least", of_original=False),
        Ruling("attack", "the prosecutor at most 0.02", passed=False, why="of 1,000 targets",
               value=0.01937, low=0.0137, high=0.02713, limit=0.02, side="most"),
        Ruling("question", "the recipient has signed", passed=True, why="ticked",
               of_original=False),
        Ruling("question", "nobody else may see it", passed=False, why="not confirmed",
               of_original=False),
    )  # fmt: skip
    verdict = Verdict(policy.name, "", "study", (), rulings)
    ticks = (Tick(says="the recipient has signed", ticked=True, by="board"),)
    document = {**found.release, "data": []} if isinstance(found, StudyRecord) else None
    history = (HistoryLine("2026-01-31", "release", "9a7019f1", "epsilon 1", here=True),)
    return Dossier("wages", document, found, verdict, policy, ticks, (), history)


def audited(**more: Any) -> AuditRecord:
    """The audit of a file that singles people out."""

    def rate(value: float) -> dict[str, float]:
        return {"value": value, "low": max(0.0, value - 0.03), "high": min(1.0, value + 0.03)}

    risk = {"targets": 1000, "guess": rate(0.05), "notes": [], "goal": "a person is found"}
    values: dict[str, Any] = {
        "released": "colleague.csv",
        "digest": "0" * 32,
        "rows": {"released": 400, "original": 400, "control": 300},
        "roles": {"quasi_identifiers": ["age", "sex"], "sensitive": ["income"]},
        "roles_of": "plan",
        "columns": [
            {"name": name, "shown": shown, "why": "so.", "of": [name], "unread": []}
            for name, shown in (("age", "interval"), ("sex", "exact"), ("income", "permuted"))
        ],
        "unused": [],
        "risks": [
            {"risk": "singling out", "of": "predicates of several columns", "main": rate(0.7),
             "control": rate(0.1), "excess": rate(0.67), "found": True, **risk},
            {"risk": "inference", "of": "income", "main": rate(0.4), "control": rate(0.39),
             "excess": rate(0.02), "found": False, **risk},
        ],
        "risks_skipped": [{"name": "linkability", "reason": "two sets of columns are needed"}],
        "attacks": attacks(),
        "attacks_skipped": [],
        "utility": measures(),
        "utility_skipped": [],
        "notices": [],
        "unfit": {},
        "versions": {"voile": "0.1.0"},
        "seconds": {"reading": 0.2},
    }  # fmt: skip
    return AuditRecord(**{**values, **more})


def slim(**more: Any) -> StudyRecord:
    """A study that found little, whose page is drawn quickly."""
    few = {
        "attacks": attacks()[:1],
        "utility": measures()[1:2],
        "distributions": distributions()[:1],
    }
    return record(**{**few, **more})


def grid(
    ks: tuple[Any, ...] = (2, 3, 5, 10, 25, 50),
    algorithms: tuple[str, ...] = ("flash", "mondrian"),
    *,
    infeasible: int = 1,
    little: bool = False,
) -> StudyComparison:
    """A grid of k and algorithm whose last points are infeasible; ``little`` is found."""
    points: list[Point] = []
    for place, algorithm in enumerate(algorithms):
        for k in ks:
            risk, loss = 0.11 / (float(k) * (1 + place / 3)), 0.1 + 0.2 * math.log(float(k) + place)
            parameters = {"method.k": k, "method.algorithm": algorithm}
            name = f"k = {k}, algorithm = {algorithm}"
            made = record(
                name=name,
                parameters=parameters,
                attacks=attacks(risk / 0.021)[: 1 if little else None],
                utility=measures(loss)[: 1 if little else None],
            )
            points.append(Point(name, parameters, "done", "", made, risk, loss))
    for place in range(len(points) - infeasible, len(points)):
        points[place] = replace(
            points[place], status="infeasible", record=None, risk=None, loss=None,
            message="no release with k = 50 exists; raise suppression_limit to 0.05",
        )  # fmt: skip
    best, least = [], math.inf
    for point in sorted((p for p in points if p.record), key=lambda p: (p.risk or 0, p.loss or 0)):
        if point.loss is not None and point.loss < least:
            best.append(point.name)
            least = point.loss
    return StudyComparison(
        name="adult",
        plans=(
            {"method": {"name": "generalization", "k": list(ks), "algorithm": list(algorithms)}},
        ),
        swept={"method.k": ks, "method.algorithm": algorithms},
        points=tuple(points),
        risk="prosecutor",
        loss="normalized-certainty-penalty",
        frontier=tuple(best),
        versions={"voile": "0.1.0"},
        notices=("all studies attacked the same 1,000 people",),
    )

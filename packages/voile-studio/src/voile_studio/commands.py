"""The commands that Studio runs, as one would type them in the start folder."""

from __future__ import annotations

from pathlib import Path

from voile_studio.jobs import Job
from voile_studio.planning import plan_of
from voile_studio.project import Project, told

__all__ = [
    "ROWS_SHOWN",
    "VALUES_SHOWN",
    "asks_more",
    "audit",
    "check",
    "choose",
    "compare",
    "dossier",
    "hold_against",
    "inspect",
    "ledger",
    "look_at",
    "make_key",
    "plan_of_release",
    "plan_of_tables",
    "plan_of_try",
    "propose",
    "publish_seeded",
    "settle_lost",
    "sign",
    "solutions",
    "study",
    "tables",
]

ROWS_SHOWN = 50
VALUES_SHOWN = 200
"""Values of a column that are counted one by one, and that its levels can be edited for."""

_MORE_PEOPLE = ("--held-out", "0.5")
"""Half of the rows are held out, so that as many people as there can be are asked."""

_COUNTS = ("--values", str(VALUES_SHOWN), "--rows", str(ROWS_SHOWN), "--json")


def _table(project: Project) -> str:
    """The table, as commands take it."""
    return told(project.source_name)


def propose(project: Project) -> list[str]:
    """Write a first plan, and look at the table by it."""
    looked = ("--look", str(VALUES_SHOWN), str(ROWS_SHOWN))
    return ["plan", _table(project), "--out", project.named(project.plan), *looked, "--json"]


def inspect(project: Project) -> list[str]:
    """Look at the table, by the plan if it can be read."""
    plan = ["--plan", project.named(project.plan)] if plan_of(project.plan) else []
    return ["inspect", _table(project), *plan, *_COUNTS]


def check(project: Project) -> list[str]:
    """Hold the plan against the table."""
    return ["plan", _table(project), "--check", project.named(project.plan), "--json"]


def plan_of_try(project: Project, attempt: Path) -> Path:
    """The plan of a try, beside the plan, where files that it names are looked for."""
    return project.folder / f"try-{attempt.name}.toml"


def compare(project: Project, attempt: Path, *, rehearsal: bool) -> list[str]:
    """Study the grid of a try; what a plan with a budget spends is charged, unless it rehearses."""
    plan, out = project.named(plan_of_try(project, attempt)), project.named(attempt / "compared")
    paid = ["--rehearsal"] if rehearsal else ["--ledger", project.named(project.ledger)]
    judged = ["--policy", project.policy] if project.policy else []
    said = ["compare", _table(project), plan, "--out", out, *paid]
    return [*said, "--other-columns", *judged, "--json"]


def publish_seeded(project: Project, plan: Path, out: Path) -> list[str]:
    """Make a release to look at, which is unfit for publication."""
    said = ["publish", _table(project), "--plan", project.named(plan)]
    ledger = ["--ledger", f"{project.named(out)}.ledger"]
    return [*said, "--out", project.named(out), *ledger, "--seed", "1", "--json"]


def look_at(project: Project, data: Path, groups: str | None) -> list[str]:
    """Look at the rows of a release, and at its groups, which a column of it tells."""
    named = ["--quasi-identifiers", groups] if groups else []
    return ["inspect", project.named(data), *named, *_COUNTS]


def plan_of_release(project: Project, release: Path) -> Path:
    """The plan of a release, beside the plan: what becomes of the plan later does not change it."""
    return project.folder / f"release-{release.name}.toml"


def study(
    project: Project,
    out: Path,
    seed: int | None = None,
    plan: Path | None = None,
    roads: str = "",
) -> list[str]:
    """Make a release with its evidence, by its own plan, or by another.

    The three risks are counted, too: what every policy asks stands then beside the release, and
    counted of as many people as in the newest search for a policy.
    ``roads`` names a map in the start folder on which trips are followed; empty for none.
    """
    named = project.named(plan or plan_of_release(project, out))
    said = ["study", _table(project), "--plan", named]
    said += ["--out", project.named(out), "--ledger", project.named(project.ledger)]
    said += ["--roads", told(roads)] if roads else []
    newest = next((job for job in project.jobs.all() if job.purpose.startswith("choose-")), None)
    said += _MORE_PEOPLE if newest is not None and asks_more(newest) else ()
    return [*said, *([] if seed is None else ["--seed", str(seed)]), "--risks", "--json"]


def hold_against(project: Project, release: Path, policy: str) -> list[str]:
    """Hold a release with its evidence against a policy."""
    return ["check", project.named(release), "--policy", policy, "--json"]


def make_key(project: Project) -> list[str]:
    """Make a private key of this project."""
    return ["key", project.named(project.key)]


def sign(project: Project, release: Path, role: str) -> list[str]:
    """Sign a release that has passed."""
    return ["sign", project.named(release), "--key", project.named(project.key), "--as", role]


def choose(project: Project, plan: Path, policy: str, *, more: bool = False) -> list[str]:
    """Try plans near one, and find the one of least loss that meets a policy.

    ``more`` asks more people than usual, which makes the intervals of a small table narrower.
    """
    said = ["choose", _table(project), "--plan", project.named(plan)]
    return [*said, "--policy", told(policy), *(_MORE_PEOPLE if more else ()), "--json"]


def asks_more(job: Job) -> bool:
    """Whether a command asks more people than usual."""
    return {*_MORE_PEOPLE} <= {*job.arguments}


def dossier(project: Project, release: Path, out: Path) -> list[str]:
    """Draw the dossier of a release, for those who decide."""
    said = ["dossier", project.named(release), "--out", project.named(out)]
    public = project.key.with_name(f"{project.key.name}.pub")
    return [
        *said,
        *(["--key", project.named(public)] if _is_signed_by(project, release) else []),
        *(["--ledger", project.named(project.ledger)] if project.ledger.is_file() else []),
    ]


def _is_signed_by(project: Project, release: Path) -> bool:
    """Whether the key of the project stands among the signatures of a release."""
    key = project.public_key.rpartition(":")[2]
    try:
        signatures = (release / "release" / "signatures.json").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return bool(key) and key in signatures


def ledger(project: Project) -> list[str]:
    """Show what was promised."""
    return ["ledger", "show", "--ledger", project.named(project.ledger), "--json"]


def settle_lost(project: Project, name: str) -> list[str]:
    """Say that the newest release of a series or data set never appeared."""
    return ["ledger", "settle", "--lost", "--ledger", project.named(project.ledger), "--", name]


def audit(
    project: Project,
    released: str,
    out: Path,
    control: str | None = None,
    plan: Path | None = None,
    original: str = "",
) -> list[str]:
    """Judge a release, or a released file of any origin, against the table, or an earlier one."""
    said = ["audit", told(released), "--original", told(original) if original else _table(project)]
    said += ["--control", told(control)] if control else []
    said += ["--plan", project.named(plan)] if plan and plan.is_file() else []
    return [*said, "--out", project.named(out), "--json"]


def plan_of_tables(project: Project, made: Path) -> Path:
    """The plan of some tables, beside the plan, where files that it names are looked for."""
    return project.folder / f"tables-{made.name}.toml"


def tables(project: Project, made: Path) -> list[str]:
    """Protect tables, with the private list of their suppressed cells."""
    plan = ["--plan", project.named(plan_of_tables(project, made))]
    out = ["--out", project.named(made / "out"), "--cells", project.named(made / "cells.csv")]
    return ["table", _table(project), *plan, *out, "--json"]


def solutions(project: Project, plan: Path) -> list[str]:
    """What a plan makes of the first rows, and the solutions beside the one that it takes."""
    said = ["inspect", _table(project), "--plan", project.named(plan), "--solutions"]
    return [*said, "--rows", str(ROWS_SHOWN), "--json"]

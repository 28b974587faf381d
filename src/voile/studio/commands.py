"""The commands that Studio runs, as one would type them in the start folder."""

from __future__ import annotations

from pathlib import Path

from voile.studio.planning import plan_of
from voile.studio.project import Project

__all__ = [
    "ROWS_SHOWN",
    "VALUES_SHOWN",
    "audit",
    "check",
    "compare",
    "dossier",
    "hold_against",
    "inspect",
    "ledger",
    "look_at",
    "make_key",
    "plan_of_try",
    "propose",
    "publish_seeded",
    "settle_lost",
    "sign",
    "study",
]

ROWS_SHOWN = 50
VALUES_SHOWN = 200
"""Values of a column that are counted one by one, and that its levels can be edited for."""

_COUNTS = ("--values", str(VALUES_SHOWN), "--rows", str(ROWS_SHOWN), "--json")


def propose(project: Project) -> list[str]:
    """Write a first plan."""
    return ["plan", project.source_name, "--out", project.named(project.plan), "--json"]


def inspect(project: Project) -> list[str]:
    """Look at the table, by the plan if it can be read."""
    plan = ["--plan", project.named(project.plan)] if plan_of(project.plan) else []
    return ["inspect", project.source_name, *plan, *_COUNTS]


def check(project: Project) -> list[str]:
    """Hold the plan against the table."""
    return ["plan", project.source_name, "--check", project.named(project.plan), "--json"]


def plan_of_try(project: Project, attempt: Path) -> Path:
    """The plan of a try, beside the plan, where files that it names are looked for."""
    return project.folder / f"try-{attempt.name}.toml"


def compare(project: Project, attempt: Path) -> list[str]:
    """Study the grid of a try."""
    plan, out = project.named(plan_of_try(project, attempt)), project.named(attempt / "compared")
    return ["compare", project.source_name, plan, "--out", out, "--json"]


def publish_seeded(project: Project, plan: Path, out: Path) -> list[str]:
    """Make a release to look at, which is unfit for publication."""
    said = ["publish", project.source_name, "--plan", project.named(plan)]
    ledger = ["--ledger", f"{project.named(out)}.ledger"]
    return [*said, "--out", project.named(out), *ledger, "--seed", "1", "--json"]


def look_at(project: Project, data: Path) -> list[str]:
    """Look at the rows of a release."""
    return ["inspect", project.named(data), *_COUNTS]


def study(project: Project, out: Path, seed: int | None = None) -> list[str]:
    """Make a release with its evidence."""
    said = ["study", project.source_name, "--plan", project.named(project.plan)]
    said += ["--out", project.named(out), "--ledger", project.named(project.ledger)]
    return [*said, *([] if seed is None else ["--seed", str(seed)]), "--json"]


def hold_against(project: Project, release: Path, policy: str) -> list[str]:
    """Hold a release with its evidence against a policy."""
    return ["check", project.named(release), "--policy", policy, "--json"]


def make_key(project: Project) -> list[str]:
    """Make a private key of this project."""
    return ["key", project.named(project.key)]


def sign(project: Project, release: Path, role: str) -> list[str]:
    """Sign a release that has passed."""
    return ["sign", project.named(release), "--key", project.named(project.key), "--as", role]


def dossier(project: Project, release: Path, out: Path) -> list[str]:
    """Draw the dossier of a release, for those who decide."""
    said = ["dossier", project.named(release), "--out", project.named(out)]
    return [
        *said,
        *(["--ledger", project.named(project.ledger)] if project.ledger.is_file() else []),
    ]


def ledger(project: Project) -> list[str]:
    """Show what was promised."""
    return ["ledger", "show", "--ledger", project.named(project.ledger), "--json"]


def settle_lost(project: Project, name: str) -> list[str]:
    """Say that the newest release of a series or data set never appeared."""
    return ["ledger", "settle", name, "--lost", "--ledger", project.named(project.ledger)]


def audit(project: Project, released: str, out: Path) -> list[str]:
    """Judge a released file of any origin against the table."""
    said = ["audit", released, "--original", project.source_name]
    return [*said, "--out", project.named(out), "--json"]

"""The folder of one table: its plan, what was tried, its releases; all of it private but releases.

    patients.csv
    patients.voile/          for its owner alone
        project.json         which table it is about, the files that held it before, the policy
        plan.toml            the plan, as every command takes it
        ledger.db            what has been promised
        key, key.pub         for signatures
        hierarchies/         those that were edited, each in a file that nothing overwrites
        states/a1b2c3.toml   a state that the plan was in, under its own hash
        states/line.json     the hashes in the order in which they were reached, with the policy
                             that was chosen then, and which is now
        try-001.toml         the plan of a grid
        tries/001/           its comparison
        shown-001-0.toml     the plan of a study in it
        shown/001-0/         a release by it with a seed, to look at
        dossier-001.html     of a release, for those who decide
        release-001.withdrawn  says that a release was never handed over
        release-001.toml     the plan of a release, as it was when it was made
        releases/001/        studies: `release` to hand over, `private` to keep
        jobs/                what commands said

Nothing is held in memory that a file does not say: two tabs, and a server that is started again,
see the same.

Tables and maps are those in the folder that Studio was started in, and below it.  A name from a
browser is a path relative to that folder; one that leads out of it, by ``..``, an absolute path or
a link, is refused.

Undo and redo lose nothing: what is changed after an undo comes behind all that was there, with the
state that was gone back to once more, so that undo leads through every state there ever was.  A
plan that a command or an editor changed meanwhile is a state, too, as soon as Studio meets it.

What publishing will cost the ledger is told before it is spent (``charge_summary``).
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from pathlib import Path

from voile.ledger import Ledger, SeriesSummary
from voile.policy.checking import VERDICT
from voile.report.words import listed
from voile.schema.budget import BudgetPlan
from voile.schema.plan import Plan
from voile.table.formats.registry import ENDINGS
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_base.operating_system import is_user
from voile_base.values import Document
from voile_studio.jobs import Job, Jobs

__all__ = [
    "FoundFile",
    "Project",
    "Start",
    "json_of",
    "release_json",
    "rulings_of",
    "told",
    "verdict_of",
]


_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".ipc", ".gpx", *ENDINGS)
_MAPS = (".osm", ".osm.gz", ".osm.bz2", ".pbf", ".graphml", ".geojson")
"""Endings of maps that stand in one file; a table of edges is a table."""
_DEEPEST = 3
_NUMBER = re.compile(r"[0-9]{3,6}")
"""Of a release."""
_MOST = 500


@dataclass(frozen=True)
class FoundFile:
    """A file that may be a table."""

    name: str
    """Relative to the start folder, with ``/``."""
    size: int
    """Bytes."""


@dataclass(frozen=True)
class Start:
    """The folder that Studio was started in."""

    folder: Path

    def inside(self, name: str) -> Path:
        """The path of a name from a browser; raises ``InputError`` where it leads out."""
        root = self.folder.resolve()
        try:
            path = (root / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            msg = "there is no such file in the folder that Studio was started in"
            raise InputError(msg) from None
        if not path.is_relative_to(root) or path != root / name or "\0" in name:
            msg = (
                "that file is not in the folder that Studio was started in, or is a link; start "
                "Studio in the folder that holds it"
            )
            raise InputError(msg)
        return path

    def relative(self, path: Path) -> str:
        """How a path inside is named in commands that run in the start folder."""
        return path.resolve().relative_to(self.folder.resolve()).as_posix()

    def files(self) -> list[FoundFile]:
        """The files that may be tables, by name; no links, and none of a project of ours."""
        return self._found(_ENDINGS)

    def maps(self) -> list[FoundFile]:
        """The files that may be maps of roads, tables of edges among them."""
        return self._found((*_MAPS, ".csv", ".parquet"))

    def _found(self, endings: tuple[str, ...]) -> list[FoundFile]:
        found = list(self._below(self.folder.resolve(), 0, endings))
        return sorted(found, key=lambda file: (file.name.count("/"), file.name.casefold()))[:_MOST]

    def _below(self, folder: Path, depth: int, endings: tuple[str, ...]) -> Iterator[FoundFile]:
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            return
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir():
                ours = (entry / "project.json").exists() or (entry / "release.json").exists()
                if depth < _DEEPEST and not ours:
                    yield from self._below(entry, depth + 1, endings)
            elif entry.is_file() and entry.name.lower().endswith(endings):
                yield FoundFile(self.relative(entry), entry.stat().st_size)

    def projects(self) -> list[Project]:
        """The projects in the start folder, by name; those of other people are none."""
        folders = sorted(self.folder.resolve().glob(f"*{_ENDING}"))
        return [_opened(self, folder) for folder in folders if _ours(folder)]

    def owners(self) -> dict[str, Project]:
        """The project of each file that is, or was, the table of one."""
        found: dict[str, Project] = {}
        projects = self.projects()
        for project in sorted(projects, key=lambda one: not one.earlier_sources):
            found.setdefault(project.source_name, project)
        for project in projects:
            for name in project.earlier_sources:
                found.setdefault(name, project)
        return found

    def find_project(self, name: str) -> Project:
        """The project of a name; raises ``InputError`` where there is none."""
        for project in self.projects():
            if project.name == name:
                return project
        msg = "there is no such project in the folder that Studio was started in"
        raise InputError(msg)

    def project(self, source: str) -> Project:
        """The project of a table, made where there is none.

        A file that held the table of a project before, or that a project has gone on with, is of
        that project.  Raises ``InputError`` where the file is not in the start folder.
        """
        path = self.inside(source)
        if not path.is_file():
            msg = "that is no file"
            raise InputError(msg)
        named = self.relative(path)
        owner = self.owners().get(named)
        if owner is not None:
            return owner
        stem = path.name.partition(".")[0] or "table"
        folder, number = self.folder.resolve() / f"{stem}{_ENDING}", 2
        while folder.exists():
            folder, number = folder.with_name(f"{stem}-{number}{_ENDING}"), number + 1
        try:
            folder.mkdir(mode=_PRIVATE)
            replace_private_file(folder / "project.json", json.dumps({"source": named}))
        except OSError as error:
            msg = f"{folder}: the project's folder cannot be made ({error.strerror})"
            raise InputError(msg) from None
        return _opened(self, folder)


def told(name: str) -> str:
    """A relative name as commands take it, also where it looks like an option or an address."""
    return f"./{name}" if name.startswith("-") or ":" in name else name


_ENDING = ".voile"
_PRIVATE = 0o700
_OTHERS = 0o022
"""Write permission of others than the owner."""
_DIGEST = 8


@dataclass(frozen=True)
class _Line:
    """The states in the order in which they were reached."""

    digests: tuple[str, ...] = ()
    now: int = -1
    deeds: tuple[str, ...] = ()
    """What was done to reach each; empty where that is not known."""
    policies: tuple[str | None, ...] = ()
    """The policy that releases were to meet in each, empty for none; None where not known."""


@dataclass(frozen=True)
class _PlanStates:
    """The states of one project, in its folder."""

    folder: Path

    @property
    def back(self) -> int:
        """How many states can be gone back."""
        return max(0, self._line.now)

    @property
    def forth(self) -> int:
        """How many states can be gone forth."""
        line = self._line
        return len(line.digests) - line.now - 1 if line.digests else 0

    def record(self, plan: str, deed: str = "", policy: str | None = None) -> None:
        """Put a plan behind all others, unless it is the one that stands; ``deed`` led to it.

        Another ``policy`` for the same plan is another state, too.
        """
        line, digest = self._line, _digest_of(plan)
        if line.digests and line.digests[line.now] == digest:
            told = line.policies[line.now]
            if told is None and policy is not None:
                policies = (*line.policies[: line.now], policy, *line.policies[line.now + 1 :])
                self._keep(replace(line, policies=policies))
            if told is None or policy in (None, told):
                return
        self.folder.mkdir(mode=_PRIVATE, exist_ok=True)
        replace_private_file(self.folder / f"{digest}.toml", plan)
        again = line.digests[line.now : line.now + 1] if self.forth else ()
        digests = (*line.digests, *again, digest)
        deeds = (*line.deeds, *(_undone(line.deeds[line.now + 1 :]) for _ in again), deed)
        policies = (*line.policies, *line.policies[line.now : line.now + len(again)], policy)
        self._keep(_Line(digests, len(digests) - 1, deeds, policies))

    @property
    def policy(self) -> str | None:
        """The policy of the state that stands; None where it is not known."""
        line = self._line
        return line.policies[line.now] if line.policies else None

    def deed(self, by: int) -> str:
        """What undo (-1) or redo (1) would take back or do again; empty where it is not known."""
        line = self._line
        at = line.now + (by > 0)
        return line.deeds[at] if 0 < at < len(line.deeds) else ""

    def peek(self, by: int) -> str:
        """The plan before (-1) or after (1) the one that stands; empty where there is none."""
        line = self._line
        try:
            return self._state(line.digests[line.now + by]) if line.now + by >= 0 else ""
        except (IndexError, InputError):
            return ""

    def step(self, by: int) -> str:
        """The plan before (-1) or after (1), which now stands; raises ``InputError`` for none."""
        line = self._line
        to = line.now + by
        if not 0 <= to < len(line.digests):
            msg = "there is nothing to undo" if by < 0 else "there is nothing to redo"
            raise InputError(msg)
        found = self._state(line.digests[to])
        self._keep(replace(line, now=to))
        return found

    def _state(self, digest: str) -> str:
        try:
            plan = (self.folder / f"{digest}.toml").read_text("utf-8")
        except (OSError, ValueError):
            plan = ""
        if _digest_of(plan) != digest:
            msg = "that state of the plan cannot be read any more, or was altered"
            raise InputError(msg)
        return plan

    @property
    def _line(self) -> _Line:
        try:
            said = json.loads((self.folder / "line.json").read_text("utf-8"))
            digests = tuple(map(str, said["digests"]))
            deeds = tuple(map(str, said.get("deeds", ("",) * len(digests))))
            policies = tuple(said.get("policies", (None,) * len(digests)))
            line = _Line(digests, int(said["now"]), deeds, policies)
        except (OSError, ValueError, KeyError, TypeError):
            return _Line()
        fits = 0 <= line.now < len(line.digests) == len(line.deeds) == len(line.policies)
        return line if fits else _Line()

    def _keep(self, line: _Line) -> None:
        replace_private_file(self.folder / "line.json", json.dumps(asdict(line)))


def _undone(deeds: Sequence[str]) -> str:
    """What was done by undoing some deeds: taking it back does them again."""
    return (
        f"undo of {deeds[0] or 'a change'}" if len(deeds) == 1 else f"undo of {len(deeds)} changes"
    )


def _digest_of(plan: str) -> str:
    return blake2b(plan.encode(), digest_size=_DIGEST).hexdigest()


@dataclass(frozen=True)
class Project:
    """One table and all that was done with it."""

    start: Start
    folder: Path
    jobs: Jobs

    @property
    def name(self) -> str:
        """Its name in addresses: that of its folder."""
        return self.folder.name.removesuffix(_ENDING)

    @property
    def source(self) -> Path:
        """The table; raises ``InputError`` where it is gone or became a link."""
        return self.start.inside(self.source_name)

    @property
    def source_name(self) -> str:
        """The table, by its path from the start folder."""
        return _source_of(self.folder)

    @property
    def earlier_sources(self) -> tuple[str, ...]:
        """The files that held the table before, from the start folder, the newest first."""
        found = _said_of(self.folder).get("before")
        return tuple(map(str, found)) if isinstance(found, list) else ()

    @property
    def changed(self) -> str:
        """What changed from the file before to this one, a clause; empty where it was not told."""
        return str(_said_of(self.folder).get("changed") or "")

    def go_on_with(self, name: str, changed: str = "") -> None:
        """Take another file for the new state of the table; all else of the project stays.

        ``changed`` says what differs from the file before.
        Raises ``InputError`` where it is no other file of the start folder, and ``RefusedError``
        while a command is at work.
        """
        path = self.start.inside(name)
        named, held = self.start.relative(path), self.source_name
        if named == held or not path.is_file():
            msg = "choose another file: the project is about that one, or it is no file"
            raise InputError(msg)
        if any(job.state == "running" for job in self.jobs.all()):
            msg = "a command is at work on the table: go on with another file when it has ended"
            raise RefusedError(msg)
        before = [held, *(one for one in self.earlier_sources if one not in {held, named})]
        self._say(source=named, before=before, changed=changed)

    @property
    def policy(self) -> str:
        """The policy that releases are to meet, as it was chosen; empty before."""
        return str(_said_of(self.folder).get("policy") or "")

    def choose_policy(self, named: str) -> None:
        """Say which policy releases are to meet; empty takes the choice back, and so does undo."""
        self._record()
        self._say(policy=named)
        self._record(f"policy {named}" if named else "no policy")

    def _say(self, **facts: str | list[str]) -> None:
        """Write what is new into ``project.json``."""
        text = json.dumps({**_said_of(self.folder), **facts})
        replace_private_file(self.folder / "project.json", text)

    @property
    def other_files(self) -> list[FoundFile]:
        """The files that may be tables, but for that of the project."""
        return [one for one in self.start.files() if one.name != self.source_name]

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns; none before it was looked at."""
        return [str(column["name"]) for column in self.jobs.found("inspect").get("columns", [])]

    @property
    def relatives(self) -> list[Project]:
        """Other projects of tables with the same columns, of which releases stand."""
        columns = set(self.columns)
        others = [one for one in self.start.projects() if columns and one.name != self.name]
        return [
            one
            for one in others
            if any(map(one.stands, one.numbered("releases"))) and set(one.columns) == columns
        ]

    @property
    def keeps_series(self) -> bool:
        """Whether a release of a series stands."""
        standing = filter(self.stands, self.numbered("releases"))
        return any(release_json(one).get("series") for one in standing)

    def withdrawal_of(self, release: Path) -> Path:
        """The file that says that a release was never handed over."""
        return self.folder / f"release-{release.name}.withdrawn"

    def stands(self, release: Path) -> bool:
        """Whether a release is fit for publication, and nobody has withdrawn it."""
        fit = bool(release_json(release).get("publishable"))
        return fit and not self.withdrawal_of(release).is_file()

    @property
    def plan(self) -> Path:
        """Where the plan is, or will be."""
        return self.folder / "plan.toml"

    @property
    def is_replaced(self) -> bool:
        """Whether the table's file was written anew, or changed, since it was looked at last."""
        looked = self.jobs.latest("inspect")
        return looked is not None and self.is_changed_after(looked.began)

    def is_changed_after(self, moment: float) -> bool:
        """Whether the table's file was written anew, or changed, after a moment, in seconds."""
        try:
            file = self.source.stat()
        except (InputError, OSError):
            return False  # it is gone, which every command says
        return max(file.st_mtime, file.st_ctime) > moment

    @property
    def ledger(self) -> Path:
        """Where the ledger is, or will be."""
        return self.folder / "ledger.db"

    @property
    def key(self) -> Path:
        """Where the private key for signatures is, or will be."""
        return self.folder / "key"

    @property
    def public_key(self) -> str:
        """The public key by which recipients verify signatures; empty where there is none."""
        try:
            return self.key.with_name(f"{self.key.name}.pub").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    @property
    def plan_text(self) -> str:
        """The plan; empty where there is none."""
        try:
            return self.plan.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return ""

    @property
    def states(self) -> _PlanStates:
        """All that the plan has been."""
        return _PlanStates(self.folder / "states")

    def keep_plan(self, text: str, deed: str = "") -> None:
        """Write the plan, whole or not at all; what it was and what it is can be gone back to.

        ``deed`` names what was done, as Undo tells it.
        """
        self._record()
        replace_private_file(self.plan, text)
        self._record(deed)

    def step(self, by: int) -> None:
        """Undo (-1) or redo (1) the last change; raises ``InputError`` where there is none."""
        self._record()
        replace_private_file(self.plan, self.states.step(by))
        policy = self.states.policy
        if policy is not None and policy != self.policy:
            self._say(policy=policy)

    def _record(self, deed: str = "") -> None:
        if self.plan.is_file():
            self.states.record(self.plan_text, deed, self.policy)

    @property
    def digest(self) -> str:
        """What tells states of the plan apart, its hierarchies included."""
        files = sorted((self.folder / "hierarchies").glob("*.csv"))
        said = [self.plan_text.encode(), *(file.read_bytes() for file in files)]
        return blake2b(b"\0".join(said), digest_size=_DIGEST).hexdigest()

    def run(
        self,
        purpose: str,
        arguments: Sequence[str],
        about: str = "",
        before: Callable[[], None] = lambda: None,
    ) -> Job:
        """Start a command, as ``Jobs.start`` does.

        Raises ``InputError`` where it is about a table that is gone, or that leads elsewhere now.
        """
        if told(self.source_name) in arguments and not self.source.is_file():
            msg = "the table is no file any more"
            raise InputError(msg)
        return self.jobs.start(purpose, arguments, about, before)

    def named(self, path: Path) -> str:
        """How commands name a path of the project."""
        return (
            told(self.start.relative(self.folder)) + "/" + path.relative_to(self.folder).as_posix()
        )

    def numbered(self, what: str) -> list[Path]:
        """The folders of tries or releases, the newest first."""
        return sorted((self.folder / what).glob("[0-9][0-9][0-9]"), reverse=True)

    def next_numbered(self, what: str) -> Path:
        """The name of the next try or release, where nothing stands yet."""
        taken = [int(path.name[:3]) for path in (self.folder / what).glob("[0-9][0-9][0-9]*")]
        return self.folder / what / f"{max(taken, default=0) + 1:03}"

    def new_numbered(self, what: str) -> Path:
        """The same, in a folder that stands."""
        (self.folder / what).mkdir(exist_ok=True, mode=_PRIVATE)
        return self.next_numbered(what)

    def release(self, number: str) -> Path:
        """The folder of a release; raises ``InputError`` where there is none."""
        folder = self.folder / "releases" / number
        if not _NUMBER.fullmatch(number) or not folder.is_dir():
            msg = "there is no such release"
            raise InputError(msg)
        return folder

    def dossier_of(self, release: Path) -> Path:
        """Where the dossier of a release is, or will be; private."""
        return self.folder / f"dossier-{release.name}.html"

    def releases_of_series(self, series: str) -> tuple[int, list[int]]:
        """How many releases the ledger counts in a series, and which of this project is withdrawn.

        By their numbers in this project.
        """
        mine = _recorded(self, series)
        ids = {one.release_id for one in mine.versions} if mine else set[str]()
        withdrawn = [
            int(folder.name)
            for folder in reversed(self.numbered("releases"))
            if self.withdrawal_of(folder).is_file()
            and str(release_json(folder).get("release_id")) in ids
        ]
        return len(ids), withdrawn

    def charge_summary(self, plan: Plan) -> str:
        """A sentence without its subject, the ledger; raises ``LedgerError`` for a broken one."""
        assert plan.method is not None, "a plan that can be used has a method"
        parameters = plan.method.parameters
        if plan.budget is not None:
            return _of_budget(self, plan.budget, _number(parameters.get("epsilon")))
        if series := parameters.get("series"):
            withdrawn = self.releases_of_series(str(series))[1]
            told = f"takes up this release into the series {series!r}, {_before(self, str(series))}"
            if not withdrawn:
                return told
            named = listed([str(one) for one in withdrawn])
            return f"{told}; withdrawn, and still counted in the series: release {named}"
        if "epsilon" in parameters or "epsilon_choice" in parameters:
            return (
                "is not charged: the plan has no budget, so that what releases of these people "
                "spend together is not counted"
            )
        return "is not charged: this method spends no budget, and the plan has no series"


def release_json(release: Path) -> Document:
    """What ``release.json`` of a release says; empty where there is none, or it cannot be read."""
    return json_of(release / "release" / "release.json")


def json_of(path: Path) -> Document:
    """A document on disk; empty where there is none, or it cannot be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def verdict_of(folder: Path) -> Document:
    """The verdict on a release; empty where there is none, or it cannot be read."""
    return json_of(folder / "private" / VERDICT)


def rulings_of(verdict: Document) -> list[Document]:
    """The rulings of a verdict, each with its criterion; none where there is no verdict."""
    found = verdict.get("rulings")
    return found if isinstance(found, list) else []


def _ours(folder: Path) -> bool:
    """Whether a folder is a project that nobody but its owner, who we are, can have written."""
    try:
        found = folder.lstat()
        ours = stat.S_ISDIR(found.st_mode) and is_user(found.st_uid)
        return ours and not found.st_mode & _OTHERS and bool(_source_of(folder))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _source_of(folder: Path) -> str:
    """The table of a project; raises what reading of a broken file does."""
    return str(_said_of(folder)["source"])


def _said_of(folder: Path) -> Document:
    """What ``project.json`` says; raises what reading of a broken file does."""
    said: Document = json.loads((folder / "project.json").read_text(encoding="utf-8"))
    return said


def _opened(start: Start, folder: Path) -> Project:
    return Project(start, folder, _jobs_of(folder, start.folder.resolve()))


_open: dict[Path, Jobs] = {}


def _jobs_of(folder: Path, start: Path) -> Jobs:
    """The jobs of a project, one object for all requests, which holds their processes."""
    if folder not in _open:
        _open[folder] = Jobs(folder / "jobs", start)
    return _open[folder]


def _of_budget(project: Project, limit: BudgetPlan, price: Decimal | None) -> str:
    state = Ledger(project.ledger).budget(limit.data_set) if project.ledger.is_file() else None
    spent, left = (state.spent, state.left) if state else (Decimal(0), limit.epsilon)
    account = f"so far {spent.normalize():f} of epsilon = {limit.epsilon:f} is spent"
    name = f"the data set {limit.data_set!r}"
    if price is None:
        return f"is charged for {name} by what the method spends; {account}"
    told = f"is charged epsilon = {price:f} for {name}, whatever comes of the draw; {account}"
    if price > left:
        told += f", and {left.normalize():f} is left: publishing will be refused"
    return told


def _recorded(project: Project, series: str) -> SeriesSummary | None:
    """What the ledger of a project holds of a series; None where it holds nothing."""
    known = Ledger(project.ledger).series() if project.ledger.is_file() else []
    return next((one for one in known if one.terms.name == series), None)


def _before(project: Project, series: str) -> str:
    mine = _recorded(project, series)
    if mine is None or not mine.versions:
        return "as its first"
    after = f"after {len(mine.versions)}"
    return after if mine.unsettled is None else f"{after}, the newest of which is not settled yet"


def _number(value: object) -> Decimal | None:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None

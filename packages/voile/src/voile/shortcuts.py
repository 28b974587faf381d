"""A data frame in, a checked release out: one call for each of the main methods.

    import voile

    released = voile.k_anonymize(patients, quasi_identifiers=["age", "sex", "zip"], k=5)
    released.frame                  # rows of the kind that went in: pandas, Polars or Arrow
    released.release.guarantee      # what is promised, checked on these rows
    released.toml                   # the plan that gives the same with ``voile publish``

Nothing is decided here.  The keywords are the keys of a plan: a call writes the plan, reads it as
the command line reads a file, and hands frame and plan to ``voile.make_release``.  So messages,
checks, ledgers and results are those of the command line, and the same seed gives the same rows.

Promises are those of the methods, each on its page in ``docs/methods``.  Cost: that of
``make_release``; an audit of frames writes each to a private temporary file and reads it back.
"""

from __future__ import annotations

import html
import inspect
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, get_type_hints

import numpy as np
import tomlkit
from typing_extensions import TypedDict, Unpack

from voile.publish.registry import completed, read_plan
from voile.release.release import Release
from voile.schema.plan import parse_plan
from voile.study.record import PRIVATE, EstimateDocument
from voile.study.run import Intervals, make_release
from voile.table.arrays import from_native
from voile.table.protocol import Format
from voile_base.errors import InputError, PlanError, nearest
from voile_base.ondemand import dataclass, on_demand
from voile_base.values import Document, Json

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from voile.audit import examine
    from voile.audit.record import AuditRecord
    from voile.release.release import PrivateRecord, Publication
else:
    IntoDataFrame = object
    examine = on_demand("voile.audit.examine")

nw = on_demand("narwhals")

__all__ = [
    "AuditOptions",
    "CallOptions",
    "FrameAudit",
    "FrameOptions",
    "FrameRelease",
    "add_laplace_noise",
    "anonymize",
    "audit_frame",
    "dp_generalize",
    "dp_synthesize",
    "k_anonymize",
    "k_anonymize_ranking",
    "ke_anonymize",
    "m_shuffle",
]

Frame = TypeVar("Frame", bound="IntoDataFrame")
_Call = TypeVar("_Call", bound=Callable[..., object])
Columns = Mapping[str, Mapping[str, object]]
_SHOWN_ROWS = 5
_ROLES = ("identifiers", "keep", "keep_unique", "person", "household")
_TOP = ("nulls", "missing")
_TABLES = ("columns", "budget")


class CallOptions(TypedDict, total=False):
    """Keywords of every call that are options of ``voile publish``."""

    out: str | Path
    """A new folder for the release; without it nothing is written."""
    ledger: str | Path
    """The ledger of a series or a budget."""
    seed: int
    """Repeatable draws, for experiments: the release is marked as unfit for publication."""
    intervals: Intervals
    """An interval as two columns ("columns", the default) or as one text ("text")."""
    engine: str
    """What holds the rows: "auto", "polars", "duckdb" or "spark"."""
    file_format: Format
    """Format of the file of rows at ``out``."""


class AuditOptions(TypedDict, total=False):
    """Keywords of ``audit_frame``: options of ``voile audit``."""

    targets: int
    """How many persons are attacked, at least 1."""
    attacks: Sequence[str] | None
    """Names of the attacks to run; None: all."""
    shadows: int
    """How many releases are made by the plan to learn who is in the frame."""
    seed: int | None
    """Other draws, for experiments."""


class FrameOptions(CallOptions, total=False):
    """Keywords of every call of a method: keys of a plan, and options of ``voile publish``."""

    identifiers: Sequence[str]
    """Direct identifiers, which are never published."""
    keep: Sequence[str]
    """Columns that are published as they are; a column without any role is left out."""
    keep_unique: Sequence[str]
    """Those that are published and may single out rows."""
    person: str
    """The column that tells persons apart, or "row": each row is another person."""
    household: str
    """The column that tells apart those who are protected together."""
    columns: Columns
    """Facts of columns as ``[columns.NAME]`` has them: ``{"age": {"bounds": [0, 110]}}``."""
    nulls: str
    """What becomes of missing values: "refuse" (the default), "category" or "drop"."""
    missing: Sequence[str]
    """Texts that stand for a missing value."""
    budget: Mapping[str, object]
    """The table ``[budget]``, for methods that spend one; needs ``ledger``."""


@dataclass(frozen=True, eq=False)
class FrameRelease(Generic[Frame]):
    """A release of a data frame; in a notebook it shows its promise and its first rows."""

    publication: Publication
    """The release with what stays private about it."""
    toml: str
    """The plan, as a file for ``voile publish --plan`` states it."""

    @property
    def release(self) -> Release:
        """What may leave: rows, disclosure and guarantee."""
        return self.publication.release

    @property
    def private(self) -> PrivateRecord:
        """Rows left out or held back, the objective: for the custodian alone."""
        return self.publication.private

    @cached_property
    def frame(self) -> Frame:
        """The published rows, as a data frame of the kind that went in."""
        made: Frame = self.release.to_native()
        return made

    @property
    def record(self) -> Document:
        """What ``release.json`` says of the release, without the hashes of files; public."""
        return self.release.document()

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the custodian, without full stops; private."""
        return self.private.notices

    def write(self, folder: str | Path, file_format: Format = "parquet") -> Path:
        """Write the release to a new folder, whole or not at all.

        Raises ``InputError`` where something stands there or the disk fails.
        """
        return self.release.write(folder, file_format)

    def __repr__(self) -> str:
        unfit = "" if self.release.publishable else ", NOT fit for publication"
        return f"<FrameRelease: {self.private.told}; {self.release.guarantee.kind}{unfit}>"

    def _repr_html_(self) -> str:
        rows = nw.from_native(self.frame, eager_only=True).head(_SHOWN_ROWS)
        unfit = "" if self.release.publishable else " <b>NOT fit for publication.</b>"
        return (
            f"<p><b>{_text(self.release.guarantee.kind)}</b>: {_text(self.private.told)}.{unfit}"
            f"<br>{_text(self.release.guarantee.statement)}.</p>"
            f"{_table(rows.columns, rows.rows())}"
        )


@dataclass(frozen=True, eq=False)
class FrameAudit:
    """The audit of a released data frame; private.  In a notebook it shows risks and attacks."""

    record: AuditRecord
    """All figures, as ``audit.json`` has them."""

    @property
    def risks(self) -> Mapping[str, float]:
        """Of each risk, by name: the greatest share of targets that an attack got right, 0 to 1."""
        found: dict[str, float] = {}
        for risk in self.record.risks:
            success = risk["main"]["value"]
            if success is not None:
                found[risk["risk"]] = max(success, found.get(risk["risk"], 0.0))
        return found

    def __repr__(self) -> str:
        risks = ", ".join(f"{name} {100 * share:.3g} %" for name, share in self.risks.items())
        return f"<FrameAudit, PRIVATE: {risks or 'no risk was counted'}>"

    def _repr_html_(self) -> str:
        risks = [
            (risk["risk"], risk["of"], _percent(risk["main"]), _percent(risk["control"]))
            for risk in self.record.risks
        ]
        columns = [(one["name"], one["shown"], one["why"]) for one in self.record.columns]
        return (
            f"<p><b>{PRIVATE}</b></p>"
            f"{_table(['risk', 'of', 'success', 'control'], risks)}"
            f"{_table(['column', 'shown', 'why'], columns)}"
        )


def _percent(estimate: EstimateDocument | None) -> str:
    share = None if estimate is None else estimate["value"]
    return "" if share is None else f"{100 * share:.3g} %"


def _text(value: object) -> str:
    return "" if value is None else html.escape(str(value))


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in HTML, every text escaped."""
    lines = ["".join(f"<th>{_text(head)}</th>" for head in heads)]
    lines += ["".join(f"<td>{_text(cell)}</td>" for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _with_keywords(call: _Call) -> _Call:
    """A function whose signature, for help and completion, lists the keywords of all calls."""
    stated = inspect.signature(call)
    own = [p for p in stated.parameters.values() if p.kind is not p.VAR_KEYWORD]
    own += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in get_type_hints(FrameOptions).items()
    ]
    vars(call)["__signature__"] = stated.replace(parameters=own)
    return call


def anonymize(
    frame: Frame, plan: Mapping[str, object] | str | Path, **call: Unpack[CallOptions]
) -> FrameRelease[Frame]:
    """Publish a data frame by any method, as a plan says.

    ``frame`` has n rows, each of a person or one of several of a person; a frame of pandas,
    Polars, PyArrow or another kind that narwhals reads whole.  ``plan`` is the file of a plan, or
    its tables as a mapping: ``{"roles": {...}, "columns": {...}, "method": {"name": ...}}``.

    What is promised is in ``release.guarantee``.  Raises ``PlanError`` for a plan that is wrong or
    does not fit the frame, ``TableError`` for rows that break it, ``InfeasibleError`` where no
    release was found, ``RefusedError`` where it would break an earlier promise, ``InputError`` for
    options; all of them are ``VoileError``.
    """
    _refuse_unknown(call, CallOptions)
    if isinstance(plan, Mapping):
        toml = _toml_of(plan)
        document = tomllib.loads(toml, parse_float=Decimal)
        stated = completed(parse_plan(document), ".")
    else:
        stated, toml = read_plan(plan), Path(plan).read_text(encoding="utf-8-sig")
    return FrameRelease(make_release(frame, stated, **call), toml)


@_with_keywords
def k_anonymize(  # noqa: PLR0913 - what is most often said of this method
    frame: Frame,
    *,
    quasi_identifiers: Sequence[str],
    k: int = 5,
    sensitive: Sequence[str] = (),
    l: int | Mapping[str, object] | None = None,
    t: float | Mapping[str, object] | None = None,
    suppression_limit: float = 0,
    algorithm: str = "auto",
    **options: Unpack[FrameOptions],
) -> FrameRelease[Frame]:
    """Generalize quasi-identifiers until each row shares them with those of k - 1 other persons.

    ``k`` is at least 2.  With ``l`` each group has l well-represented values of each ``sensitive``
    column, or with ``t`` (0 to 1) its distribution is within t of that of all rows.
    ``suppression_limit`` is the greatest share of rows that may be left out.  Without hierarchies
    in ``columns`` numbers become ranges and other values sets.

    k-anonymity: Samarati and Sweeney (1998); l-diversity: Machanavajjhala et al. (2007);
    t-closeness: Li et al. (2007).  Method ``generalization``; see ``anonymize`` for errors.

    >>> import polars, voile
    >>> illness = ["flu", "cold", "flu", "gout"]
    >>> stays = polars.DataFrame({"age": [31, 34, 52, 58], "illness": illness})
    >>> released = voile.k_anonymize(
    ...     stays, quasi_identifiers=["age"], sensitive=["illness"], k=2
    ... )
    >>> released.frame.rows()
    [(1, 31, 34, 'cold'), (1, 31, 34, 'flu'), (2, 52, 58, 'flu'), (2, 52, 58, 'gout')]
    >>> released.release.guarantee.kind
    'k-anonymity'
    >>> voile.k_anonymize(stays, quasi_identifiers=["age"], k=5)
    Traceback (most recent call last):
        ...
    voile_base.errors.InfeasibleError: no release exists: the table has 4 rows, and k = 5 ...
    """
    roles = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    method = {
        "name": "generalization",
        "k": k,
        "l": l,
        "t": t,
        "suppression_limit": suppression_limit or None,
        "algorithm": algorithm,
    }
    return _released(frame, roles, method, options)


@_with_keywords
def ke_anonymize(
    frame: Frame,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    k: int,
    e: float,
    **options: Unpack[FrameOptions],
) -> FrameRelease[Frame]:
    """Publish one number in groups of at least k different values that span at least e.

    Quasi-identifiers stay exact; values of the numeric column ``sensitive`` are permuted within
    each group.  ``e`` has the unit of that column and is at least 0.

    (k,e)-anonymity: Zhang, Koudas, Srivastava and Yu, ICDE 2007.  Method ``ke-anonymity``; see
    ``anonymize`` for errors.

    >>> import polars, voile
    >>> staff = polars.DataFrame({"town": list("abcd"), "salary": [1000, 2000, 3000, 4000]})
    >>> voile.ke_anonymize(staff, quasi_identifiers=["town"], sensitive="salary", k=2, e=500)
    <FrameRelease: 4 of 4 rows in 2 groups, sum of ranges 2000; ke-anonymity>
    """
    roles = {"quasi_identifiers": quasi_identifiers, "sensitive": [sensitive]}
    return _released(frame, roles, {"name": "ke-anonymity", "k": k, "e": e}, options)


@_with_keywords
def k_anonymize_ranking(
    frame: Frame,
    *,
    ranking: Sequence[str],
    top: int,
    k: int = 5,
    precision: float = 0.7,
    by: Mapping[str, float] | str | None = None,
    **options: Unpack[FrameOptions],
) -> FrameRelease[Frame]:
    """Publish what the ``top`` best rows look like, in boxes of at least k rows.

    At least the share ``precision`` (above 0, at most 1) of the rows of a box are among the best.
    ``by`` weighs the numeric columns ``ranking``, each 1 where nothing is said.

    Method ``ranking``; see ``anonymize`` for errors.
    """
    method = {"name": "ranking", "k": k, "top": top, "precision": precision, "by": by}
    return _released(frame, {"ranking": ranking}, method, options)


@_with_keywords
def m_shuffle(
    frame: Frame,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    clusters: int,
    shuffled: Sequence[str] | int | None = None,
    **options: Unpack[FrameOptions],
) -> FrameRelease[Frame]:
    """Permute quasi-identifiers within ``clusters`` groups of rows of like sensitive values.

    ``shuffled`` names the columns to permute, or says how many; None: all that are weakly tied to
    the others.  Tables of one column stay exact.  This is no anonymity: not for untrusted readers.

    Method ``m-shuffle``; see ``anonymize`` for errors.

    >>> import polars, voile
    >>> staff = polars.DataFrame({"town": list("abcd"), "salary": [1000, 2000, 3000, 4000]})
    >>> voile.m_shuffle(staff, quasi_identifiers=["town"], sensitive=["salary"], clusters=2)
    <FrameRelease: 4 of 4 rows in 2 clusters, within which 'town' is permuted; ...>
    """
    roles = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    method = {"name": "m-shuffle", "clusters": clusters, "columns": shuffled}
    return _released(frame, roles, method, options)


@_with_keywords
def add_laplace_noise(
    frame: Frame,
    *,
    quasi_identifiers: Sequence[str],
    epsilon: float,
    rows_per_person: int | None = None,
    **options: Unpack[FrameOptions],
) -> FrameRelease[Frame]:
    """Publish numbers with Laplace noise that depends on their cluster, and intervals around them.

    ``epsilon``, above 0, is the privacy budget of a row, shared by all columns; ``columns`` gives
    each of the numeric ``quasi_identifiers`` its public ``bounds``.  ``rows_per_person`` is needed
    with ``person``.

    Epsilon-differential privacy for the numbers of a row.  Method ``clustered-laplace``; see
    ``anonymize`` for errors.

    >>> import polars, voile
    >>> voile.add_laplace_noise(
    ...     polars.DataFrame({"salary": [1000, 2000, 3000, 4000]}),
    ...     quasi_identifiers=["salary"],
    ...     epsilon=1,
    ...     columns={"salary": {"bounds": [0, 10_000]}},
    ... ).frame.columns
    ['salary', 'salary.low', 'salary.high']
    """
    method = {
        "name": "clustered-laplace",
        "epsilon": epsilon,
        "rows_per_person": rows_per_person,
    }
    return _released(frame, {"quasi_identifiers": quasi_identifiers}, method, options)


@_with_keywords
def dp_generalize(
    frame: Frame,
    *,
    quasi_identifiers: Sequence[str],
    epsilon: float,
    k: int = 20,
    sensitive: Sequence[str] = (),
    **options: Unpack[FrameOptions],
) -> FrameRelease[Frame]:
    """Publish a sample of the rows, generalized by a lattice node that is drawn privately.

    ``epsilon``, above 1.204, is the whole budget; ``columns`` gives each published column its
    public hierarchy; groups of fewer than ``k`` rows are left out.

    (epsilon, delta)-differential privacy.  Method ``dp-generalization``; see ``anonymize`` for
    errors.
    """
    roles = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    method = {"name": "dp-generalization", "k": k, "epsilon": epsilon}
    return _released(frame, roles, method, options)


@_with_keywords
def dp_synthesize(
    frame: Frame,
    *,
    quasi_identifiers: Sequence[str],
    epsilon: float,
    delta: float | None = None,
    sensitive: Sequence[str] = (),
    rows: int | str = "estimated",
    rows_per_person: int | None = None,
    **options: Unpack[FrameOptions],
) -> FrameRelease[Frame]:
    """Make up rows of nobody whose counts by one and two columns are about those of the frame.

    ``epsilon``, above 0, is the budget; with ``delta``, between 0 and 1, noise is Gaussian, and
    without Laplace.  ``columns`` gives each column its public domain: ``values``, a hierarchy, or
    ``bounds`` with ``edges``.  ``rows`` is how many are made.  A frame whose rows are each of
    another person needs ``person="row"``.

    Differential privacy.  Method ``dp-synthesis``; see ``anonymize`` for errors.
    """
    roles = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    method = {
        "name": "dp-synthesis",
        "epsilon": epsilon,
        "delta": delta,
        "rows": rows,
        "rows_per_person": rows_per_person,
    }
    return _released(frame, roles, method, options)


def audit_frame(
    released: IntoDataFrame,
    original: IntoDataFrame,
    control: IntoDataFrame | None = None,
    *,
    plan: Mapping[str, object] | str | Path | None = None,
    **options: Unpack[AuditOptions],
) -> FrameAudit:
    """Judge a released frame of any origin against the frame that it was made from; private.

    ``control`` holds people of the same origin who are not in the original: what is found of them,
    too, is no fault of the release.  The three frames share their columns, as far as these are
    published.  ``plan`` is as in ``anonymize`` and needs no method; without one, roles are
    proposed.  ``targets`` is how many persons are attacked, 1,000 by default; ``attacks`` are names
    of ``voile.attack_names()``, None for all.  ``shadows``, at least 8, is how many releases are
    made by the ``plan`` to learn who is in ``released``: none by default; it needs a ``control``,
    and a method in the plan.  Without a ``seed`` draws follow from the contents, so that the same
    frames give the same figures.

    Singling out, linkability and inference: Article 29 Working Party, opinion 05/2014 (WP216).
    Raises ``InputError`` for options, another ``VoileError`` where frames and plan disagree.
    """
    _refuse_unknown(options, AuditOptions)
    attacks = options.get("attacks")
    inquiry = examine.Inquiry(
        options.get("targets", 1000),
        None if attacks is None else tuple(attacks),
        shadows=options.get("shadows", 0),
    )
    with TemporaryDirectory(prefix="voile-audit-") as folder:

        def written(name: str, frame: IntoDataFrame) -> Path:
            place = Path(folder) / f"{name}.parquet"
            from_native(frame)[0].write_parquet(place)
            return place

        stated = None if plan is None or isinstance(plan, Mapping) else Path(plan)
        if isinstance(plan, Mapping):
            stated = Path(folder) / "plan.toml"
            stated.write_text(_toml_of(plan), encoding="utf-8")
        record = examine.audit(
            written("released", released),
            written("original", original),
            None if control is None else written("control", control),
            stated,
            inquiry=inquiry,
            seed=options.get("seed"),
        )
    return FrameAudit(record)


def _released(
    frame: Frame,
    roles: Mapping[str, object],
    method: Mapping[str, object],
    options: FrameOptions,
) -> FrameRelease[Frame]:
    """A release by a method whose parameters are given, but for those that are None."""
    _refuse_unknown(options, FrameOptions)
    given = {name: value for name, value in options.items() if value is not None}
    plan = {
        **_named(given, _TOP),
        "roles": {**roles, **_named(given, _ROLES)},
        **_named(given, _TABLES),
        "method": {name: value for name, value in method.items() if value is not None},
    }
    call = cast("CallOptions", _named(given, CallOptions.__annotations__))
    return anonymize(frame, plan, **call)


def _named(options: Mapping[str, object], names: Iterable[str]) -> Json:
    return {name: options[name] for name in names if name in options}


def _refuse_unknown(options: Mapping[str, object], kind: type) -> None:
    """Raise ``InputError`` for a keyword that no call has, with the nearest that there is."""
    known = list(kind.__annotations__)
    for name in options:
        if name not in known:
            msg = f"there is no keyword {name!r}{nearest(name, known)}"
            raise InputError(msg)


def _toml_of(plan: Mapping[str, object]) -> str:
    """The file that states a plan; raises ``PlanError`` for what no file can state."""
    try:
        return tomlkit.dumps(_plain(plan))
    except (tomlkit.exceptions.TOMLKitError, TypeError, ValueError):
        msg = (
            "the plan holds a value that is neither a text, a number, a date, a truth value, nor a "
            "list or mapping of such"
        )
        raise PlanError(msg) from None


def _plain(value: object) -> Any:
    """A value as TOML has it: numbers of NumPy, and whatever holds several, as its own kinds."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Decimal):
        return tomlkit.value(str(value))
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(one) for one in value]
    return value

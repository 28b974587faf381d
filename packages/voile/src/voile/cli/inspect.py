"""``voile inspect``: what a table holds and how exposed it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from voile.cli.options import engine_option
from voile.table.places import Place, laid_out, place_of
from voile_base.errors import InputError, TableError
from voile_base.ondemand import dataclass, on_demand
from voile_base.terminal import as_json, print_json, print_table, progress, say
from voile_base.values import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from voile.models import k_anonymity, population
    from voile.models.k_anonymity import GroupExposure
    from voile.models.population import PopulationRisk
    from voile.proposal import columns as proposal_columns
    from voile.proposal import layout as proposal_layout
    from voile.proposal import writing
    from voile.proposal.layout import ProposedLayout
    from voile.publish import registry
    from voile.schema import persons
    from voile.schema import roles as schema_roles
    from voile.schema.hierarchy import suggestion as hierarchy_suggestion
    from voile.schema.hierarchy.suggestion import Suggestion
    from voile.schema.persons import Occurrences
    from voile.schema.plan import Plan
    from voile.schema.roles import Roles
    from voile.study import rehearsal
    from voile.table import profile as table_profile
    from voile.table.profile import Inspected
    from voile.table.summaries import ColumnProfile, UnitsProfile
else:
    k_anonymity = on_demand("voile.models.k_anonymity")
    population = on_demand("voile.models.population")
    proposal_columns = on_demand("voile.proposal.columns")
    proposal_layout = on_demand("voile.proposal.layout")
    writing = on_demand("voile.proposal.writing")
    registry = on_demand("voile.publish.registry")
    hierarchy_suggestion = on_demand("voile.schema.hierarchy.suggestion")
    persons = on_demand("voile.schema.persons")
    schema_roles = on_demand("voile.schema.roles")
    rehearsal = on_demand("voile.study.rehearsal")
    table_profile = on_demand("voile.table.profile")

__all__ = ["look_document"]

_FEW_VALUES = 100
_ROWS = 50
_MASK = "•••"
_SIZES = (1, 2, 3, 5, 10, 20, 50, 100)


@click.command("inspect", short_help="What a table holds and how exposed it is.")
@click.argument("source", metavar="INPUT", type=click.Path())
@click.option("--plan", type=click.Path(), help="Measure on the quasi-identifiers of this plan.")
@click.option(
    "--quasi-identifiers",
    help="Measure on these columns: names with commas between.",
)
@click.option(
    "--weight",
    metavar="COLUMN",
    help="Sampling weights: tell the risk in the population that the rows are a sample of. "
    "Otherwise those of the plan's [roles] weight.",
)
@click.option(
    "--suggest",
    "suggesting",
    is_flag=True,
    help="Print hierarchies for the quasi-identifiers, to paste into the plan.",
)
@click.option(
    "--values",
    metavar="COUNT",
    type=click.IntRange(min=1, max=1000),
    help="With --json: how each column is spread, up to so many values of it, and how large the "
    "groups are.",
)
@click.option(
    "--rows",
    metavar="COUNT",
    type=click.IntRange(min=1, max=1000),
    help="With --json: the first rows. Columns that tell persons or things apart are masked.",
)
@click.option(
    "--solutions",
    is_flag=True,
    help="With --plan and --json: what the plan makes of the first rows, and the solutions beside "
    "the one that its method takes, with what each loses.",
)
@engine_option
@as_json
def _inspect_command(
    *,
    source: str,
    plan: str | None,
    quasi_identifiers: str | None,
    weight: str | None,
    suggesting: bool,
    values: int | None,
    rows: int | None,
    solutions: bool,
    engine: str,
    as_json: bool,
) -> None:
    """Show the columns of the table INPUT, and how many of its rows can be told apart.

    The output is private: it is computed from private rows without protection. Of the distinct
    values of a column it says how many stand in one row only (once). With a plan, identifiers that
    repeat and kept columns that single out rows are named.

    Suggestions are those of voile plan: kinds, and hierarchies that follow from them and from the
    public bounds in the plan. A suggestion holds what the plan says of its column already, and
    replaces it.
    """
    bound = registry.read_plan(Path(plan)) if plan else None
    _refuse_for_people(values, rows, as_json=as_json)
    if solutions:
        _tell_solutions(source, bound, rows or _ROWS, engine, as_json=as_json)
        return
    with progress() as stage:
        stage("reading")
        place, laid = _laid_out(source, bound)
        table = _inspected(place, bound, engine)
        stage("counting")
        if bound:
            bound.bind(table.columns)
        profiles = table.profile()
        found = _Persons.of(table, bound)
        columns = _named(quasi_identifiers, bound)
        exposed = _Exposure.of(table, columns or _telling(profiles), found.units)
        suggestions = _suggestions(table, exposed.columns, bound) if suggesting else []
        further = found.document() | _spread(table, bound, values, rows, exposed.sizes)
        at_risk = _population_risk(table, exposed.columns, weight, bound)
    for note in (*table.notes, *(laid.notes if laid else ())):
        say(f"voile: {note}")
    if as_json:
        document: Json = {
            **_counted(table, profiles, exposed, assumed=not columns),
            **further,
            **({"population_risk": asdict(at_risk)} if at_risk else {}),
            **({"suggestions": [asdict(one) for one in suggestions]} if suggesting else {}),
        }
        print_json(document)
    elif suggesting:
        click.echo("\n".join(map(hierarchy_suggestion.Suggestion.text, suggestions)), nl=False)
    else:
        _show(str(place), table, profiles, found.told)
        exposed.show(assumed=not columns)
        _show_population_risk(at_risk)


def look_document(table: Inspected, plan: Plan | None, values: int, rows: int) -> Json:
    """What is told of a table by a plan, with so many values of a column and first rows."""
    profiles, found = table.profile(), _Persons.of(table, plan)
    columns = _named(None, plan)
    exposed = _Exposure.of(table, columns or _telling(profiles), found.units)
    return {
        **_counted(table, profiles, exposed, assumed=not columns),
        **found.document(),
        **_spread(table, plan, values, rows, exposed.sizes),
    }


def _counted(
    table: Inspected, profiles: Sequence[ColumnProfile], exposed: _Exposure, *, assumed: bool
) -> Json:
    """What every look at a table tells of it, and how its file was read."""
    return {
        "rows": table.rows,
        "notes": [*table.notes],
        "columns": [asdict(profile) for profile in profiles],
        "exposure": exposed.document(assumed=assumed),
    }


def _inspected(place: Place, plan: Plan | None, engine: str) -> table_profile.Inspected:
    """The table, where what a plan calls missing is missing."""
    return table_profile.Inspected.of_file(place, plan.missing if plan else (), engine=engine)


def _laid_out(source: str, plan: Plan | None) -> tuple[Place, ProposedLayout | None]:
    """The table with the layout that the plan says, or else with the one that it seems to have."""
    place = place_of(source)
    if plan is None:
        return proposal_layout.proposed_layout(place)
    return laid_out(place, plan.input), None


def _refuse_for_people(values: int | None, rows: int | None, *, as_json: bool) -> None:
    """Raise ``InputError`` for what is told in JSON alone."""
    if (values or rows) and not as_json:
        msg = "--values and --rows are for programs: they need --json"
        raise InputError(msg)


def _tell_solutions(
    source: str, plan: Plan | None, rows: int, engine: str, *, as_json: bool
) -> None:
    """Print what a plan makes of the first rows, and which solutions there are."""
    if plan is None or not as_json:
        msg = "--solutions is for programs, and about a plan: it needs --plan and --json"
        raise InputError(msg)
    with progress() as stage:
        found = rehearsal.solutions_document(source, plan, rows, engine, stage)
    print_json(found)


@dataclass(frozen=True)
class _UnitsOfGroups:
    """How many persons or households the groups have."""

    protected: str
    fewest: int
    of_one: int
    """Groups of one of them alone."""

    @classmethod
    def of(cls, table: Inspected, columns: Sequence[str], units: UnitsProfile) -> Self:
        """Counted in the groups that agree in these columns."""
        sizes = table.group_sizes(columns, units.column)
        return cls(units.protected, int(sizes.min()), int((sizes == 1).sum()))

    def document(self) -> dict[str, int]:
        """As JSON takes it."""
        return {"fewest_units": self.fewest, "groups_of_one_unit": self.of_one}

    @property
    def told(self) -> str:
        """The same in a line."""
        return (
            f"  fewest {self.protected}s   {self.fewest:,} in a group; {self.of_one:,} groups are "
            f"of one {self.protected} alone"
        )


@dataclass(frozen=True, eq=False)
class _Exposure:
    """How many rows can be told apart by some columns."""

    columns: Sequence[str]
    sizes: NDArray[np.int64] | None
    """Shape (groups,): rows of each; None where there is nothing to count."""
    measured: GroupExposure | None
    by_units: _UnitsOfGroups | None

    @classmethod
    def of(cls, table: Inspected, columns: Sequence[str], units: UnitsProfile | None) -> Self:
        """Counted in the groups that agree in these columns."""
        sizes = table.group_sizes(columns) if columns and table.rows else None
        if sizes is None:
            return cls(columns, None, None, None)
        by_units = _UnitsOfGroups.of(table, columns, units) if units else None
        return cls(columns, sizes, k_anonymity.GroupExposure.of(sizes), by_units)

    def document(self, *, assumed: bool) -> Json | None:
        """As JSON takes it; ``assumed`` says that nobody named the columns."""
        if self.measured is None:
            return None
        return {
            "quasi_identifiers": self.columns,
            "assumed": assumed,
            "unique_share": self.measured.unique_share,
            **asdict(self.measured),
            **(self.by_units.document() if self.by_units else {}),
        }

    def show(self, *, assumed: bool) -> None:
        """Print it."""
        measured = self.measured
        if measured is None:
            return
        click.echo(f"\nExposure on {', '.join(self.columns)}:")
        if assumed:
            click.echo(
                f"(every column with 2 to {_FEW_VALUES} distinct values; name others with --plan "
                "or --quasi-identifiers)"
            )
        click.echo(
            f"  unique rows      {measured.unique:,} of {measured.rows:,} "
            f"({measured.unique_share:.1%})\n"
            f"  groups           {measured.groups:,}\n"
            f"  smallest group   {measured.smallest:,} rows\n"
            f"  median group     {measured.median_group:,.1f} rows\n"
            f"  median row       in a group of {measured.median_row:,.1f} rows"
        )
        if self.by_units:
            click.echo(self.by_units.told)


@dataclass(frozen=True)
class _Doubt:
    """A column by which a row may not be another person, or can be pointed at."""

    column: str
    role: str
    rows: int
    """Rows that were counted."""
    distinct: int
    once: int
    allowed: bool
    """Whether the plan says that it may be so."""
    told: str
    """The same as a sentence."""

    @classmethod
    def of_identifier(cls, column: str, found: Occurrences, roles: Roles) -> Self:
        """An identifier that repeats."""
        allowed = roles.person is not None or roles.household is not None
        then = (
            f'publishing it needs person = "{column}", if it tells persons apart, or '
            f'person = "{schema_roles.EACH_ROW}"'
        )
        if allowed:
            then = (
                "the plan says that each row is another person all the same"
                if roles.protected == "row"
                else f"the plan names the {roles.protected} of each row"
            )
        told = f"[roles] identifiers: {found.told_of_identifier(column)}; {then}"
        return cls(column, "identifiers", found.rows, found.values, found.once, allowed, told)

    @classmethod
    def of_kept(cls, column: str, found: Occurrences, roles: Roles) -> Self:
        """A column to keep that singles out rows."""
        allowed = column in roles.keep_unique
        then = (
            "the plan says that it may"
            if allowed
            else f'publishing it needs keep_unique = ["{column}"]'
        )
        told = f"[roles] keep: {found.told_of_kept(column)}; {then}"
        return cls(column, "keep", found.rows, found.values, found.once, allowed, told)


@dataclass(frozen=True)
class _Persons:
    """Who is protected, and where the rows contradict that each of them is another person."""

    units: UnitsProfile | None = None
    doubts: Sequence[_Doubt] | None = None
    """None without a plan."""

    @classmethod
    def of(cls, table: Inspected, plan: Plan | None) -> Self:
        """What a plan makes of the rows of a table."""
        if plan is None:
            return cls()
        repeating, kept = table.identifiers_that_repeat(plan), table.kept_that_single_out(plan)
        doubts = [
            *(_Doubt.of_identifier(name, found, plan.roles) for name, found in repeating.items()),
            *(_Doubt.of_kept(name, found, plan.roles) for name, found in kept.items()),
        ]
        return cls(table.units(plan), doubts)

    def document(self) -> Json:
        """As JSON takes it."""
        document: Json = {}
        if self.doubts is not None:
            document["rows_as_persons"] = [asdict(doubt) for doubt in self.doubts]
        if self.units is not None:
            document["units"] = asdict(self.units)
        return document

    @property
    def told(self) -> list[str]:
        """The same in sentences."""
        units, doubts = self.units, [doubt.told for doubt in self.doubts or ()]
        if units is None:
            return doubts
        counted = (
            f"[roles] {units.protected}: {persons.units_told(units.protected, units.units)} by "
            f"column {units.column!r}; {units.once:,} have one row, and nobody has more than "
            f"{units.most_rows:,}"
        )
        return [counted, *doubts]


def _population_risk(
    table: Inspected, columns: Sequence[str], weight: str | None, plan: Plan | None
) -> PopulationRisk | None:
    """The risk in the population, where weights are named; raises ``TableError``."""
    weight = weight or (plan.roles.weight if plan else None)
    if weight is None or not columns or not table.rows:
        return None
    sample = table.sample(columns, weight, plan)
    try:
        return population.PopulationRisk.of_sample(sample)
    except ValueError:
        msg = (
            f"column {weight!r}: the sampling weights add up to fewer people than there are rows; "
            "a weight says how many people of the population a row stands for, itself included"
        )
        raise TableError(msg) from None


def _show_population_risk(risk: PopulationRisk | None) -> None:
    if risk is None:
        return
    uniques = risk.uniques
    names = {"pitman": "Pitman", "zayatz": "Zayatz", "negative_binomial": "negative binomial"}
    estimates = ", ".join(
        f"{name} {value:,.0f}"
        for key, name in names.items()
        if (value := getattr(uniques, key)) is not None
    )
    lines = [
        f"  population       {risk.population:,.0f} people by weights, of whom "
        f"{uniques.sampled:.2%} are in the table",
        f"  individual risk  {risk.expected:,.2f} rows found on average "
        f"({risk.expected / risk.rows:.3%}); highest {risk.highest:.3%}",
    ]
    if risk.households_expected is not None:
        lines.append(
            f"  household risk   {risk.households_expected:,.2f} rows of whose household somebody "
            f"is found ({risk.households_expected / risk.rows:.3%})"
        )
    lines += [
        f"  k-map            k = {risk.map_least:,.4g} by weights; {risk.map_below_five:,} rows "
        "like fewer than five people",
        f"  unique people    {estimates}; taken: {names[uniques.choice]}",
        f"  log-linear       {risk.log_linear.unique:,.2f} sample uniques unique in the "
        f"population, {risk.log_linear.matches:,.2f} correct matches",
        f"  special uniques  {risk.special_rows:,} rows; highest chance "
        f"{risk.special_highest:.3%}; "
        + ", ".join(f"{name} {share:.0f} %" for name, share in risk.special_columns.items()),
    ]
    click.echo("\nRisk in the population, estimated:")
    click.echo("\n".join(lines))


def _spread(
    table: Inspected,
    plan: Plan | None,
    values: int | None,
    rows: int | None,
    sizes: NDArray[np.int64] | None,
) -> Json:
    """How each column is spread, the first rows and the sizes of groups, as far as asked for."""
    if not values and not rows:
        return {}
    masked = _masked(table, plan)
    document: Json = {"masked": [name for name in table.columns if name in masked]}
    if values:
        document["values"] = {
            name: asdict(table.distribution(name, values))
            for name in table.columns
            if name not in masked
        }
    if rows:
        document["first"] = _masked_rows(table, rows, masked)
    return document | _size_classes(sizes, values)


def _size_classes(sizes: NDArray[np.int64] | None, values: int | None) -> Json:
    """Groups and rows by the size of the group, where they are asked for; the last has no end."""
    if sizes is None or not values:
        return {}
    ends = [*_SIZES[1:], int(sizes.max()) + 1]
    found: list[dict[str, int | None]] = []
    for least, end in zip(_SIZES, ends, strict=True):
        inside = sizes[(sizes >= least) & (sizes < end)]
        most = None if least == _SIZES[-1] else end - 1
        said = {"least": least, "most": most, "groups": len(inside), "rows": int(inside.sum())}
        found.append(said)
    return {"group_sizes": found}


def _masked(table: Inspected, plan: Plan | None) -> frozenset[str]:
    """Columns whose values tell persons or things apart, by the plan, or by how they look.

    What a plan publishes is shown; of what it leaves out, that which is recognised is masked, and
    remarks, which may name anybody.
    """
    apart, names = {"person", "household", "identifier"}, list(table.columns)
    said: frozenset[str] = frozenset()
    if plan is not None:
        said = frozenset((*plan.roles.identifiers, *plan.roles.named_units.values()))
        names = [name for name in names if name not in {*said, *plan.roles.published}]
    proposed = (
        proposal_columns.propose_column(
            table.details(name), None, [one for one in table.columns if one != name]
        )
        for name in names
    )
    return said | {
        one.name
        for one in proposed
        if one.role in apart or one.recognition or (one.role == "drop" and one.kind == "text")
    }


def _masked_rows(table: Inspected, rows: int, masked: frozenset[str]) -> list[list[str | None]]:
    """The first rows, with a mark in the place of what tells persons or things apart."""
    return [
        [
            _MASK if name in masked and value is not None else value
            for name, value in zip(table.columns, row, strict=True)
        ]
        for row in table.first(rows)
    ]


def _named(text: str | None, plan: Plan | None) -> list[str]:
    """The columns to measure on: names with commas between, each once, or those of the plan."""
    if text:
        return list(dict.fromkeys(name.strip() for name in text.split(",")))
    return list(plan.roles.quasi_identifiers) if plan else []


def _telling(profiles: Sequence[ColumnProfile]) -> list[str]:
    """Columns that may well be quasi-identifiers: more than one value, and not too many."""
    return [p.name for p in profiles if 1 < p.distinct <= _FEW_VALUES]


def _suggestions(table: Inspected, columns: Sequence[str], plan: Plan | None) -> list[Suggestion]:
    declared = plan.columns if plan else {}
    return [
        writing.suggestion_of(
            proposal_columns.propose_column(table.details(name)), declared.get(name)
        )
        for name in columns
    ]


def _show(
    source: str, table: Inspected, profiles: Sequence[ColumnProfile], told: Sequence[str]
) -> None:
    click.echo(f"{source}: {table.rows:,} rows, {len(profiles)} columns (private)\n")
    print_table(
        ["column", "type", "missing", "distinct", "once"],
        [(p.name, p.type, p.missing, p.distinct, p.once) for p in profiles],
    )
    hints = [p for p in profiles if p.placeholder]
    if hints:
        click.echo()
    for hint in hints:
        click.echo(
            f"{hint.name} holds {hint.placeholder!r} in {hint.placeholders:,} rows: if that stands "
            f'for a missing value, write missing = ["{hint.placeholder}"] in the plan'
        )
    for line in told:
        click.echo(f"\n{line}")

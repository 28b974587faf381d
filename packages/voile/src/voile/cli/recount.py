"""``voile recount``: hashes and every claim of a release, from its folder alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile.cli.options import TABLE, engine_option
from voile.table.places import Place, laid_out
from voile.table.remote import brought_release
from voile_base.errors import InputError, RefusedError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, progress
from voile_base.values import Document, Json

if TYPE_CHECKING:
    from voile.publish import registry
    from voile.release import folder as release_folder
    from voile.release import recounting
    from voile.release.recounting import Recount
    from voile.schema.plan import Plan
    from voile.study import record
    from voile.table import binding, opening
else:
    registry = on_demand("voile.publish.registry")
    release_folder = on_demand("voile.release.folder")
    recounting = on_demand("voile.release.recounting")
    record = on_demand("voile.study.record")
    binding = on_demand("voile.table.binding")
    opening = on_demand("voile.table.opening")

__all__: list[str] = []


@click.command("recount", short_help="Recount hashes and every claim of a release.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--against",
    metavar="INPUT",
    type=TABLE,
    help="The private original, which shows more: altered values, permutations and noise that are "
    "none. The output is then private.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path),
    help="The plan of --against: how its file is laid out, and bounds that values are clamped to.",
)
@engine_option
@json_option
def _recount_command(
    folder: Path, against: Place | None, plan: Path | None, engine: str, *, as_json: bool
) -> None:
    """Recount the release in DIR from its folder alone. Exit status 0, or 4 where it is refused.

    The files are compared with the hashes of release.json. Each claim is counted again on the
    published rows, and so is what release.json says of columns, noise and groups. What no output
    can show is listed as not visible: differential privacy, and persons whose ids are withheld.

    A release without hashes, or with a claim that this version does not know, is refused.

    attack, audit, check, dossier, sign, study and verify recount first. A release that somebody
    remade as a whole, with a smaller promise that holds, is told by its signatures and its ledger.
    """
    if plan is not None and against is None:
        msg = "--plan says how the file of --against is to be read; name that too"
        raise InputError(msg)
    with progress() as stage:
        stage("recounting")
        read = None if plan is None else registry.read_plan(plan)
        if read is not None and against is not None:
            against = laid_out(against, read.input)
        folder = brought_release(folder)
        original = _original(folder, against, read, engine)
        found = recounting.Recount.of(folder, original, engine=engine)
    if as_json:
        print_json(_document(found))
    else:
        _show(found)
    if refusal := found.refusal():
        raise refusal
    if found.unknown:
        named = ", ".join(map(repr, found.unknown))
        msg = (
            f"{folder}: no check for guarantees of kind {named}: this version of Voile cannot "
            "recount them; use the version, or the package, that made the release"
        )
        raise RefusedError(msg)


def _original(folder: Path, against: Place | None, plan: Plan | None, engine: str) -> Any:
    """The rows of the private original, within the bounds that the plan clamps them to.

    Columns that the release shows as texts are texts.
    """
    if against is None:
        return None
    types = release_folder.release_document(folder).get("types")
    kinds = types if isinstance(types, dict) else {}
    texts = [name for name, kind in kinds.items() if kind == "text"]
    frame, _ = opening.rows_in_memory(against, texts=texts, engine=engine)
    return frame if plan is None else binding.clamped(frame, plan)


def _show(found: Recount) -> None:
    if found.compared is not None:
        click.echo(record.PRIVATE)
    click.echo(f"Files: {len(found.files):,}, each with the SHA-256 that release.json lists.")
    click.echo(f"Rows: {found.rows:,}.")
    for one in found.claims:
        named = ", ".join(_parameters(one.claim.document()))
        click.echo(f"Claim {one.claim.kind}{f' ({named})' if named else ''}: {_told(one)}.")
        for what in one.unseen:
            click.echo(f"  Not visible in the rows: {what}.")
    if found.compared is not None:
        for what in found.compared.held:
            click.echo(f"Against INPUT: {what}.")
        for what in found.compared.unseen:
            click.echo(f"Not visible against INPUT: {what}.")
    for what in found.breaches:
        click.echo(f"BROKEN: {what}.")


def _parameters(claim: Document) -> Iterator[str]:
    """What is claimed, in numbers, and the names of further criteria."""
    for name, value in claim.items():
        if name == "suppression_limit":
            yield f"up to {100 * value:.6g} % of the rows left out"
        elif isinstance(value, int | float):
            yield f"{name} = {value}"
        elif isinstance(value, Mapping) and isinstance(value.get("value"), int | float):
            yield f"{name} = {value['value']}"
        elif name == "criteria":
            yield from (str(one["name"]) for one in value)


def _told(one: Any) -> str:
    if one.breaches:
        return "does not hold"
    return "not contradicted by the rows" if one.unseen else "holds"


def _document(found: Recount) -> Json:
    beside = found.compared
    return {
        **({"private": record.PRIVATE} if beside else {}),
        "holds": not found.breaches and not found.unknown,
        "files": list(found.files),
        "rows": found.rows,
        "claims": [
            {
                **one.claim.document(),
                "holds": not one.breaches,
                "breaches": list(one.breaches),
                "not_visible": list(one.unseen),
            }
            for one in found.claims
        ],
        "breaches": list(found.breaches),
        **(
            {"against": {"held": list(beside.held), "not_visible": list(beside.unseen)}}
            if beside
            else {}
        ),
    }

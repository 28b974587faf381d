"""``voile dossier``: what was judged, on one page for those who decide."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import ledger_option
from voile_base.durable import new_private_file, replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_base.ondemand import on_demand
from voile_base.terminal import say, telling_what_is_done
from voile_base.values import Document

if TYPE_CHECKING:
    from voile import ledger as voile_ledger
    from voile import signing
    from voile.ledger import budget
    from voile.policy import case as policy_case
    from voile.policy import checking, ruling
    from voile.policy import stated as policy_stated
    from voile.report import html, words
    from voile.signing import SignedBy
    from voile.table.published import PublishedTable
else:
    voile_ledger = on_demand("voile.ledger")
    budget = on_demand("voile.ledger.budget")
    ruling = on_demand("voile.policy.ruling")
    policy_case = on_demand("voile.policy.case")
    checking = on_demand("voile.policy.checking")
    policy_stated = on_demand("voile.policy.stated")
    html = on_demand("voile.report.html")
    words = on_demand("voile.report.words")
    signing = on_demand("voile.signing")

__all__: list[str] = []

_PUBLIC = 0o644


@click.command("dossier", short_help="Draw what was judged, on one page for those who decide.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A new file, in HTML.")
@click.option(
    "--public",
    is_flag=True,
    help="The public part, which may go with the release: nothing in it was computed with the "
    "private original. It is drawn of a verdict that has passed.",
)
@click.option(
    "--key",
    "keys",
    metavar="PUBLIC",
    multiple=True,
    help="A public key that you trust, or a file that holds it; may be said several times. "
    "Signatures by it are named as known.",
)
@ledger_option
def _dossier_command(
    folder: Path, out: Path, public: bool, keys: tuple[str, ...], ledger: str | None
) -> None:
    """Draw the dossier of what `voile check` has judged in DIR: one HTML file, laid out for A4.

    It says what is published, and to whom; what the promise assumes, each assumption with who has
    ticked it; the three risks beside control and guessing; the worst-off person, without a value of
    anybody; what the release is good for; the verdict; who has signed; and of the ledger the
    history of the series and the data set.

    The private part, which is drawn unless --public asks for the other, must stay private. Print it
    from a browser.
    """
    case = policy_case.Case.open(folder)
    if case.private is None or case.record is None:
        msg = f"{folder}: a release alone has no evidence; name what study or audit has written"
        raise InputError(msg)
    path = case.private / checking.VERDICT
    kept = checking.Verdict.read(path)
    stated = policy_stated.StatedPolicy.of_text(kept.text, f"{path}: its policy")
    verdict = checking.judge(case, stated)
    if verdict != kept:
        msg = (
            f"{path}: this is not what the policy says of what stands here now; "
            "run voile check again"
        )
        raise RefusedError(msg)
    dossier = html.Dossier(
        name=case.data.name if case.document is None else _name(case.document),
        document=case.document,
        record=case.record,
        verdict=verdict,
        policy=stated.policy,
        ticks=ruling.read_ticks(case.private / ruling.ASSUMPTIONS),
        signatures=_signatures(folder, case.public / policy_case.SIGNATURES, keys),
        history=None if ledger is None else tuple(_history(Path(ledger), case.document)),
        drawn=_drawn(path),
        shown={} if case.document is None else dict(_shown(case.rows.table, case.document)),
    )
    text = dossier.render(public=public)
    if public and not (out.exists() or out.is_symlink()):
        replace_private_file(out, text, _PUBLIC)
    else:
        new_private_file(out, text)
    with telling_what_is_done(f"the dossier stands at {out}"):
        what = "the public part" if public else "the private part, which must stay private"
        say(f"{out}: {what}.")


def _shown(table: PublishedTable, document: Document) -> Iterator[tuple[str, str]]:
    """Columns of which at least half of the rows show one value, with it; as everybody sees."""
    for name in document["columns"]:
        ends = [name, f"{name}.low", f"{name}.high"]
        cells = [one for one in ends if one in table.columns]
        counted = table.count(cells) if cells and table.rows else None
        if counted is None or 2 * counted.rows.max() < counted.rows.sum():
            continue
        top = int(counted.rows.argmax())
        codes = counted.codes[top]
        pairs = zip(counted.values, codes, strict=True)
        held = [values[int(code)].as_py() for values, code in pairs]
        value = "no value" if None in held else f"one value, {' to '.join(map(str, held))},"
        share = counted.rows[top] / counted.rows.sum()
        often = "all rows" if share == 1 else f"{words.percent(float(share))} of rows"
        yield name, f"{value} in {often}"


def _drawn(verdict: Path) -> str:
    """When the dossier is drawn, and of which verdict, by its time and the hash of its file."""
    judged = datetime.fromtimestamp(verdict.stat().st_mtime, UTC)
    digest = hashlib.sha256(verdict.read_bytes()).hexdigest()
    now, then = (f"{one:%Y-%m-%d %H:%M} UTC" for one in (datetime.now(UTC), judged))
    return f"on {now}, of the verdict of {then} (SHA-256 {digest[:16]})"


def _name(document: Document) -> str:
    of = document.get("series", {}).get("name") or document.get("data_set") or "release"
    return f"{of} {document['release_id'][:8]}"


def _signatures(folder: Path, path: Path, keys: tuple[str, ...]) -> tuple[SignedBy, ...]:
    if not path.is_file():
        return ()
    found = signing.verify(folder, [signing.public_key(one) for one in keys])
    if found.changes:
        raise RefusedError(f"{folder}: not as it was signed: {'; '.join(found.changes)}")
    return found.signatures


def _history(path: Path, document: Document | None) -> Iterator[html.HistoryLine]:
    """Releases of the series and the data set that a release belongs to, as the ledger has them."""
    if document is None:
        return
    here = document["release_id"]
    series = document.get("series", {}).get("name")
    opened = voile_ledger.Ledger(path)
    for summary in opened.series():
        for one in summary.versions if summary.terms.name == series else ():
            what = f"version {one.number} of the series {series}, {one.rows:,} rows"
            yield html.HistoryLine(one.created, what, one.release_id, "", one.release_id == here)
    for state in opened.data_sets():
        if state.limit.data_set != document.get("data_set"):
            continue
        for entry in state.entries:
            spent = ", ".join(f"epsilon {budget.shown(event.epsilon)}" for event in entry.events)
            ours = entry.release_id == here
            yield html.HistoryLine(entry.created, entry.kind, entry.release_id, spent, ours)
        yield html.HistoryLine(
            "", f"of the data set {state.limit.data_set}: {state.balance}", "", "", False
        )

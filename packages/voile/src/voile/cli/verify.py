"""``voile verify``: whether anything was changed since it was signed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import RefusedError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json, print_json, telling_what_is_done

if TYPE_CHECKING:
    from voile.policy import stated
    from voile.signing import keys as signing_keys
    from voile.signing import verifying
    from voile.signing.verifying import Verification
else:
    stated = on_demand("voile.policy.stated")
    signing_keys = on_demand("voile.signing.keys")
    verifying = on_demand("voile.signing.verifying")

__all__ = ["verify_command"]


@click.command("verify", short_help="Tell whether anything was changed since it was signed.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--key",
    "keys",
    metavar="PUBLIC",
    multiple=True,
    help="A public key that you trust, or a file that holds it; may be said several times. Each "
    "must have signed.",
)
@click.option(
    "--policy",
    metavar="POLICY",
    help="The policy as you know it: it must be the one that was signed, and you trust the keys "
    "that it names.",
)
@as_json
def verify_command(folder: Path, keys: tuple[str, ...], policy: str | None, as_json: bool) -> None:
    """Tell whether anything in DIR was changed since it was signed. Exit status 0, or 4 if so.

    It is 4 as well where somebody has not signed whom the signed policy asks to.

    DIR is what `voile sign` has signed, or its public part alone, as a recipient has it. Without a
    key that you trust, an unaltered folder is unaltered since an unknown key signed it: anybody can
    make a key.
    """
    known = [signing_keys.public_key(one) for one in keys]
    found = verifying.verify(folder, known, None if policy is None else stated.read_policy(policy))
    with telling_what_is_done(f"{folder} was verified"):
        if as_json:
            print_json(_document(found))
        else:
            _show(found)
    if found.changes:
        raise RefusedError(f"{folder}: not as it was signed: {'; '.join(found.changes)}")
    if found.absent:
        missing = ", ".join(map(repr, found.absent))
        msg = f"{folder}: unaltered, and not signed by all whom its policy asks: {missing}"
        raise RefusedError(msg)


def _show(found: Verification) -> None:
    if not found.changes:
        for one in found.signatures:
            click.echo(f"{one.words}.")
        if found.private == "not here":
            click.echo("The private part is not here: only its commitments were signed.")
        else:
            click.echo("The private part is here, and unaltered.")
    if found.unsigned:
        names = ", ".join(map(repr, found.unsigned))
        click.echo(f"Nobody has signed what else stands here: {names}.")
    for role in found.absent:
        click.echo(f"The policy asks for a signature as {role!r}, and nobody has signed so.")


def _document(found: Verification) -> dict[str, object]:
    return {
        "unaltered": not found.changes,
        "changes": list(found.changes),
        "signatures": [
            {"role": one.role, "key": one.key, "known": one.known} for one in found.signatures
        ],
        "absent": list(found.absent),
        "private": found.private,
        "unsigned": list(found.unsigned),
    }

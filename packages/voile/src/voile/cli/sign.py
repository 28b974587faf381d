"""``voile sign``: sign a release, its evidence, a policy and its verdict.

``voile key``: make the key of a signer, or show its public part.

``voile verify``: whether anything was changed since it was signed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.durable import replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json, print_json, say, telling_what_is_done

if TYPE_CHECKING:
    from voile import signing as voile_signing
    from voile.policy import case as policy_case
    from voile.policy import stated
    from voile.signing import Verification
else:
    policy_case = on_demand("voile.policy.case")
    voile_signing = on_demand("voile.signing")
    stated = on_demand("voile.policy.stated")

__all__: list[str] = []

_PUBLIC = 0o644


@click.command("sign", short_help="Sign a release, its evidence, a policy and its verdict.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--key", required=True, type=click.Path(path_type=Path), help="A file that `voile key` made."
)
@click.option(
    "--as",
    "role",
    required=True,
    metavar="ROLE",
    help='As whom: a role, such as "data protection officer", and better no name.',
)
@click.option(
    "--attest",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the verdict to FILE, too, as an in-toto attestation in a DSSE envelope, signed "
    "with the same key: public, and for tools that check supply chains.",
)
def _sign_command(folder: Path, key: Path, role: str, attest: Path | None) -> None:
    """Sign what stands in DIR, which `voile check` has passed.

    Signed are all published files by their hashes, the record, the verdict and what humans have
    ticked by salted commitments, and the policy. signatures.json is written among what is
    published; salts.json, which opens the commitments, stays with the private part. Several may
    sign, each in one role.

    Refused are a release that is not publishable, one that was made with a seed, and a verdict that
    has not passed or is not that of what stands in DIR now.
    """
    case = policy_case.Case.open(folder)
    signer = voile_signing.read_key(key)
    if attest is not None and attest.exists():
        raise InputError(f"{attest}: something is here already; name a new file for --attest")
    attestation = "" if attest is None else voile_signing.attested(case, signer)
    signature = voile_signing.sign(case, signer, role)
    path = case.public / policy_case.SIGNATURES
    with telling_what_is_done(f"the signature stands at {path}"):
        click.echo(f"{path}: signed as {signature.role!r} with {signature.key}")
        say("voile verify tells whether anything is changed from now on.")
    if attest is not None:
        replace_private_file(attest, attestation, _PUBLIC)


@click.command("key", short_help="Make the key of a signer, or show its public part.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--show", is_flag=True, help="Make nothing: print the public key of FILE.")
def _key_command(file: Path, show: bool) -> None:
    """Make a private key for `voile sign` in the new file FILE, for its owner alone.

    The public key is printed, and written to FILE.pub: it is what a policy names for a signer, and
    what `voile verify --key` takes. FILE is not encrypted: keep it where nobody else gets at it,
    and a copy of it.
    """
    if show:
        click.echo(voile_signing.public_text(voile_signing.read_key(file)))
        return
    public = file.with_name(f"{file.name}.pub")
    if public.exists():
        raise InputError(f"{public}: something is here already; name a new file for the key")
    key = voile_signing.new_key(file)
    replace_private_file(public, voile_signing.public_text(key) + "\n", _PUBLIC)
    with telling_what_is_done(f"the key stands at {file}"):
        click.echo(voile_signing.public_text(key))
        say(f"{file}: the private key, which must never leave; {public}: the public one.")


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
def _verify_command(folder: Path, keys: tuple[str, ...], policy: str | None, as_json: bool) -> None:
    """Tell whether anything in DIR was changed since it was signed. Exit status 0, or 4 if so.

    It is 4 as well where somebody has not signed whom the signed policy asks to.

    DIR is what `voile sign` has signed, or its public part alone, as a recipient has it. Without a
    key that you trust, an unaltered folder is unaltered since an unknown key signed it: anybody can
    make a key.
    """
    known = [voile_signing.public_key(one) for one in keys]
    found = voile_signing.verify(
        folder, known, None if policy is None else stated.StatedPolicy.read(policy)
    )
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
    for assumed in found.untrue:
        click.echo(f"Its signers know that this is not so, and have accepted it: {assumed}.")
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
        "untrue": list(found.untrue),
    }

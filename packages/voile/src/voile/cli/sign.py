"""``voile sign``: sign a release, its evidence, a policy and its verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.ondemand import on_demand
from voile_base.terminal import say, telling_what_is_done

if TYPE_CHECKING:
    from voile.policy import case as policy_case
    from voile.signing import keys, signing
else:
    policy_case = on_demand("voile.policy.case")
    keys = on_demand("voile.signing.keys")
    signing = on_demand("voile.signing.signing")

__all__ = ["sign_command"]


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
def sign_command(folder: Path, key: Path, role: str) -> None:
    """Sign what stands in DIR, which `voile check` has passed.

    Signed are all published files by their hashes, the record, the verdict and what humans have
    ticked by salted commitments, and the policy. signatures.json is written among what is
    published; salts.json, which opens the commitments, stays with the private part. Several may
    sign, each in one role.

    Refused are a release that is not publishable, one that was made with a seed, and a verdict that
    has not passed or is not that of what stands in DIR now.
    """
    case = policy_case.open_case(folder)
    signature = signing.sign(case, keys.read_key(key), role)
    path = case.public / policy_case.SIGNATURES
    with telling_what_is_done(f"the signature stands at {path}"):
        click.echo(f"{path}: signed as {signature.role!r} with {signature.key}")
        say("voile verify tells whether anything is changed from now on.")

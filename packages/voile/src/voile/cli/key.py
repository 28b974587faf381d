"""``voile key``: make the key of a signer, or show its public part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.durable import replace_private_file
from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import say, telling_what_is_done

if TYPE_CHECKING:
    from voile.signing import keys
else:
    keys = on_demand("voile.signing.keys")

__all__ = ["key_command"]

_PUBLIC = 0o644


@click.command("key", short_help="Make the key of a signer, or show its public part.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--show", is_flag=True, help="Make nothing: print the public key of FILE.")
def key_command(file: Path, show: bool) -> None:
    """Make a private key for `voile sign` in the new file FILE, for its owner alone.

    The public key is printed, and written to FILE.pub: it is what a policy names for a signer, and
    what `voile verify --key` takes. FILE is not encrypted: keep it where nobody else gets at it,
    and a copy of it.
    """
    if show:
        click.echo(keys.public_text(keys.read_key(file)))
        return
    public = file.with_name(f"{file.name}.pub")
    if public.exists():
        raise InputError(f"{public}: something is here already; name a new file for the key")
    key = keys.new_key(file)
    replace_private_file(public, keys.public_text(key) + "\n", _PUBLIC)
    with telling_what_is_done(f"the key stands at {file}"):
        click.echo(keys.public_text(key))
        say(f"{file}: the private key, which must never leave; {public}: the public one.")

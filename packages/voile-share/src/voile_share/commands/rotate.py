"""``voile share rotate-keys``: another key for what the store keeps sealed."""

from __future__ import annotations

from pathlib import Path

import click

from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say, telling_what_is_done

__all__ = ["rotate_keys"]


@click.command("rotate-keys", short_help="seal what the store holds by another key")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--finish",
    is_flag=True,
    help="Take the old key away: when every machine has the new file, and a new backup is made.",
)
@json_option
def rotate_keys(folder: Path, *, finish: bool, as_json: bool) -> None:
    """Draw a new key into vault.key, and seal by it all that the store of FOLDER holds sealed.

    Services may run: the new key seals, the new and the old one open, until --finish takes the old
    one away. A service on this machine takes the new key by itself; to another machine copy
    vault.key. Backups from before open by the key that they hold.
    """
    from voile_share.service.care import finish_rotation, rotate  # noqa: PLC0415
    from voile_share.service.folder import Configuration  # noqa: PLC0415

    configuration = Configuration.read(folder)
    sealed = (finish_rotation if finish else rotate)(folder, configuration)
    with telling_what_is_done("the keys were changed"):
        if finish:
            say(f"{folder}: the old key opens no more; {sealed} values were sealed anew before")
        else:
            say(
                f"{folder}: {sealed} values were sealed anew. Both keys open until: "
                f"voile share rotate-keys {folder} --finish"
            )
        if as_json:
            print_json({"sealed": sealed, "finished": finish})

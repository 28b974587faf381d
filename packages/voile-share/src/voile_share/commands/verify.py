"""``voile share verify``: a truck's records, from a chain and without any platform."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say

if TYPE_CHECKING:
    from voile_share import chain, protocol
else:
    chain = on_demand("voile_share.chain")
    protocol = on_demand("voile_share.protocol")

__all__ = ["verify_command"]


@click.command("verify", short_help="Check a truck's records on a chain.")
@click.argument("card")
@click.option("--url", required=True, help="A node, best one of your own.")
@click.option("--contract", required=True, help="The address of the contract: 0x...")
@click.option(
    "--block",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="In which the contract was made: nothing is looked for before.",
)
@json_option
def verify_command(card: str, url: str, contract: str, block: int, *, as_json: bool) -> None:
    """Check the records of the truck of CARD, from the chain alone.

    CARD is the truck's card in base64url, as the company and every link give it. Checked is that
    the contract names this card, and that each report is signed by the truck and continues the
    record before it, from the first one on. Where reports are read is not needed, and not asked.
    """
    node, encoded = chain.connect(url), _octets(card)
    truck = protocol.TruckCard.decode(encoded).truck.hex()
    deployment = chain.Deployment(node.identity(), chain.address_of(contract), block)
    if not node.has_code(deployment.address):
        msg = f"there is no contract at {contract} on chain {deployment.chain}"
        raise InputError(msg)
    records = list(chain.audit(node, deployment, encoded))
    if not records:
        msg = (
            f"the contract has no report of truck {truck}: nothing can be verified there (in mode "
            "anchor it has roots alone, and reports are proved one by one)"
        )
        raise InputError(msg)
    if as_json:
        shown = [{"record": r.number, "slot": r.slot, "block": r.block} for r in records]
        print_json({"truck": truck, "chain": deployment.chain, "records": shown})
        return
    rows = [[one.number, _time(one.slot), one.block] for one in records]
    print_table(["record", "slot", "block"], rows)
    say(f"truck {truck}: {len(records)} records, signed and in one chain")


def _octets(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        msg = "the card must be base64url, as the company got it"
        raise InputError(msg) from None


def _time(slot: int) -> str:
    return datetime.fromtimestamp(slot, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

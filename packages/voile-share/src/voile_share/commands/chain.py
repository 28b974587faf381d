"""``voile share chain``: the contract that reports go to, and who may publish by it.

``voile share verify``: a truck's records, from a chain and without any platform.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say, telling_what_is_done

__all__: list[str] = []


if TYPE_CHECKING:
    from voile_share import chain, protocol
    from voile_share.platform import core
    from voile_share.service import care as service_care
    from voile_share.service import folder as service_folder
    from voile_share.service import on_chain
else:
    chain = on_demand("voile_share.chain")
    on_chain = on_demand("voile_share.service.on_chain")
    protocol = on_demand("voile_share.protocol")
    service_care = on_demand("voile_share.service.care")
    service_folder = on_demand("voile_share.service.folder")
    core = on_demand("voile_share.platform.core")


_FOLDER = click.argument("folder", type=click.Path(path_type=Path))


@click.group("chain", short_help="Keep reports on a chain instead of the store.")
def _chain_group() -> None:
    """Keep the reports of the service of FOLDER on an Ethereum chain.

    First `account`, whose address needs money for gas; then `deploy` and `certify`; then serve.
    """


@_chain_group.command("account", short_help="make the operator's account")
@_FOLDER
@json_option
def _account(folder: Path, *, as_json: bool) -> None:
    """Print the address of the operator's account; make it where there is none.

    Its key is in chain.key. It registers trucks, fills their accounts, and anchors.
    """
    service_folder.Configuration.read(folder)
    if not (folder / on_chain.KEY).exists():
        core.new_key(folder / on_chain.KEY, "account")
    address = str(on_chain.operator_of(folder).address)
    with telling_what_is_done(f"the account stands in {folder / on_chain.KEY}"):
        if as_json:
            print_json({"account": address})
        else:
            click.echo(address)


@_chain_group.command("deploy", short_help="make the contract")
@_FOLDER
@click.option("--url", help="The node [default: of [chain] in share.toml].")
@json_option
def _deploy(folder: Path, url: str | None, *, as_json: bool) -> None:
    """Make the contract, and write into share.toml where it is.

    The operator's account is its owner. Of a contract that others have made, write chain, contract
    and block into the table [chain] yourself, and let its owner certify your account.
    """
    options = service_folder.Configuration.read(folder).chain
    if options is None:
        if url is None:
            msg = "name the node by --url, such as --url http://127.0.0.1:8545"
            raise InputError(msg)
        options = on_chain.ChainOptions(url=url)
    elif url not in {None, options.url}:
        msg = f"share.toml names another node: change url in [chain], or leave --url out ({folder})"
        raise InputError(msg)
    if options.contract:
        msg = f"{folder}: share.toml names a contract already; take it out to make another"
        raise InputError(msg)
    if options.is_embedded:
        msg = "an embedded chain makes its contract by itself when the service begins"
        raise InputError(msg)
    operator, node = on_chain.operator_of(folder), chain.Web3Chain.connect(options.url)
    if not node.balance(chain.address_of(operator)):
        msg = (
            f"the account {operator.address} has no money on chain {node.identity()}: send it some "
            "first"
        )
        raise InputError(msg)
    made = chain.deploy(node, operator, options.terms)
    with telling_what_is_done(f"the contract is 0x{made.address.hex()}, of block {made.block}"):
        on_chain.write_deployment(folder / service_folder.CONFIGURATION, options.url, made)
        say(f"contract 0x{made.address.hex()} of chain {made.chain}: written into share.toml")
        if as_json:
            print_json(
                {
                    "chain": made.chain,
                    "contract": f"0x{made.address.hex()}",
                    "block": made.block,
                    "owner": str(operator.address),
                }
            )


@_chain_group.command("certify", short_help="let a company register trucks")
@_FOLDER
@click.argument("address", required=False)
@click.option("--withdraw", is_flag=True, help="Take that back: its trucks are silent, too.")
@json_option
def _certify(folder: Path, address: str | None, *, withdraw: bool, as_json: bool) -> None:
    """Let the company of ADDRESS register trucks; without it the operator's own account.

    Only the owner of the contract may do so.
    """
    side = service_care.side_in(folder)
    company = chain.address_of(address or side.operator)
    if withdraw:
        side.registry.withdraw(company)
    else:
        side.registry.certify(company)
    with telling_what_is_done("the contract says so"):
        if as_json:
            print_json({"company": f"0x{company.hex()}", "certified": not withdraw})
        else:
            say(f"0x{company.hex()}: {'not certified any more' if withdraw else 'certified'}")


@_chain_group.command("show", short_help="show the contract, accounts and trucks")
@_FOLDER
@json_option
def _show(folder: Path, *, as_json: bool) -> None:
    """Show contract and accounts, which trucks are registered, how far was read and what waits.

    The service may run at the same time.
    """
    document = asdict(service_care.chain_status(folder))
    if as_json:
        print_json(document)
        return
    trucks = document.pop("trucks")
    for name, value in document.items():
        click.echo(f"{name.replace('_', ' ')}: {'' if value is None else value}")
    if trucks:
        click.echo()
        print_table(list(trucks[0]), [list(truck.values()) for truck in trucks])


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
def _verify_command(card: str, url: str, contract: str, block: int, *, as_json: bool) -> None:
    """Check the records of the truck of CARD, from the chain alone.

    CARD is the truck's card in base64url, as the company and every link give it. Checked is that
    the contract names this card, and that each report is signed by the truck and continues the
    record before it, from the first one on. Where reports are read is not needed, and not asked.
    """
    node, encoded = chain.Web3Chain.connect(url), _octets(card)
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

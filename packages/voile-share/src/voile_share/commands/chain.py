"""``voile share chain``: the contract that reports go to, and who may publish by it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say, telling_what_is_done

if TYPE_CHECKING:
    from voile_share import chain
    from voile_share.platform import key_file
    from voile_share.service import chain_options, on_chain
    from voile_share.service import chain_status as service_chain_status
    from voile_share.service import folder as service_folder
else:
    chain = on_demand("voile_share.chain")
    key_file = on_demand("voile_share.platform.key_file")
    chain_options = on_demand("voile_share.service.chain_options")
    service_chain_status = on_demand("voile_share.service.chain_status")
    service_folder = on_demand("voile_share.service.folder")
    on_chain = on_demand("voile_share.service.on_chain")

__all__ = ["chain_group"]

_FOLDER = click.argument("folder", type=click.Path(path_type=Path))


@click.group("chain", short_help="Keep reports on a chain instead of the store.")
def chain_group() -> None:
    """Keep the reports of the service of FOLDER on an Ethereum chain.

    First `account`, whose address needs money for gas; then `deploy` and `certify`; then serve.
    """


@chain_group.command(short_help="make the operator's account")
@_FOLDER
@json_option
def account(folder: Path, *, as_json: bool) -> None:
    """Print the address of the operator's account; make it where there is none.

    Its key is in chain.key. It registers trucks, fills their accounts, and anchors.
    """
    service_folder.Configuration.read(folder)
    if not (folder / on_chain.KEY).exists():
        key_file.new_key(folder / on_chain.KEY, "account")
    address = str(on_chain.operator_of(folder).address)
    with telling_what_is_done(f"the account stands in {folder / on_chain.KEY}"):
        if as_json:
            print_json({"account": address})
        else:
            click.echo(address)


@chain_group.command(short_help="make the contract")
@_FOLDER
@click.option("--url", help="The node [default: of [chain] in share.toml].")
@json_option
def deploy(folder: Path, url: str | None, *, as_json: bool) -> None:
    """Make the contract, and write into share.toml where it is.

    The operator's account is its owner. Of a contract that others have made, write chain, contract
    and block into the table [chain] yourself, and let its owner certify your account.
    """
    options = service_folder.Configuration.read(folder).chain
    if options is None:
        if url is None:
            msg = "name the node by --url, such as --url http://127.0.0.1:8545"
            raise InputError(msg)
        options = chain_options.ChainOptions(url=url)
    elif url not in {None, options.url}:
        msg = f"share.toml names another node: change url in [chain], or leave --url out ({folder})"
        raise InputError(msg)
    if options.contract:
        msg = f"{folder}: share.toml names a contract already; take it out to make another"
        raise InputError(msg)
    if options.is_embedded:
        msg = "an embedded chain makes its contract by itself when the service begins"
        raise InputError(msg)
    operator, node = on_chain.operator_of(folder), chain.connect(options.url)
    if not node.balance(chain.address_of(operator)):
        msg = (
            f"the account {operator.address} has no money on chain {node.identity()}: send it some "
            "first"
        )
        raise InputError(msg)
    made = chain.deploy(node, operator, options.terms)
    with telling_what_is_done(f"the contract is 0x{made.address.hex()}, of block {made.block}"):
        chain_options.write_deployment(folder / service_folder.CONFIGURATION, options.url, made)
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


@chain_group.command(short_help="let a company register trucks")
@_FOLDER
@click.argument("address", required=False)
@click.option("--withdraw", is_flag=True, help="Take that back: its trucks are silent, too.")
@json_option
def certify(folder: Path, address: str | None, *, withdraw: bool, as_json: bool) -> None:
    """Let the company of ADDRESS register trucks; without it the operator's own account.

    Only the owner of the contract may do so.
    """
    side = service_chain_status.side_in(folder)
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


@chain_group.command(short_help="show the contract, accounts and trucks")
@_FOLDER
@json_option
def show(folder: Path, *, as_json: bool) -> None:
    """Show contract and accounts, which trucks are registered, how far was read and what waits.

    The service may run at the same time.
    """
    document = asdict(service_chain_status.chain_status(folder))
    if as_json:
        print_json(document)
        return
    trucks = document.pop("trucks")
    for name, value in document.items():
        click.echo(f"{name.replace('_', ' ')}: {'' if value is None else value}")
    if trucks:
        click.echo()
        print_table(list(trucks[0]), [list(truck.values()) for truck in trucks])

"""``voile share chain``: the contract that reports go to, and who may publish by it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from voile.cli.show import as_json as json_option
from voile.cli.show import print_json, print_table, say, telling_what_is_done
from voile.errors import InputError

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
    from voile.sharing.platform.key_file import new_key  # noqa: PLC0415
    from voile.sharing.service.folder import Configuration  # noqa: PLC0415
    from voile.sharing.service.on_chain import KEY, operator_of  # noqa: PLC0415

    Configuration.read(folder)
    if not (folder / KEY).exists():
        new_key(folder / KEY, "account")
    address = str(operator_of(folder).address)
    with telling_what_is_done(f"the account stands in {folder / KEY}"):
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
    from voile.sharing.chain import address_of, connect  # noqa: PLC0415
    from voile.sharing.chain import deploy as make  # noqa: PLC0415
    from voile.sharing.service.chain_options import (  # noqa: PLC0415
        ChainOptions,
        write_deployment,
    )
    from voile.sharing.service.folder import CONFIGURATION, Configuration  # noqa: PLC0415
    from voile.sharing.service.on_chain import operator_of  # noqa: PLC0415

    options = Configuration.read(folder).chain
    if options is None:
        if url is None:
            msg = "name the node by --url, such as --url http://127.0.0.1:8545"
            raise InputError(msg)
        options = ChainOptions(url=url)
    elif url not in {None, options.url}:
        msg = f"share.toml names another node: change url in [chain], or leave --url out ({folder})"
        raise InputError(msg)
    if options.contract:
        msg = f"{folder}: share.toml names a contract already; take it out to make another"
        raise InputError(msg)
    if options.is_embedded:
        msg = "an embedded chain makes its contract by itself when the service begins"
        raise InputError(msg)
    operator, node = operator_of(folder), connect(options.url)
    if not node.balance(address_of(operator)):
        msg = (
            f"the account {operator.address} has no money on chain {node.identity()}: send it some "
            "first"
        )
        raise InputError(msg)
    made = make(node, operator, options.terms)
    with telling_what_is_done(f"the contract is 0x{made.address.hex()}, of block {made.block}"):
        write_deployment(folder / CONFIGURATION, options.url, made)
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
    from voile.sharing.chain import address_of  # noqa: PLC0415
    from voile.sharing.service.chain_status import side_in  # noqa: PLC0415

    side = side_in(folder)
    company = address_of(address or side.operator)
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
    from voile.sharing.service.chain_status import chain_status  # noqa: PLC0415

    document = asdict(chain_status(folder))
    if as_json:
        print_json(document)
        return
    trucks = document.pop("trucks")
    for name, value in document.items():
        click.echo(f"{name.replace('_', ' ')}: {'' if value is None else value}")
    if trucks:
        click.echo()
        print_table(list(trucks[0]), [list(truck.values()) for truck in trucks])

"""``voile share carrier``: the company that carries parcels says where they are.

``voile share arrivals``: what a company's past tours teach, and how well it held on them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say, telling_what_is_done

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from voile_share import carrier as share_carrier
    from voile_share import parties, protocol
    from voile_share import truck as share_truck
    from voile_share.arrival import LeftOut
    from voile_share.carrier import CarrierFolder
    from voile_share.protocol import primitives as protocol_primitives
    from voile_share.service import folder as service_folder
else:
    parties = on_demand("voile_share.parties")
    share_carrier = on_demand("voile_share.carrier")
    protocol = on_demand("voile_share.protocol")
    protocol_primitives = on_demand("voile_share.protocol.primitives")
    service_folder = on_demand("voile_share.service.folder")
    share_truck = on_demand("voile_share.truck")

__all__: list[str] = []


@click.command("arrivals", short_help="what a company's past tours teach, and how well that held")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("company_number", metavar="COMPANY")
@json_option
def _arrivals(folder: Path, company_number: str, *, as_json: bool) -> None:
    """Show from how many tours arrivals of COMPANY are told, and how often they held.

    Each tour is left out in turn and forecast from all the others, nominally for 9 of 10 arrivals.
    What is printed tells of the company's tours: it is private.
    """
    platform = service_folder.open_platform(folder, service_folder.Configuration.read(folder))
    try:
        found = [one.company for one in platform.companies()]
        found = [one for one in found if one.company == company_number]
        if not found:
            msg = f"there is no company {company_number}: see voile share list {folder}"
            raise InputError(msg)
        kept, tried = platform.arrivals(found[0]), platform.tried_arrivals(found[0])
    finally:
        platform.close()
    if as_json:
        names = ("tours", "forecasts", "figures", "held", "coverage")
        left_out = {name: getattr(tried, name) for name in names}
        shown = {"drives": kept.drives, "tours": kept.tours, "published": kept.published}
        print_json({**shown, "left_out": left_out})
        return
    say(f"{kept.drives} past drives, {kept.tours} tours that are over")
    if kept.published:
        say("links are given the table that the company has fitted itself")
    say(_coverage_text(tried))


def _coverage_text(tried: LeftOut) -> str:
    """How often intervals held on tours that were left out, in a sentence."""
    if tried.coverage is None:
        return "no coverage: it takes 4 tours that are over to leave one out"
    return (
        f"each of {tried.tours} tours left out: {tried.held} of {tried.figures} arrivals with a "
        f"figure held ({100 * tried.coverage:.0f} %, nominally 90 %); a figure for "
        f"{tried.figures} of {tried.forecasts} forecasts"
    )


_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_PARCEL = click.argument("parcel")
_MOST_TOKEN = 1_000
_MOST_CONSIGNMENT = 1_000_000
_MOST_HISTORY = 50_000_000
_STAGES = {
    "awaited": "not loaded yet",
    "aboard": "on a truck",
    "depot": "in a depot",
    "delivered": "delivered",
    "returned": "returned",
}


@click.group("carrier", short_help="Say on which truck a parcel is, in which depot, or delivered.")
def _carrier_command() -> None:
    """Say where parcels are that go by several trucks.

    A carrier lives in a FOLDER of the company's own machine, which `init` makes. Its key stands in
    the links of customers and vouches for trucks, so keep FOLDER from the platform. What readers
    are told is sealed for them: the platform sees which truck a link shows, and no more.
    """


@_carrier_command.command("init", short_help="set a carrier up in a new folder")
@_FOLDER
@click.option("--platform", required=True, metavar="ADDRESS", help="https://HOST of the service.")
@json_option
def _init_command(folder: Path, platform: str, *, as_json: bool) -> None:
    """Draw the carrier's key into FOLDER, and print its public half, which parties consign to.

    The company's token is read from standard input, since other users see the arguments of
    commands.
    """
    share_truck.check_address(platform)
    token = sys.stdin.readline(_MOST_TOKEN).strip()
    if not token.isalnum():
        msg = "give the company's token on standard input: voile share company SERVICE NAME"
        raise InputError(msg)
    key = share_carrier.new_carrier(folder, platform, token)
    with telling_what_is_done(f"the carrier stands in {folder}"):
        _show_key(key, as_json=as_json)
        say(f"{folder}: whoever holds it can vouch for trucks; keep it from the platform")


@_carrier_command.command("show", short_help="print the carrier's public key again")
@_FOLDER
@json_option
def _show_command(folder: Path, *, as_json: bool) -> None:
    """Print the public key of the carrier of FOLDER, as `init` did."""
    with _opened(folder) as carrier:
        _show_key(carrier.carrier.verifying, as_json=as_json)


def _show_key(key: bytes, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "carrier": protocol_primitives.to_base64url(key),
                "number": protocol.carrier_number(key).hex(),
            }
        )
    else:
        click.echo(protocol_primitives.to_base64url(key))


@_carrier_command.command("pin", short_help="believe a truck's card, as the company has it")
@_FOLDER
@click.argument("card")
@click.option(
    "--keys-at-platform",
    is_flag=True,
    help="The platform holds the truck's keys: CARD is that of POST /api/v1/trucks.",
)
def _pin_command(folder: Path, card: str, *, keys_at_platform: bool) -> None:
    """Believe CARD, which `voile share truck init` printed, of a truck that holds its keys.

    The carrier vouches for pinned trucks alone, and refuses a platform that shows another card of
    one, or says that somebody else holds its keys.
    """
    with _opened(folder) as carrier:
        decoded = parties.card_in(card)
        carrier.pin(decoded, own_keys=not keys_at_platform)
    say(f"truck {decoded.truck.hex()}: pinned")


@_carrier_command.command("take", short_help="take a parcel on, and open its links")
@_FOLDER
@click.argument("consignment", type=click.File("r"))
@click.option("--hours", type=click.FloatRange(1, 744), default=336, show_default=True)
@click.option("--label", default="", help="How operators find its links.")
@click.option("--destination", metavar="LAT,LON", help="Shown to its readers; sealed elsewhere.")
@json_option
def _take_command(
    folder: Path, consignment: TextIO, hours: float, label: str,
    destination: str | None, *, as_json: bool,
) -> None:  # fmt: skip
    """Take on the parcel of CONSIGNMENT, a file of `voile share party consign` (- reads input).

    Prints the addresses of its two links, without their keys: each party puts its own behind the
    dot by `voile share party open`. They live through all trucks and depots.
    """
    with _opened(folder) as carrier:
        consigned = parties.Consignment.decode(consignment.read(_MOST_CONSIGNMENT))
        place = None if destination is None else _place(destination)
        links = carrier.take(consigned, hours, label, place)
    with telling_what_is_done("the parcel was taken on"):
        if as_json:
            print_json({role.name.lower(): address for role, address in links.items()})
        else:
            for role, address in links.items():
                click.echo(f"{role.name.lower():<8} {address}")


@_carrier_command.command("load", short_help="say that a parcel is on a truck now")
@_FOLDER
@_PARCEL
@click.option("--truck", required=True, metavar="NUMBER", help="Hexadecimal, as the API calls it.")
@click.option("--stops", type=click.IntRange(0, 254), help="Stops left before the parcel's.")
@click.option(
    "--trust-platform",
    is_flag=True,
    help="Pin the card that the platform shows, which could be its own: then it can forge.",
)
def _load_command(
    folder: Path, parcel: str, truck: str, stops: int | None, *, trust_platform: bool
) -> None:
    """Say that PARCEL is on the truck now, on whichever it was before.

    The truck's card must have been pinned (`voile share carrier pin`).

    Again with other --stops says how many stops are left before it. A truck that holds its keys
    must have it on board, too: `voile share truck load --carrier`.
    """
    try:
        number = bytes.fromhex(truck)
    except ValueError:
        msg = "--truck must be the truck's number, in hexadecimal"
        raise InputError(msg) from None
    with _opened(folder) as carrier:
        carrier.load(_octets(parcel), number, stops, trust_platform=trust_platform)
    say("its readers see this truck now")


@_carrier_command.command("depot", short_help="say that a parcel is in a depot")
@_FOLDER
@_PARCEL
@click.option("--name", default="", help="What its readers are told; without it no name.")
def _depot_command(folder: Path, parcel: str, name: str) -> None:
    """Say that PARCEL is in a depot, off every truck."""
    _unload(folder, parcel, "DEPOT", name)


@_carrier_command.command("deliver", short_help="say that a parcel was delivered")
@_FOLDER
@_PARCEL
def _deliver_command(folder: Path, parcel: str) -> None:
    """Say that PARCEL was delivered now; times of arrival are learnt from that."""
    _unload(folder, parcel, "DELIVERED")


@_carrier_command.command("return", short_help="say that a parcel goes back to its sender")
@_FOLDER
@_PARCEL
def _return_command(folder: Path, parcel: str) -> None:
    """Say that PARCEL goes back to its sender, or is there."""
    _unload(folder, parcel, "RETURNED")


@_carrier_command.command("await", short_help="say that a parcel is not loaded yet")
@_FOLDER
@_PARCEL
def _await_command(folder: Path, parcel: str) -> None:
    """Say that PARCEL is on no truck yet, such as after a mistake."""
    _unload(folder, parcel, "AWAITED")


def _unload(folder: Path, parcel: str, stage: str, name: str = "") -> None:
    with _opened(folder) as carrier:
        carrier.unload(_octets(parcel), protocol.Stage[stage], name)
    say(f"its readers are told: {_STAGES[stage.lower()]}")


@_carrier_command.command("list", short_help="show parcels, and where they are")
@_FOLDER
@click.option("--search", default="", help="Of those whose number or label holds these words.")
@json_option
def _list_command(folder: Path, search: str, *, as_json: bool) -> None:
    """Show the parcels of the carrier of FOLDER: where each is, and the ids of its links."""
    with _opened(folder) as carrier:
        rows = [
            {
                "parcel": one.consignment.parcel.decode("utf-8", "replace"),
                "label": one.label,
                "stage": one.at.stage.name.lower(),
                "truck": None if one.at.truck is None else one.at.truck.hex(),
                "depot": one.at.depot or None,
                "links": {role.name.lower(): link for role, link in one.links.items()},
            }
            for one in carrier.parcels()
        ]
    wanted = search.casefold()
    found = [row for row in rows if wanted in f"{row['parcel']} {row['label']}".casefold()]
    if as_json:
        print_json({"parcels": found})
        return
    names = ("parcel", "label", "stage", "truck", "depot")
    print_table(names, [[row[name] for name in names] for row in found])


@_carrier_command.command("arrivals", short_help="fit times of arrival at home, and publish them")
@_FOLDER
@click.argument("histories", nargs=-1, type=click.File("r"))
@click.option("--forget", is_flag=True, help="Forget all at the platform, instead.")
@json_option
def _arrivals_command(
    folder: Path, histories: tuple[TextIO, ...], *, forget: bool, as_json: bool
) -> None:
    """Fit when parcels arrive to HISTORIES, and give the table to the carrier's links.

    A history is what `voile share truck history` printed of a truck that holds its keys. The
    platform gets the table alone. Without HISTORIES it is shown what the platform has learnt of
    the trucks whose keys it holds.
    """
    with _opened(folder) as carrier:
        ask = carrier.carrier.platform.ask
        if forget:
            ask("DELETE", "/api/v1/arrivals")
            say("the platform has forgotten past drives, their key and the table")
            return
        if histories:
            texts = [one.read(_MOST_HISTORY) for one in histories]
            table, tried = share_carrier.fitted(texts, carrier.carrier.clock())
            say(_coverage_text(tried))
            ask("PUT", "/api/v1/arrivals", json=table.document())
        known = carrier.carrier.platform.read("GET", "/api/v1/arrivals", dict)
    if as_json:
        print_json(known)
        return
    table_ = known["table"]
    rests = 0 if table_ is None else table_["tours"]
    said = "fitted by the carrier" if known["published"] else "fitted by the platform"
    say(f"{known['drives']} past drives at the platform, {known['tours']} tours that are over")
    say(f"a table of {rests} tours, {said}" if table_ else "no table: fewer than 3 tours")


def _opened(folder: Path) -> AbstractContextManager[CarrierFolder]:
    return share_carrier.carrier_folder(folder)


def _octets(parcel: str) -> bytes:
    return parcel.encode("utf-8", "surrogateescape")


def _place(text: str) -> tuple[float, float]:
    """Degrees north and east of ``52.01,4.36``; raises ``InputError``."""
    try:
        north, east = (float(part) for part in text.split(","))
    except ValueError:
        north = east = float("nan")
    if not (abs(north) <= 90 and abs(east) <= 180):
        msg = "--destination must be degrees north and east, such as 52.0116,4.3571"
        raise InputError(msg)
    return north, east

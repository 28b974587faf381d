"""``voile share party``: the keys of a parcel's sender and receiver, and the links they open."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say, telling_what_is_done

if TYPE_CHECKING:
    import httpx2

    from voile_share import parties as share_parties
    from voile_share import protocol
    from voile_share.parties import Parties, PlatformClientError
    from voile_share.protocol import TruckCard
    from voile_share.protocol import primitives as protocol_primitives
else:
    httpx2 = on_demand("httpx2")
    share_parties = on_demand("voile_share.parties")
    protocol = on_demand("voile_share.protocol")
    protocol_primitives = on_demand("voile_share.protocol.primitives")

__all__: list[str] = []

_FILE = click.argument("file", type=click.Path(path_type=Path))
_FIRST = date(1970, 1, 1)
_MOST_ADDRESS = 10_000
_ADVICE = {
    "unexpected": "put the parcel on this truck first (PUT /api/v1/trucks/TRUCK/parcels/PARCEL)",
    "signature": "the parcel was put on the truck with other keys than those of this file",
    "disagreement": "for this parcel and day the truck has other keys than those of this file",
    "expired": "at the platform that day is over; look at --date, and at the clock of this machine",
}


@click.group("party", short_help="Hold the keys of a parcel's parties, and make their links.")
def _party_command() -> None:
    """Act for the sender and the receiver of a parcel, as a shop or a carrier does.

    `init` draws their keys into a FILE, `link` makes an address that shows the parcel. Whoever
    holds FILE can read the reports about its parcels: keep it from the platform and the company.
    Parties who trust nobody with both halves keep one each: see "Each party for itself" in
    docs/sharing-service.md.
    """


@_party_command.command("init", short_help="draw the keys of a sender and a receiver")
@_FILE
@json_option
def _init_command(file: Path, *, as_json: bool) -> None:
    """Draw the keys of a sender and a receiver into FILE, which must not be there yet.

    Prints the two public keys that the company puts on the waybill; with --json as the body of PUT
    /api/v1/trucks/TRUCK/parcels/PARCEL. Whoever holds FILE can read the parcel's reports. Draw a
    new one for each parcel: two parcels with one key are known to have one party.
    """
    parties = share_parties.Parties.draw()
    parties.save(file)
    with telling_what_is_done(f"the keys stand in {file}"):
        _show_signers(parties, as_json=as_json)
        say(f"{file}: whoever holds it can read the reports about its parcels")


@_party_command.command("show", short_help="print the public keys again")
@_FILE
@json_option
def _show_command(file: Path, *, as_json: bool) -> None:
    """Print the two public keys of FILE again, as `init` did."""
    _show_signers(_parties(file), as_json=as_json)


@_party_command.command("link", short_help="make an address that shows a parcel")
@_FILE
@click.option("--parcel", required=True, metavar="NUMBER", help="As the company calls it.")
@click.argument("address")
@click.option(
    "--date",
    "first",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="The first day that the address shows, as 2030-12-31, by UTC [default: today].",
)
@click.option(
    "--days",
    type=click.IntRange(1, 31),
    default=2,
    show_default=True,
    help="How many days it shows; 24 hours from now lie in two.",
)
@click.option(
    "--card",
    metavar="CARD",
    help="The truck's card, as its company gave it and not the platform: another one is refused.",
)
@click.option(
    "--trust-platform",
    is_flag=True,
    help="Take the card that the platform shows, which could be its own: then it can forge.",
)
@json_option
def _link_command(  # noqa: PLR0913 - one for each option
    file: Path,
    parcel: str,
    address: str,
    first: datetime | None,
    days: int,
    card: str | None,
    *,
    trust_platform: bool,
    as_json: bool,
) -> None:
    """Give the truck the keys of a parcel, and print the whole address for a browser.

    ADDRESS is what the company got for a link, https://HOST/t#NUMBER. with nothing behind its dot;
    - reads it from standard input, since other users see the arguments of commands. The parcel
    must be on the link's truck already. Whoever has the whole address reads the parcel's reports
    of these days while the link is open; it goes to the party and to nobody else.
    """
    if (card is None) is not trust_platform:
        msg = (
            "give the truck's card by --card, as its company has it (`card` of POST "
            "/api/v1/trucks, or of `voile share truck init`), or --trust-platform"
        )
        raise InputError(msg)
    parties = _parties(file)

    pinned = None if card is None else share_parties.card_in(card)
    today = datetime.now(UTC).date()
    begin = today if first is None else first.date()
    if begin < today:
        msg = f"--date {begin} is over (it is {today}, by UTC)"
        raise InputError(msg)
    last = _last_day(begin, days)
    opening = _opened(parties, parcel, address, begin, days, pinned)
    with telling_what_is_done("the truck was given the keys"):
        if as_json:
            print_json(
                {"address": opening, "parcel": parcel, "date": begin.isoformat(), "days": days}
            )
        else:
            click.echo(opening)
        say(f"it shows the parcel from {begin} to {last} (UTC) while its link is open; whoever")
        say("has it reads these reports")


@_party_command.command("consign", short_help="sign a parcel for all trucks of a carrier")
@_FILE
@click.option("--parcel", required=True, metavar="NUMBER", help="As the carrier calls it.")
@click.option("--carrier", required=True, metavar="KEY", help="As the carrier has published it.")
@click.option(
    "--days",
    type=click.IntRange(1, 31),
    default=14,
    show_default=True,
    help="For how many days from today, by UTC.",
)
def _consign_command(file: Path, parcel: str, carrier: str, days: int) -> None:
    """Print what the carrier needs to carry a parcel by any of its trucks, as JSON.

    Sender and receiver read by keys of their own. What is printed opens nothing; give it to the
    carrier (`voile share carrier take`) and to nobody else.
    """
    parties, key = _parties(file), _key(carrier)
    today = (datetime.now(UTC).date() - _FIRST).days
    consigned = parties.consign(key, parcel.encode("utf-8", "surrogateescape"), today, days)
    consigned.check()
    print_json(consigned.document())


@_party_command.command("open", short_help="make the address that follows a parcel")
@_FILE
@click.option("--parcel", required=True, metavar="NUMBER", help="As it was consigned.")
@click.option("--carrier", required=True, metavar="KEY", help="As it was consigned.")
@click.option("--role", type=click.Choice(["sender", "receiver"]), required=True)
@click.option(
    "--date",
    "first",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="The day on which it was consigned, by UTC [default: today].",
)
@click.option("--days", type=click.IntRange(1, 31), default=14, show_default=True)
@click.argument("address")
def _open_command(
    file: Path,
    parcel: str,
    carrier: str,
    role: str,
    first: datetime | None,
    days: int,
    address: str,
) -> None:
    """Put a reader's keys behind the dot of ADDRESS, and print the whole of it for a browser.

    ADDRESS is that of the sender's or the receiver's link as the carrier got it; - reads it from
    standard input. It follows the parcel on all trucks of the carrier. Whoever has it reads what
    the trucks report of the parcel; it goes to that reader and to nobody else.
    """
    parties, key = _parties(file), _key(carrier)

    text = sys.stdin.readline(_MOST_ADDRESS) if address == "-" else address
    given = share_parties.TrackingAddress.of(text)
    begin = (datetime.now(UTC).date() if first is None else first.date()) - _FIRST
    number = parcel.encode("utf-8", "surrogateescape")
    link = parties.party(protocol.Role[role.upper()]).parcel_link(key, number, begin.days, days)
    click.echo(given.opening(link))


def _key(text: str) -> bytes:
    """A carrier's key in base64url; raises ``InputError``."""
    try:
        key = protocol_primitives.from_base64url(text)
    except ValueError:
        key = b""
    protocol_primitives.check_verifying_key("--carrier: the carrier's key", key)
    return key


def _last_day(begin: date, days: int) -> date:
    """Raises ``InputError`` where the calendar ends before."""
    try:
        return begin + timedelta(days - 1)
    except OverflowError:
        msg = f"--date {begin} is too far ahead"
        raise InputError(msg) from None


def _opened(
    parties: Parties, parcel: str, address: str, begin: date, days: int, card: TruckCard | None
) -> str:
    """Submit the keys of both parties; the whole address."""
    if address == "-":
        address = sys.stdin.readline(_MOST_ADDRESS)
    given = share_parties.TrackingAddress.of(address)
    number, first_day = parcel.encode("utf-8", "surrogateescape"), (begin - _FIRST).days
    with httpx2.Client(base_url=given.platform, timeout=20) as client:
        try:
            platform = share_parties.PlatformClient(client, given.number)
            trusted = platform.card() if card is None else card
            link = parties.submit(platform, number, first_day, days, card=trusted)
        except share_parties.PlatformClientError as error:
            raise InputError(_told(given.platform, error)) from None
    return given.opening(link)


def _told(platform: str, error: PlatformClientError) -> str:
    advice = _ADVICE.get(error.reason)
    return f"{platform}: {error}" + (f": {advice}" if advice else "")


def _show_signers(parties: Parties, *, as_json: bool) -> None:
    sender, receiver = map(protocol_primitives.to_base64url, parties.signers)
    if as_json:
        print_json({"sender": sender, "receiver": receiver})
    else:
        click.echo(f"sender   {sender}\nreceiver {receiver}")


def _parties(file: Path) -> share_parties.Parties:
    """Those of a file; raises ``InputError``."""
    return share_parties.Parties.open(file)

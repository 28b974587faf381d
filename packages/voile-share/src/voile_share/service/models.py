"""What is asked and answered in JSON.

Numbers of trucks are 32 hexadecimal digits; keys, cards and messages are base64url without padding.
Fields that are not known are refused: a misspelt one would be left out silently.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from voile_base.values import Json
from voile_share.protocol.primitives import from_base64url

__all__ = [
    "ArrivalsKnown",
    "Base64",
    "Card",
    "DeviceList",
    "Hook",
    "HookCode",
    "HookList",
    "KnownDevice",
    "KnownHook",
    "KnownLink",
    "KnownParcel",
    "KnownTruck",
    "LastReport",
    "Link",
    "LinkList",
    "LinkToMove",
    "LinkToRevoke",
    "LinkWanted",
    "MailBox",
    "MailItem",
    "NewDevice",
    "NewHook",
    "NewParcel",
    "NewTruck",
    "OpenedDevice",
    "OpenedTruck",
    "ParcelList",
    "Place",
    "Published",
    "Records",
    "Spending",
    "TruckList",
    "decoded",
]

_KEY = "CyU6_QzUuwmfgMUpHsyXVlQz9Rm1HTfzS4VVyqj1d2Q"
_TRUCK = "9f86d081884c7d659a2feaa0c55ad015"
_TOKEN = "mfrggzdfmztwq2lknnwg23tpobyxe43u"  # noqa: S105 - an example
_NOW = 1_790_000_000

Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]*$", max_length=1_000)]
"""Base64url without padding."""
Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{43}$", examples=[_KEY])]
"""32 bytes, an Ed25519 key."""
TruckNumber = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", examples=[_TRUCK])]
Token = Annotated[
    str, Field(description="Shown this once; kept as a hash only.", examples=[_TOKEN])
]
LinkIdentity = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{16}$",
        description="By which its company names it; it opens nothing.",
        examples=["a3f1c09b5d7e2468"],
    ),
]


def decoded(text: str) -> bytes:
    """The octets of a text that is ``Base64``; one of impossible length has none."""
    return b"" if len(text) % 4 == 1 else from_base64url(text)


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class NewTruck(_Asked):
    """A truck to register."""

    card: Base64 | None = Field(
        None,
        description="Of a truck that publishes by itself: its card (`TruckCard`). Without it the "
        "platform draws its keys and encrypts for it.",
    )


class OpenedTruck(BaseModel):
    """A truck that was registered."""

    truck: TruckNumber
    card: Base64
    token: Token | None = Field(None, description="To publish with; where a card was given.")


class LastReport(BaseModel):
    """How far the reports of a truck have come."""

    slot: int | None = Field(description="That of its last report; null where there is none.")


class Spending(BaseModel):
    """What the reports of a truck have cost on the present day (UTC)."""

    spent: float | None = Field(
        description="Epsilon of the day's reports together; null: unbounded (angle-selection)."
    )
    budget: float | None = Field(description="The most epsilon of a day; null: no bound.")
    delta: float = Field(description="At which epsilon is meant.")
    distance: float = Field(description="Metres between the trajectories it is about.")


class KnownTruck(BaseModel):
    """A truck."""

    truck: TruckNumber
    card: Base64
    own_keys: bool = Field(description="Whether it publishes by itself.")
    retired: float | None = Field(description="Since when; seconds since 1970.")


class TruckList(BaseModel):
    """Trucks, in the order in which they were registered."""

    trucks: list[KnownTruck]


class NewDevice(_Asked):
    """A tracker to admit."""

    device: str = Field(
        min_length=1,
        max_length=128,
        description="The name that it gives itself; of OwnTracks USER/DEVICE.",
        examples=["truck-7"],
    )
    days: float | None = Field(
        None,
        gt=0,
        le=3_660,
        allow_inf_nan=False,
        description="After which its token is refused; never where left out.",
    )


class OpenedDevice(BaseModel):
    """The token of a tracker."""

    token: Token


class KnownDevice(BaseModel):
    """A token of a tracker, without the token."""

    device: str
    issued: float = Field(examples=[_NOW])
    expires: float | None
    revoked: float | None


class DeviceList(BaseModel):
    """Tokens of a truck's trackers, in the order of issue."""

    devices: list[KnownDevice]


class Place(_Asked):
    """A place on Earth, WGS 84, in degrees."""

    latitude: float = Field(ge=-90, le=90, allow_inf_nan=False, examples=[52.0116])
    longitude: float = Field(ge=-180, le=180, allow_inf_nan=False, examples=[4.3571])


class NewParcel(_Asked):
    """Who may submit keys for a parcel, and where it goes."""

    sender: Key
    receiver: Key
    destination: Place | None = Field(
        None, description="Without it parties see the far position alone. It is kept sealed."
    )
    carrier: TruckNumber | None = Field(
        None,
        description="The number of the carrier for any of whose trucks its parties have signed "
        "(`protocol.carrier_number`); without it they sign for this truck.",
    )


class KnownParcel(BaseModel):
    """A parcel that a truck carries."""

    parcel: str
    sender: Key
    receiver: Key
    has_destination: bool
    created: float


class ParcelList(BaseModel):
    """Parcels that are not ended."""

    parcels: list[KnownParcel]


class LinkWanted(_Asked):
    """How long a link is to be open."""

    hours: float = Field(
        ge=1 / 60,
        le=744,
        allow_inf_nan=False,
        description="From a minute to 31 days.",
        examples=[24],
    )
    label: str = Field(
        "", max_length=200, description="How the company calls it; kept sealed.", examples=["4711"]
    )


class ArrivalsKnown(BaseModel):
    """What a company's past drives have taught."""

    drives: int = Field(description="That are over and are kept here.")
    tours: int = Field(description="Of these drives that are over: a truck and its day.")
    published: bool = Field(description="Whether the table is one that the company has fitted.")
    table: Json | None = Field(description="What its links are given; null: nothing.")


class LinkToMove(_Asked):
    """Where a link that follows a parcel leads now."""

    id: LinkIdentity
    truck: TruckNumber | None = Field(description="Whose reports it shows; null: on no truck.")
    notice: Base64 = Field(
        description="What the carrier says to the reader: a `SealedNotice`. The platform does not "
        "read it."
    )


class Link(BaseModel):
    """A link to the reports of one truck, or of the truck that carries a parcel."""

    link: Token
    id: LinkIdentity
    expires: float = Field(description="Seconds since 1970.", examples=[_NOW + 86_400])
    address: str = Field(
        description="Append the fragment that holds the keys (`protocol.Link.fragment()`), which "
        "the platform never sees.",
        examples=[f"https://share.example.org/t#{_TOKEN}."],
    )


class KnownLink(BaseModel):
    """A link, without its number."""

    id: LinkIdentity
    created: float = Field(examples=[_NOW])
    expires: float = Field(examples=[_NOW + 86_400])
    revoked: float | None
    label: str = Field("", description="How the company calls it.")
    follows_parcel: bool = Field(False, description="Whether it goes on to other trucks.")
    truck: TruckNumber | None = Field(None, description="Whose reports it shows now.")


class LinkList(BaseModel):
    """Links that have not expired, in the order in which they were opened."""

    links: list[KnownLink]


class LinkToRevoke(_Asked):
    """A link to close: its number, in the body since addresses get into logs, or its id."""

    link: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="Its number; without it say its id.",
        examples=[_TOKEN],
    )
    id: LinkIdentity | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.link is None) == (self.id is None):
            kind, what = "one_of_both", "Input should have either link or id"
            raise PydanticCustomError(kind, what)
        return self


class Card(BaseModel):
    """The card of a link's truck: whom to seal a submission for."""

    card: Base64


class Published(BaseModel):
    """What became of a report."""

    outcome: str = Field(
        description="`new`; `known`: the same report was there already.", examples=["new"]
    )


class MailItem(BaseModel):
    """A submission to a truck."""

    number: int = Field(description="Ascending; ask for what is after the last one.")
    message: str = Field(description="`SealedSubmission`, base64url.")


class MailBox(BaseModel):
    """Submissions, oldest first; ask again after the last number until there is none."""

    mail: list[MailItem]


class Records(BaseModel):
    """Records of a truck, from a number on; ask again from the next until there is none."""

    card: Base64
    records: list[str] = Field(description="`protocol.Record`, 155 bytes each, base64url.")


class NewHook(_Asked):
    """Where a company is to be told."""

    kind: Annotated[Literal["web", "mail"], Field(examples=["web"])]
    address: Annotated[
        str, Field(min_length=3, max_length=500, examples=["https://example.org/told"])
    ]


class Hook(BaseModel):
    """A hook that was made."""

    hook: str
    secret: Annotated[str | None, Field(description="By which requests are signed; none of mail.")]


class HookCode(_Asked):
    """That an address of mail wants to be told."""

    code: Annotated[str, Field(min_length=1, max_length=64, examples=["mfrggzdf"])]


class KnownHook(BaseModel):
    """A hook without what is private of it."""

    hook: str
    kind: str
    created: float
    confirmed: bool = Field(description="Of mail: whether its code was named; else true.")


class HookList(BaseModel):
    """Those of a company."""

    hooks: list[KnownHook]

"""Sender and receiver of a parcel as programs: agree on keys, tell the truck, make the address.

What a web shop's or a carrier's program does for both of them (``Parties``), or each party's for
itself (``Party``): keys stay here, the platform sees sealed submissions, and the fragment of the
address that is made goes to nobody but the party.

And the company that carries a parcel by several trucks: ``carrier``, ``carrier_folder``; what both
hand to it is a ``consignment``.
"""

from voile_share.parties.client import PlatformClient, PlatformClientError, TrackingAddress
from voile_share.parties.party import Consignment, Offer, Parties, Party

__all__ = [
    "Consignment",
    "Offer",
    "Parties",
    "Party",
    "PlatformClient",
    "PlatformClientError",
    "TrackingAddress",
]

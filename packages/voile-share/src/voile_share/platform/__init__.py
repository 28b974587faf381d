"""The central platform without its sockets: who may do what, and what becomes of positions.

    core                 what every part is given: settings, stores, the key, clock and tokens
    administration       trucks, devices, parcels, links: what companies and the operator do

    receiving            a position's way begins: which device has sent it, and what it says
    trucks               the truck in memory: its parcels, and from where it goes on
    writers              from a draft to signed reports, which process writes them, group commit
    arrivals             what past drives teach, sealed
    telling              what companies are told of their parcels
    publishing           the way as a whole

    rotation             another key for what is sealed
    platform             what readers and auditors are shown, and all of it behind one face

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
sections 3 and 6, the centralized platform.
"""

from voile_share.platform.administration import LabelledLink, Registrar
from voile_share.platform.core import REFUSALS, AccessError, BusyError, Settings, Vault
from voile_share.platform.platform import Platform
from voile_share.platform.receiving import DeviceReceipt
from voile_share.platform.writers import SlotOutcome

__all__ = [
    "REFUSALS",
    "AccessError",
    "BusyError",
    "DeviceReceipt",
    "LabelledLink",
    "Platform",
    "Registrar",
    "Settings",
    "SlotOutcome",
    "Vault",
]

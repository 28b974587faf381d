"""The central platform without its sockets: who may do what, and what becomes of positions.

    settings, vault      terms of the operator; the key that seals secrets
    key_file             keys in files
    access, core         why a caller may not; stores, clock, and what tokens and links open
    registrar            where trucks must be known before they publish
    operating            companies and auditors: what the operator does
    administration       trucks, devices, parcels: what companies do
    links                their links, to trucks and to parcels, with labels

    fair_queue           a position's way begins: of each company in turn
    receiving, files     which device has sent it, and what it says
    trucks               the truck in memory: its parcels, and from where it goes on
    writing, writers     from a draft to signed reports: a pure function, and which process calls it
    storing              group commit
    own_reports          what is looked at where a truck writes its reports itself
    submitting           what parties send to trucks
    owing                answers that are owed
    tours                past drives as they are kept, and the tours that they are of
    arrivals             what past drives teach, sealed
    telling              what companies are told of their parcels
    rotation             another key for what is sealed
    publishing           the way as a whole
    troubles             why a truck publishes nothing, and what helps

    platform             what readers and auditors are shown, and all of it behind one face

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
sections 3 and 6, the centralized platform.
"""

from voile_share.platform.administration import Registrar
from voile_share.platform.core import REFUSALS, AccessError, BusyError
from voile_share.platform.links import LabelledLink
from voile_share.platform.platform import Platform
from voile_share.platform.receiving import DeviceReceipt
from voile_share.platform.settings import Settings
from voile_share.platform.vault import Vault
from voile_share.platform.writing import SlotOutcome

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

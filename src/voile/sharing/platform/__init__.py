"""The central platform without its sockets: who may do what, and what becomes of positions.

    settings, vault      terms of the operator; the key that seals secrets
    key_file             keys in files
    registrar            where trucks must be known before they publish
    access, ground       why a caller may not; stores, clock, and the doors of tokens and links
    operating            companies and auditors: what the operator does
    administration       trucks, devices, parcels, links: what companies do
    admission, messages  which device may send, and what it says
    own_reports          reports of trucks that hold their keys
    underway, lanes      a truck in memory: its parcels, from where it goes on; one at a time
    writing, writers     from a draft to signed reports: a pure function, and who calls it
    workers, committing  a few threads; group commit
    publishing           what devices, trucks and parties send
    reading              what readers and auditors are shown
    platform             all of it behind one face

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
sections 3 and 6, the centralized platform.
"""

from voile.sharing.platform.access import REFUSALS, AccessError, BusyError
from voile.sharing.platform.messages import Receipt
from voile.sharing.platform.platform import Platform
from voile.sharing.platform.registrar import Registrar
from voile.sharing.platform.settings import Settings
from voile.sharing.platform.vault import Vault
from voile.sharing.platform.writing import Outcome

__all__ = [
    "REFUSALS",
    "AccessError",
    "BusyError",
    "Outcome",
    "Platform",
    "Receipt",
    "Registrar",
    "Settings",
    "Vault",
]

"""A truck that perturbs and encrypts by itself: the platform sees ciphertext alone.

    own           the truck's keys, parcels and reports, in a folder on its device
    forwarding    to and from the platform

It is a platform of one truck: the same parts do the same work, and what they store is forwarded.
"""

from voile_share.truck.own import OwnTruck

__all__ = ["OwnTruck"]

"""A demonstration on one machine: a town that never was, trucks that drive through it.

town       roads and drives, made up and always the same
running    a service, trucks that send, parties that follow
"""

from voile_share.demo.town import Drive, Town

__all__ = ["Drive", "Town"]

"""A method of another package in Studio."""

from __future__ import annotations

from voile_studio.words import method_cards
from voile_tests.installed import others_installed


def test_studio_offers_it() -> None:
    """With the card that its class carries, behind our own; not where it is not installed."""
    own = method_cards()
    with others_installed():
        assert [card.name for card in method_cards()[len(own) :]] == ["neighbour-means"]

"""The page as the real service sends it, over the real feed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from share_tests.page.conftest import PATIENCE, Viewer
from voile_share.demo import Demonstration, Pace, Town

MOVED = "(before) => document.getElementById('about-place').textContent !== before"


@pytest.mark.slow
def test_a_demonstration_is_followed_in_a_browser(
    viewers: Callable[..., Viewer], tmp_path: Path
) -> None:
    """Both parties see their van move, whoever holds its keys, and nothing goes amiss."""
    town = Town()
    # No faster than they drove: they are under way for a quarter of an hour, or the test's time.
    drives = town.drives(2)
    road_map = town.streets.compact(attribution="A town that never was").encoded
    with Demonstration(tmp_path / "demo", drives, road_map, Pace(1, 1.0)) as running:
        followers = []
        for one in running.addresses:
            follower = viewers()
            follower.page.goto(one.address)
            followers.append(follower)
        for follower, one in zip(followers, running.addresses, strict=True):
            follower.says("attribution", "A town that never was")
            follower.says("about-place", "The dot is at")
            place = follower.text("about-place")
            follower.page.wait_for_function(MOVED, arg=place, timeout=PATIENCE)
            origins = {urlsplit(address).netloc for address in follower.asked}
            assert origins == {urlsplit(one.address).netloc}
        assert not running.troubles

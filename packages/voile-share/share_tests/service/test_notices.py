"""What the operator is told."""

from __future__ import annotations

import pytest

from voile_share.service.problems import Notices


def test_the_same_is_told_once_a_minute():
    """A sentence comes again after a minute, another one at once."""
    told, times = [], iter([0.0, 30.0, 31.0, 61.0])
    notices = Notices(told.append, lambda: next(times))
    for sentence in ("full", "full", "away", "full"):
        notices.say(sentence)
    assert told == ["full", "away", "full"]


@pytest.mark.parametrize("trouble", [OSError(27, "File too large"), BrokenPipeError()])
def test_a_log_that_cannot_be_written_harms_nobody(trouble):
    """Whoever brings the news goes on, and the sentence is told as soon as that is possible."""
    told, troubles = [], [trouble]

    def tell(message: str) -> None:
        if troubles:
            raise troubles.pop()
        told.append(message)

    notices = Notices(tell, lambda: 0.0)
    notices.say("full")
    assert told == []
    notices.say("full")
    notices.say("full")
    assert told == ["full"]


def test_how_things_stand_is_told_each_time():
    """After a trouble that was told, its end is told, too, however often both come."""
    told = []
    notices = Notices(told.append, lambda: 0.0)
    for _ in range(2):
        notices.say("away")
        notices.news("connected")
    assert told == ["away", "connected", "connected"]

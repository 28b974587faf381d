"""Companies take turns: what one sends delays another by one piece of its work at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile_share.platform import BusyError
from voile_share.platform.publishing import _FairQueue


class Turned:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def queue(most: int = 1_000) -> _FairQueue[str]:
    return _FairQueue(patience=0.25, most=most, clock=Turned())


def test_one_piece_of_each_company_is_taken_in_turn():
    """However much a company has sent, the first piece of another comes next but one."""
    waiting = queue()
    for number in range(50):
        waiting.put("loud", f"loud {number}")
    waiting.put("quiet", "quiet")
    assert waiting.take(2) == ["loud 0", "quiet"]
    assert waiting.take(2) == ["loud 1", "loud 2"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=60))
def test_nothing_is_lost_and_each_company_s_pieces_keep_their_order(sent):
    """Whatever is put comes out once, in the order of its company."""
    waiting = queue()
    for company, number in sent:
        waiting.put(company, (company, number))
    came = []
    while len(came) < len(sent):
        came += waiting.take(7)
    for company in "abc":
        own = [one for one in sent if one[0] == company]
        assert [one for one in came if one[0] == company] == own


def test_the_rest_of_a_long_task_comes_before_what_was_sent_after_it():
    """What is put back keeps its place in its company's queue, and takes another turn."""
    waiting = queue()
    for piece in ("file", "later"):
        waiting.put("loud", piece)
    waiting.put("quiet", "position")
    assert waiting.take(1) == ["file"]
    waiting.put_back("loud", ["rest of file", "deferred"])
    assert waiting.take(4) == ["position", "rest of file", "deferred", "later"]


def test_a_full_queue_of_one_company_refuses_no_other():
    """Whoever has filled all that may wait is refused; a company that comes then is let in."""
    waiting = queue(most=10)
    for number in range(10):
        waiting.put("loud", f"{number}")
    with pytest.raises(BusyError):
        waiting.put("loud", "one more")
    for number in range(5):
        waiting.put("quiet", f"{number}")
    with pytest.raises(BusyError):
        waiting.put("quiet", "more than its half")


def test_what_would_wait_too_long_is_refused_at_once():
    """A queue whose head has waited for the patience takes no more; another company's does."""
    clock = Turned()
    waiting: _FairQueue[str] = _FairQueue(patience=0.25, most=1_000, clock=clock)
    waiting.put("loud", "first")
    clock.now += 0.3
    with pytest.raises(BusyError):
        waiting.put("loud", "second")
    waiting.put("quiet", "first")
    assert waiting.waited() == pytest.approx(0.3)
    waiting.take(2)
    waiting.put("loud", "second")
    assert waiting.waited() == 0


def test_whoever_takes_work_is_let_go_at_the_end():
    """What waits is handed out still; then there is nothing."""
    waiting = queue()
    waiting.put("loud", "last")
    waiting.end()
    assert waiting.take(5) == ["last"]
    assert waiting.take(5) == []

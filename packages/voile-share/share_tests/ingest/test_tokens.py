"""Who may send for which device."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile_base.randomness import Randomness
from voile_share.ingest.fixes import DeviceToken, IngestError, admit, issue, token_hash, token_in

NOW = 1_777_896_000.0


def refusal(
    token: str, found: DeviceToken | None, named: tuple[str, ...] = (), now: float = NOW
) -> str:
    """The words with which a token is refused."""
    with pytest.raises(IngestError) as caught:
        admit(token, found, named, now)
    assert caught.value.reason == "token-refused"
    assert caught.value.__context__ is None
    return str(caught.value)


def test_a_token_is_long_new_each_time_and_easy_to_type() -> None:
    """160 bits in 32 letters and digits; a thousand tokens of one device differ."""
    tokens = {issue("truck-7", NOW)[0] for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(re.fullmatch("[a-z2-7]{32}", token) for token in tokens)


def test_what_is_kept_does_not_hold_the_token() -> None:
    """Only its hash, which shows in no repr; the token is not among the fields."""
    token, kept = issue("truck-7", NOW)
    assert token not in repr(kept)
    assert kept.hash.hex() not in repr(kept)
    assert token.encode() not in b"".join(str(getattr(kept, f.name)).encode() for f in fields(kept))
    assert kept.hash == token_hash(token)
    assert len(kept.hash) == 32


def test_the_owner_is_let_in() -> None:
    """With its own name or none, with blanks, and with letters of either case."""
    token, kept = issue("truck-7", NOW)
    for typed in (token, f" {token.upper()}\n"):
        assert token_hash(typed) == kept.hash
        assert admit(typed, kept, (), NOW) == "truck-7"
        assert admit(typed, kept, {"truck-7"}, NOW) == "truck-7"


def test_everybody_else_is_refused_with_the_same_words() -> None:
    """Unknown, foreign, expired and revoked tokens, and names that are guessed."""
    token, kept = issue("truck-7", NOW, lifetime=60)
    other, foreign = issue("truck-8", NOW)
    words = {
        refusal(token, None),
        refusal("", None),
        refusal(other, kept),
        refusal(other, kept, ("truck-7",)),
        refusal(other, foreign, ("truck-7",)),
        refusal(token, kept, ("truck-7", "truck-8")),
        refusal(token, kept, ("",)),
        refusal(token, kept, now=NOW + 60),
        refusal(token, kept.revoked_at(NOW)),
        refusal("ü\ud800", kept),
    }
    assert len(words) == 1
    assert not any(secret in "".join(words) for secret in (token, other, "truck-7", "truck-8"))


def test_a_name_opens_nothing_without_the_token() -> None:
    """Nor does the hash that is kept, should a store be stolen."""
    _, kept = issue("truck-7", NOW)
    refusal("truck-7", kept, ("truck-7",))
    refusal(kept.hash.hex(), kept, ("truck-7",))
    # What stands for a token that is not found opens nothing either.
    refusal("", None, ("",))


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_token_ends_when_it_expires_or_is_revoked(lifetime: float, until: float) -> None:
    """Whichever comes first; from that moment on, and not a moment before."""
    _, kept = issue("truck-7", NOW, lifetime)
    ended = kept.revoked_at(NOW + until)
    end = NOW + min(lifetime, until)
    assert not ended.is_open(end)
    assert ended.is_open(end - 1)
    assert kept.is_open(NOW + lifetime - 1)
    assert ended.revoked_at(NOW) == ended
    assert replace(kept, expires=None).is_open(NOW + 1e9)


def test_a_demonstration_can_be_repeated() -> None:
    """The same root, device and time make the same token; any other makes another."""
    root = Randomness.seeded(7)
    token = issue("truck-7", NOW, randomness=root)
    assert token == issue("truck-7", NOW, randomness=Randomness.seeded(7))
    for other in (
        issue("truck-8", NOW, randomness=root),
        issue("truck-7", NOW + 1, randomness=root),
        issue("truck-7", NOW, randomness=Randomness.seeded(8)),
    ):
        assert other[0] != token[0]


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer  abc ", "abc"),
        ("Basic " + b64encode(b"truck-7:abc").decode(), "abc"),
        ("basic " + b64encode(b":a:c").decode(), "a:c"),
        ("Basic " + b64encode(b"truck-7:").decode(), None),
        ("Basic " + b64encode(b"abc").decode(), None),
        ("Basic " + b64encode(b"\xff:\xff").decode(), None),
        ("Basic !!!", None),
        ("Basic ü", None),
        ("Bearer", None),
        ("Digest abc", None),
        ("", None),
    ],
)
def test_the_token_stands_in_the_header(header: str, token: str | None) -> None:
    """As a bearer token, or as the password, which is where OwnTracks has it."""
    assert token_in(header) == token


@given(st.text())
def test_no_header_breaks_the_reader(header: str) -> None:
    """Whatever it holds, there is a token in it or none."""
    for text in (header, f"Basic {header}", f"Bearer {header}"):
        assert token_in(text) != ""

"""The platform as parties see it: addresses, what is refused, and what is waited for."""

from __future__ import annotations

import httpx2 as httpx
import pytest

from voile_base.errors import InputError
from voile_share.parties import PlatformClient, PlatformClientError, TrackingAddress

NUMBER = "abcdefghijklmnopqrstuvwxyz234567"


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        (f"https://share.example.org/t#{NUMBER}.", "https://share.example.org"),
        (f"  https://share.example.org:8443/t#{NUMBER}.\n", "https://share.example.org:8443"),
        (f"https://share.example.org/t#{NUMBER}", "https://share.example.org"),
        (f"http://127.0.0.1:8080/t#{NUMBER}.", "http://127.0.0.1:8080"),
        (f"http://[::1]:8080/t#{NUMBER}.", "http://[::1]:8080"),
        (f"http://localhost/t#{NUMBER}.", "http://localhost"),
    ],
)
def test_an_address_is_taken_apart(text, platform):
    """Blanks around it and a lost dot at its end do no harm."""
    address = TrackingAddress.of(text)
    assert (address.platform, address.number) == (platform, NUMBER)
    assert NUMBER not in repr(address)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no address of a link"),
        (NUMBER, "no address of a link"),
        ("https://share.example.org/t", "no address of a link"),
        ("https://share.example.org/t#.", "no address of a link"),
        (f"https://share.example.org/t#{NUMBER}x.", "no address of a link"),
        (f"https://share.example.org/t#{NUMBER[:-1]}ü.", "no address of a link"),
        (f"https://share.example.org/other#{NUMBER}.", "no address of a link"),
        (f"https://share.example.org/t?x=1#{NUMBER}.", "no address of a link"),
        (f"https://me@share.example.org/t#{NUMBER}.", "no address of a link"),
        (f"https:///t#{NUMBER}.", "no address of a link"),
        (f"https://[::/t#{NUMBER}.", "no address of a link"),
        (f"https://share.example.org:port/t#{NUMBER}.", "no address of a link"),
        (f"ftp://share.example.org/t#{NUMBER}.", "no address of a link"),
        (f"https://share.example.org/t#{NUMBER}.AQgB", "has its keys already"),
        (f"http://share.example.org/t#{NUMBER}.", "must have an address of https"),
        (f"http://10.0.0.7:8080/t#{NUMBER}.", "must have an address of https"),
    ],
)
def test_an_address_that_cannot_be_is_refused(text, said):
    """It is said what is wrong, and neither the number nor the keys are repeated."""
    with pytest.raises(InputError, match=said) as refused:
        TrackingAddress.of(text)
    assert NUMBER[:-1] not in str(refused.value)
    assert "AQgB" not in str(refused.value)


class Platform:
    """Answers what it is told to, one after another."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers, self.waited = list(answers), []
        client = httpx.Client(
            base_url="https://share.example.org", transport=httpx.MockTransport(self._answer)
        )
        self.client = PlatformClient(client, NUMBER, self.waited.append)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == f"Bearer {NUMBER}"
        assert NUMBER not in str(request.url)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def refusal(self) -> PlatformClientError:
        """Why the card is not given."""
        with pytest.raises(PlatformClientError) as refused:
            self.client.card()
        assert not self._answers
        assert NUMBER not in str(refused.value)
        return refused.value


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={}),
        httpx.Response(200, json={"card": 7}),
        httpx.Response(200, json={"card": "ü"}),
        httpx.Response(200, json={"card": "AQkA"}),
    ],
)
def test_whoever_else_answers_is_noticed(answer):
    """What is no card of a truck is said to come from no sharing service."""
    refusal = Platform(answer).refusal()
    assert (refusal.reason, str(refusal)) == (
        "",
        "what answers is no sharing service of Voile, or not of this version",
    )


@pytest.mark.parametrize(
    ("answer", "reason", "said"),
    [
        (httpx.Response(410, json={"reason": "link-expired", "detail": "D"}), "link-expired", "D"),
        (httpx.Response(410, json={"reason": "link-revoked", "title": "T"}), "link-revoked", "T"),
        (httpx.Response(404, json={"reason": "not-found"}), "not-found", "not-found"),
        (httpx.Response(404, json={"reason": "x", "detail": "\x1b[2J"}), "x", "status 404"),
        (httpx.Response(404, json=["reason"]), "", "status 404"),
        (httpx.Response(502, text="<html>"), "", "status 502"),
        (httpx.Response(301, headers={"location": "https://x.org"}), "", "status 301"),
        (httpx.Response(503), "", "status 503"),
        (httpx.Response(503, headers={"retry-after": "tomorrow"}), "", "status 503"),
    ],
)
def test_a_refusal_is_told_in_the_platforms_words(answer, reason, said):
    """A problem is told by its detail or its title, anything else by its status."""
    refusal = Platform(answer).refusal()
    assert (refusal.reason, str(refusal)) == (reason, f"the platform refuses: {said}")


def test_a_platform_that_is_away_is_named_so():
    """An error of the network is one of the input, and says which."""
    refusal = Platform(httpx.ConnectError("no")).refusal()
    assert str(refusal) == "the platform does not answer (ConnectError)"


def test_a_busy_platform_is_waited_for_but_not_for_ever():
    """As long as it asks for, at least a second at a time, and half a minute altogether."""
    busy = [
        httpx.Response(429, headers={"retry-after": seconds}, json={"reason": "too-many-requests"})
        for seconds in ("0", "20", "9", "1")
    ]
    platform = Platform(*busy)
    assert platform.refusal().reason == "too-many-requests"
    assert platform.waited == [1, 20, 9]

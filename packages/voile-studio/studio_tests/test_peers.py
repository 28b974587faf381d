"""A connection within this machine is known by the user at its other end."""

from __future__ import annotations

import os
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from studio_tests.browsing import studio
from voile_studio.guard import _owner_of, _stranger

NOBODY = 65534
CALL = """
exec 3<>"/dev/tcp/127.0.0.1/$1"
printf 'GET %s HTTP/1.0\\r\\nHost: 127.0.0.1:%s\\r\\n' "$2" "$1" >&3
printf 'X-Forwarded-For: 192.0.2.1\\r\\n\\r\\n' >&3
cat <&3
"""

linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not say")


@contextmanager
def connection() -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """The two ends of a connection of ours."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        held, _ = listener.accept()
        with held:
            yield client.getsockname(), client.getpeername()


@linux
def test_our_own_connection_is_ours():
    """By the table that the system keeps."""
    with connection() as (client, server):
        assert _owner_of(client, server) == os.geteuid()
        assert not _stranger(client, server)


@linux
def test_another_user_is_a_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whose socket the same table gives to another user."""
    table = tmp_path / "tcp"
    with connection() as (client, server):
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    mine = [fields for fields in lines if fields[7].isdigit()]
    for fields in mine:
        fields[7] = str(NOBODY)
    table.write_text("\n".join(" ".join(fields) for fields in [["head"] * 8, *mine]))
    assert _owner_of(client, server, table) == NOBODY
    monkeypatch.setattr(_owner_of, "__defaults__", (table,))
    assert _stranger(client, server)


@pytest.mark.parametrize(
    ("client", "server"),
    [
        (None, None),
        (("192.0.2.1", 5), ("192.0.2.2", 80)),
        (("testclient", 50000), ("127.0.0.1", 8123)),
        (("127.0.0.1", 1), ("127.0.0.1", 1)),
    ],
)
def test_who_cannot_be_known_is_no_stranger(client: object, server: object):
    """Tokens and cookies hold there as before."""
    assert not _stranger(client, server)  # type: ignore[arg-type]


@pytest.mark.slow
@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can call as another user")
def test_another_user_is_refused_even_with_the_address(tmp_path: Path):
    """Whatever it says of where it calls from; and the address still lets its owner in."""
    table = tmp_path / "people.csv"
    table.write_text("age\n30\n40\n")
    with studio(table) as address:
        home, _, path = address.partition("/enter")
        command = ["bash", "-c", CALL, "bash", home.rpartition(":")[2], f"/enter{path}"]
        said = subprocess.run(
            command, capture_output=True, text=True, check=True, user=NOBODY, cwd="/"
        ).stdout
        assert " 403 " in said.splitlines()[0]
        assert "for the user who started it" in said
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(home)

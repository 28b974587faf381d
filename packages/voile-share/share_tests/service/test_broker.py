"""The table [mqtt] of share.toml: what it may say, and what it must."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from voile_base.errors import InputError, PlanError
from voile_share.service.folder import Configuration, create
from voile_share.service.mqtt import Broker
from voile_share.service.serving import serve

COMPANY = "0123456789abcdef" * 2
LEAST = {"host": "broker.example.org", "companies": {"fleet": COMPANY}}


def read(**more) -> Broker:
    return Broker.from_document({**LEAST, **more}, Path("service"))


def test_little_must_be_said():
    """With a host and the companies, the rest is safe: TLS by the system's authorities."""
    broker = read()
    assert broker.where == ("broker.example.org", 8883)
    assert broker.name == "broker.example.org:8883"
    assert broker.tls_context().check_hostname
    assert (broker.topic, broker.version, broker.password()) == ("owntracks/+/+", "5", None)
    assert pickle.loads(pickle.dumps(broker)) == broker  # workers get it


def test_without_tls_is_said_explicitly():
    """Then it is the port without, and there is no context."""
    broker = read(host="::1", tls=False)
    assert (broker.where, broker.name) == (("::1", 1883), "[::1]:1883")
    assert broker.tls_context() is None


WRONG = {
    "no host": ({"host": ""}, "host of mqtt"),
    "no host of a network": ({"host": "a" * 64 + ".org"}, "host of mqtt"),
    "an address with a scheme": ({"host": "mqtts://broker.example.org"}, "host of mqtt"),
    "a port beyond": ({"port": 65_536}, "port of mqtt"),
    "TLS by halves": ({"tls": "yes"}, "tls must be true or false"),
    "a number for a text": ({"host": 1}, "host must be a text"),
    "another version": ({"version": "4"}, "version of mqtt"),
    "every topic": ({"topic": "#"}, "topic of mqtt"),
    "another root": ({"topic": "other/+/+"}, "topic of mqtt"),
    "deeper topics": ({"topic": "owntracks/+/+/event"}, "topic of mqtt"),
    "half a wildcard": ({"topic": "owntracks/fleet+/+"}, "topic of mqtt"),
    "no client": ({"client_id": ""}, "client_id of mqtt"),
    "a session for ever": ({"session_hours": 1e9}, "session_hours of mqtt"),
    "a password in the table": ({"password": "secret"}, "put it into a file"),
    "a password of nobody": ({"password_file": "mqtt.password"}, "no user"),
    "an unknown name": ({"hosts": "x"}, "did you mean 'host'"),
    "no companies": ({"companies": {}}, "whose users are whose"),
    "companies as a text": ({"companies": COMPANY}, "whose users are whose"),
    "a user of two levels": ({"companies": {"fleet/truck": COMPANY}}, "one level"),
    "every user": ({"companies": {"+": COMPANY}}, "one level"),
    "the name of a company": ({"companies": {"fleet": "Post of Delft"}}, "32 hexadecimal"),
    "a number for a company": ({"companies": {"fleet": 7}}, "32 hexadecimal"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(what):
    """Each mistake has a sentence of its own, which never holds a password."""
    more, sentence = WRONG[what]
    with pytest.raises(PlanError, match=sentence) as caught:
        read(**more)
    assert "secret" not in str(caught.value)


def test_passwords_are_the_owners_alone(tmp_path):
    """The first line of a file of mode 600; any other file is refused, and not quoted."""
    path = tmp_path / "mqtt.password"
    given = {**LEAST, "user": "voile-share", "password_file": "mqtt.password"}
    broker = Broker.from_document(given, tmp_path)
    with pytest.raises(InputError, match="No such file"):
        broker.password()
    path.write_text("its own word\n")
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600") as caught:
        broker.password()
    assert "its own word" not in str(caught.value)
    path.chmod(0o600)
    assert broker.password() == "its own word"
    path.write_bytes(b"\xff\n")
    with pytest.raises(InputError, match="not UTF-8"):
        broker.password()
    path.write_text("\n")
    with pytest.raises(InputError, match="first line"):
        broker.password()


@pytest.mark.parametrize("held", [None, "no certificate"])
def test_authorities_that_cannot_be_read(tmp_path, held):
    """A file that is missing or no PEM is named."""
    if held is not None:
        (tmp_path / "ca.pem").write_text(held)
    broker = Broker.from_document({**LEAST, "ca_file": "ca.pem"}, tmp_path)
    with pytest.raises(InputError, match=r"ca_file cannot be read from .*ca\.pem"):
        broker.tls_context()


def uncommented(template: str) -> str:
    """The template with the lines of its part [mqtt] in force."""
    before, _, after = template.partition("# [mqtt]\n")
    lines, _, rest = after.partition("\n\n")
    return before + "[mqtt]\n" + lines.replace("\n# ", "\n").removeprefix("# ") + "\n\n" + rest


def test_the_template_shows_what_may_be_said(tmp_path):
    """A new service has no broker; the lines that its share.toml shows are all there is to say."""
    folder = tmp_path / "service"
    create(folder)
    assert Configuration.read(folder).broker is None
    text = (folder / "share.toml").read_text("utf-8")
    (folder / "share.toml").write_text(uncommented(text))
    shown = Configuration.read(folder).broker
    assert shown == Broker(
        "broker.example.org",
        {"fleet": COMPANY},
        port=8883,
        ca_file="broker-ca.pem",
        user="voile-share",
        password_file="mqtt.password",
        folder=folder,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "service"
    create(made)
    lines = f'[mqtt]\nhost = "localhost"\ntls = false\n[mqtt.companies]\nfleet = "{COMPANY}"\n'
    (made / "share.toml").write_text(lines)
    return made


def test_the_library_is_an_extra(folder, monkeypatch):
    """Without it a service that has a broker does not start, and says what to install."""
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    with pytest.raises(InputError, match=r"pip install 'voile-share\[mqtt\]'"):
        serve(folder)


def test_a_service_does_not_start_without_what_it_needs(folder):
    """A missing password is said before anything listens."""
    text = (folder / "share.toml").read_text()
    named = text.replace("tls", 'user = "u"\npassword_file = "mqtt.password"\ntls')
    (folder / "share.toml").write_text(named)
    with pytest.raises(InputError, match=r"password of mqtt .* cannot be read"):
        serve(folder)

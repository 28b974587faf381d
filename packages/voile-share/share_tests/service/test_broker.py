"""The table [mqtt] of share.toml: what it may say, and what it must."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from voile_base.errors import InputError, PlanError
from voile_base.values.toml import toml_text
from voile_share.service.folder import Configuration, create
from voile_share.service.mqtt import Broker
from voile_share.service.serving import serve

COMPANY = "0123456789abcdef" * 2
LEAST = {"host": "broker.example.org", "companies": {"fleet": COMPANY}}


def read(folder: Path, **more) -> Broker:
    """The broker of a share.toml that says this."""
    (folder / "share.toml").write_text(toml_text({"mqtt": {**LEAST, **more}}))
    broker = Configuration.read(folder).broker
    assert broker is not None
    return broker


def test_little_must_be_said(tmp_path):
    """With a host and the companies, the rest is safe: TLS by the system's authorities."""
    broker = read(tmp_path)
    assert broker.where == ("broker.example.org", 8883)
    assert broker.name == "broker.example.org:8883"
    assert broker.tls_context().check_hostname
    assert (broker.topic, broker.version, broker.password()) == ("owntracks/+/+", "5", None)
    assert pickle.loads(pickle.dumps(broker)) == broker  # workers get it


def test_without_tls_is_said_explicitly(tmp_path):
    """Then it is the port without, and there is no context."""
    broker = read(tmp_path, host="::1", tls=False)
    assert (broker.where, broker.name) == (("::1", 1883), "[::1]:1883")
    assert broker.tls_context() is None


WRONG = {
    "no host": ({"host": ""}, r"\[mqtt\]:? host"),
    "no host of a network": ({"host": "a" * 64 + ".org"}, r"\[mqtt\]:? host"),
    "an address with a scheme": ({"host": "mqtts://broker.example.org"}, r"\[mqtt\]:? host"),
    "a port beyond": ({"port": 65_536}, r"\[mqtt\]:? port"),
    "TLS by halves": ({"tls": "yes"}, r"\[mqtt\] tls must be true or false"),
    "a number for a text": ({"host": 1}, r"\[mqtt\] host must be a text"),
    "another version": ({"version": "4"}, r"\[mqtt\]:? version"),
    "every topic": ({"topic": "#"}, r"\[mqtt\]:? topic"),
    "another root": ({"topic": "other/+/+"}, r"\[mqtt\]:? topic"),
    "deeper topics": ({"topic": "owntracks/+/+/event"}, r"\[mqtt\]:? topic"),
    "half a wildcard": ({"topic": "owntracks/fleet+/+"}, r"\[mqtt\]:? topic"),
    "no client": ({"client_id": ""}, r"\[mqtt\]:? client_id"),
    "a session for ever": ({"session_hours": 1e9}, r"\[mqtt\]:? session_hours"),
    "a password in the table": ({"password": "secret"}, "put it into a file"),
    "a password of nobody": ({"password_file": "mqtt.password"}, "no user"),
    "an unknown name": ({"hosts": "x"}, "did you mean 'host'"),
    "no companies": ({"companies": {}}, "whose users are whose"),
    "companies as a text": ({"companies": COMPANY}, r"\[mqtt\] companies must be a table"),
    "a user of two levels": ({"companies": {"fleet/truck": COMPANY}}, "one level"),
    "every user": ({"companies": {"+": COMPANY}}, "one level"),
    "the name of a company": ({"companies": {"fleet": "Post of Delft"}}, "32 hexadecimal"),
    "a number for a company": ({"companies": {"fleet": 7}}, "32 hexadecimal"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(tmp_path, what):
    """Each mistake has a sentence of its own, which never holds a password."""
    more, sentence = WRONG[what]
    with pytest.raises(PlanError, match=sentence) as caught:
        read(tmp_path, **more)
    assert "secret" not in str(caught.value)


def test_passwords_are_the_owners_alone(tmp_path):
    """The first line of a file of mode 600; any other file is refused, and not quoted."""
    path = tmp_path / "mqtt.password"
    broker = read(tmp_path, user="voile-share", password_file="mqtt.password")
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
    broker = read(tmp_path, ca_file="ca.pem")
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
        ca_file=str(folder / "broker-ca.pem"),
        user="voile-share",
        password_file=str(folder / "mqtt.password"),
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

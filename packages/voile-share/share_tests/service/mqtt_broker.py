"""Real MQTT brokers in processes of their own.

Mosquitto, where it is installed, and Aedes, from its npm package, which is fetched once and kept.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from voile_testing.processes import PATIENCE

__all__ = ["KINDS", "MOSQUITTO", "Certificates", "MqttBroker", "any_broker"]

MOSQUITTO, AEDES = "Mosquitto", "Aedes"
KINDS = (MOSQUITTO, AEDES)
_AEDES_VERSION = "1.2.0"
_AEDES = """
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { createServer as createEncrypted } from "node:tls";
import { Aedes } from "aedes";
const { port, cert, key } = JSON.parse(process.argv[1]);
const broker = await Aedes.createBroker();
const listener = cert
    ? createEncrypted({ cert: readFileSync(cert), key: readFileSync(key) }, broker.handle)
    : createServer(broker.handle);
listener.listen(port, "127.0.0.1");
"""
_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])


@dataclass(frozen=True)
class Certificates:
    """Files (PEM) of a broker that is known as localhost."""

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def made(cls, folder: Path) -> Certificates:
        """By an authority of this test's own."""
        authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        issuer, localhost = _name("a test's authority"), _name("localhost")
        root = _certificate(issuer, authority, issuer, authority, None)
        leaf = _certificate(localhost, own, issuer, authority, "localhost")
        made = cls(folder / "authority.pem", folder / "localhost.pem", folder / "localhost.key")
        made.authority.write_bytes(root.public_bytes(Encoding.PEM))
        made.certificate.write_bytes(leaf.public_bytes(Encoding.PEM))
        made.key.write_bytes(own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return made


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    authority: ec.EllipticCurvePrivateKey,
    host: str | None,
) -> x509.Certificate:
    """Of a host, or of an authority where there is none; for a day."""
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
    )
    if host is not None:
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(authority, hashes.SHA256())


@dataclass
class MqttBroker:
    """A broker on a free port of this machine, which keeps everything in memory."""

    kind: str
    folder: Path
    certificates: Certificates | None = None
    passwords: Mapping[str, str] = field(default_factory=dict)
    """Of users; without any everybody may connect.  Of Mosquitto alone."""
    rights: str = ""
    """The file of access rights.  Of Mosquitto alone."""
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None

    @property
    def version(self) -> str:
        """The newest version of the protocol that it speaks."""
        return "5" if self.kind == MOSQUITTO else "3.1.1"

    def start(self) -> None:
        """On the port that it had before; skips the test where it is not installed."""
        self.port = self.port or _free_port()
        mosquitto = self.kind == MOSQUITTO
        command = self._mosquitto() if mosquitto else self._aedes()
        where = self.folder if mosquitto else _aedes_folder()
        with (self.folder / f"{self.kind}.log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=where, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while not _listens(self.port):
            log_text = (self.folder / f"{self.kind}.log").read_text()
            assert self._process.poll() is None, log_text
            assert time.monotonic() < deadline, log_text
            time.sleep(0.02)

    def stop(self) -> None:
        """It forgets its sessions, and what it kept for them."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(PATIENCE)
            self._process = None

    def _mosquitto(self) -> list[str]:
        program = _mosquitto()
        if program is None:
            pytest.skip("Mosquitto is not installed")
        lines = ["persistence false", "log_type error", f"listener {self.port} 127.0.0.1"]
        if os.getuid() == 0:
            lines.append("user root")
        if self.certificates is not None:
            lines += [
                f"certfile {self.certificates.certificate}",
                f"keyfile {self.certificates.key}",
            ]
        lines.append(f"allow_anonymous {'false' if self.passwords else 'true'}")
        if self.passwords:
            (self.folder / "passwords").write_text(
                "".join(f"{user}:{_hashed(word)}\n" for user, word in self.passwords.items())
            )
            lines.append(f"password_file {self.folder / 'passwords'}")
        if self.rights:
            (self.folder / "rights").write_text(self.rights)
            lines.append(f"acl_file {self.folder / 'rights'}")
        configuration = self.folder / "mosquitto.conf"
        configuration.write_text("\n".join(lines) + "\n")
        return [program, "-c", str(configuration)]

    def _aedes(self) -> list[str]:
        given: dict[str, object] = {"port": self.port}
        if self.certificates is not None:
            given["cert"] = str(self.certificates.certificate)
            given["key"] = str(self.certificates.key)
        return ["node", "--input-type=module", "--eval", _AEDES, json.dumps(given)]


def any_broker(folder: Path) -> MqttBroker:
    """One that can be had."""
    return MqttBroker(AEDES if _mosquitto() is None else MOSQUITTO, folder)


def _mosquitto() -> str | None:
    return shutil.which("mosquitto", path=_PATH)


@cache
def _aedes_folder() -> Path:
    """Where Aedes is; skips the test, with the reason, where it cannot be had."""
    if shutil.which("node") is None or (npm := shutil.which("npm")) is None:
        pytest.skip("Node.js and npm are not installed, which Aedes needs")
    kept = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(kept) / "voile-tests" / f"aedes-{_AEDES_VERSION}"
    if (folder / "node_modules" / "aedes" / "package.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    options = ("--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder))
    command = [npm, "install", *options, f"aedes@{_AEDES_VERSION}"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("the registry of npm does not answer, from which Aedes is fetched")
    return folder


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _hashed(password: str) -> str:
    """As mosquitto_passwd writes it."""
    salt = os.urandom(12)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 101)
    texts = (base64.b64encode(one).decode() for one in (salt, digest))
    return "$7$101$" + "$".join(texts)

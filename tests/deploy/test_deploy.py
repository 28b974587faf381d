"""What deploys the service: parsed, and compared with what it names."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from voile_base.main import command
from voile_share.commands.share import _share
from voile_share.service.folder import Configuration
from voile_testing.plugin import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


def options_of(command: list[str]) -> set[str]:
    return {one for one in command if one.startswith("--")}


def shown_options(name: str) -> str:
    return CliRunner().invoke(_share, [name, "--help"]).output


def test_every_option_that_is_passed_is_one_of_the_command():
    """Of the image, of the compose file and of the unit; each begins by ``serve``."""
    cmd = json.loads(re.search(r"^CMD (.+)$", DOCKERFILE, re.MULTILINE)[1])
    unit = (DEPLOY / "voile-share.service").read_text()
    started = re.search(r"^ExecStart=(.+)$", unit, re.MULTILINE)[1].split()
    for words in (cmd, COMPOSE["services"]["service"]["command"], started[2:]):
        assert words[0] == "serve"
        for option in options_of(words):
            assert option in shown_options("serve"), option


def test_the_image_installs_extras_that_are_there():
    """And copies files that are there."""
    extras = re.search(r"voile-share\[([\w,]+)\]'", DOCKERFILE)[1].split(",")
    known = tomllib.loads((ROOT / "packages/voile-share/pyproject.toml").read_text())["project"]
    assert set(extras) <= known["optional-dependencies"].keys()
    for line in re.findall(r"^COPY (?!--from)(.+) \./?\w*$", DOCKERFILE, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["10001"]


def test_the_image_of_studio_starts_it():
    """Its distributions, extras and options are there; nobody is root."""
    text = (DEPLOY / "studio.Dockerfile").read_text()
    for name, extras in re.findall(r"\./packages/([\w-]+)(?:\[([\w,]+)\])?", text):
        project = tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text())
        known = project["project"].get("optional-dependencies", {})
        assert set(filter(None, extras.split(","))) <= known.keys(), name
    started = json.loads(re.search(r"^ENTRYPOINT (.+)$", text, re.MULTILINE)[1])
    assert started == ["voile", "studio"]
    shown = CliRunner().invoke(command, ["studio", "--help"]).output
    passed = options_of(json.loads(re.search(r"^CMD (.+)$", text, re.MULTILINE)[1]))
    assert passed == {one for one in passed if one in shown} != set()
    assert re.findall(r"^USER (.+)$", text, re.MULTILINE) == ["10001"]


def test_the_compose_file_names_what_it_has():
    """Networks, volumes and secrets are declared, files of configuration are there."""
    for name, service in COMPOSE["services"].items():
        assert set(service.get("networks", ())) <= COMPOSE["networks"].keys(), name
        assert set(service.get("secrets", ())) <= COMPOSE["secrets"].keys(), name
        assert set(service.get("depends_on", ())) <= COMPOSE["services"].keys(), name
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith("./"):
                assert (DEPLOY / source).is_file(), source
            else:
                assert source in COMPOSE["volumes"], source
    text = json.dumps(COMPOSE)
    for secret in COMPOSE["secrets"]:
        assert f"/run/secrets/{secret}" in text or secret in (
            *("mosquitto_passwords", "mosquitto_acl", "broker_certificate", "broker_key"),
        )
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert "ports" not in COMPOSE["services"]["database"]
    assert "ports" not in COMPOSE["services"]["service"]


def test_the_broker_is_open_to_nobody_without_a_password():
    """Its configuration names secrets of the compose file, and TLS."""
    lines = (DEPLOY / "mosquitto.conf").read_text().splitlines()
    held = dict(one.split(maxsplit=1) for one in lines if one and not one.startswith("#"))
    assert held["allow_anonymous"] == "false"
    for name in ("password_file", "acl_file", "certfile", "keyfile"):
        assert Path(held[name]).parent == Path("/run/secrets")
        assert Path(held[name]).name in COMPOSE["services"]["broker"]["secrets"]


def test_the_configuration_for_containers_is_read(tmp_path):
    """As the service reads it, with what is shown and commented out."""
    text = (DEPLOY / "share.toml").read_text()
    (tmp_path / "share.toml").write_text(text)
    configuration = Configuration.read(tmp_path)
    assert configuration.database == "postgresql://voile@database/share"
    assert configuration.options.is_encrypted
    company = f'"{"0" * 32}"'
    (tmp_path / "share.toml").write_text(
        text.replace("# [", "[")
        .replace('# host = "broker"', 'host = "broker"')
        .replace("# fleet", "fleet")
        .replace('"number of the company"', company)
    )
    assert Configuration.read(tmp_path).broker.where == ("broker", 8883)


def test_the_unit_is_sound(tmp_path):
    """By ``systemd-analyze verify``, as far as this machine has its user and program."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine")
    text = (DEPLOY / "voile-share.service").read_text()
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    assert parser["Service"]["LimitNOFILE".lower()] == "8192"
    text = text.replace("/opt/voile/bin/voile", "/bin/true").replace("=voile\n", "=root\n", 2)
    unit = tmp_path / "voile-share.service"
    unit.write_text(text)
    said = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")

"""``voile share``: setting a service up, tokens, and what is said where it cannot start."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import stat
import subprocess
import sys
import tomllib
from contextlib import closing
from dataclasses import replace

import pytest

from voile_base.errors import InputError
from voile_share.service.folder import Configuration, alone, open_platform
from voile_share.service.on_chain import ChainOptions
from voile_share.service.serving import listening_socket
from voile_share.store.sqlite import SQLiteStore


@pytest.fixture
def folder(desk):
    """A service that was set up."""
    assert desk.run("share", "init", desk / "service").status == 0
    return desk / "service"


def test_a_service_is_set_up_for_its_owner_alone(desk):
    """Everything that is needed stands in the folder, and only its owner may read it."""
    done = desk.run(
        "share", "init", desk / "service", "--json", "--address", "https://share.example.org"
    )
    assert done.document == {
        "folder": str(desk / "service"),
        "address": "https://share.example.org",
    }
    files = {path.name: path for path in (desk / "service").iterdir()}
    assert sorted(files) == ["share.db", "share.toml", "vault.key"]
    for path in (desk / "service", *files.values()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert Configuration.read(desk / "service").options.address == "https://share.example.org"
    assert desk.hidden() == []


@pytest.mark.parametrize(
    "address", ["http://192.168.1.5:8080", "http://share.example.org", "http://0.0.0.0:8080"]
)
def test_an_address_that_browsers_decrypt_nothing_at_is_refused(desk, address):
    """Over http to another machine nothing is set up; the error says what to give instead."""
    refused = desk.run("share", "init", desk / "service", "--address", address)
    assert refused.status == 2
    assert "https" in refused.stderr
    assert not (desk / "service").exists()


@pytest.mark.parametrize(
    ("address", "port"),
    [
        ("http://127.0.0.1:9137", 9137),
        ("http://[::1]:9137", 9137),
        ("http://localhost", 8080),
        ("http://127.0.0.1:8080", 8080),
        ("https://share.example.org", 8080),
        ("https://share.example.org:8443", 8080),  # the proxy's
    ],
)
def test_the_port_of_an_address_of_http_is_listened_at(desk, address, port):
    """What people type reaches the service; ports of https are those of a proxy for TLS."""
    assert desk.run("share", "init", desk / "service", "--address", address).status == 0
    options = Configuration.read(desk / "service").options
    assert (options.address, options.port) == (address, port)


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
)
def test_a_service_listens_at_the_address_it_was_set_up_with(desk, host, family):
    """With nothing said but --address, a connection to that port is one to the service."""
    try:
        with socket.create_server((host, 0), family=family) as free:
            port = free.getsockname()[1]
    except OSError:
        pytest.skip("this machine has no IPv6")
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    assert desk.run("share", "init", desk / "service", "--address", address).status == 0
    with listening_socket(Configuration.read(desk / "service").options):
        socket.create_connection((host, port)).close()


def test_the_defaults_that_are_shown_are_the_defaults(folder):
    """Every line of share.toml that is commented out may be put in, and changes nothing.

    Except for the broker, which there is or is not.
    """
    whole, _, _ = (folder / "share.toml").read_text().partition("# OwnTracks by MQTT")
    without = ("url", "budget", "region")
    shown = [re.sub(r"^# (\w+ *= )", r"\1", line) for line in whole.splitlines()]
    text = "\n".join(line for line in shown if line.partition(" ")[0] not in without)
    assert len(tomllib.loads(text)["platform"]) == 14
    before = Configuration.read(folder)
    (folder / "share.toml").write_text(text)
    after = Configuration.read(folder)
    assert after.options == before.options
    for name in (
        "slot_seconds",
        "mechanism",
        "tau",
        "shared",
        "stays",
        "period_days",
        "distance",
        "delta",
        "room",
    ):
        assert getattr(after.settings, name) == getattr(before.settings, name)
    for name in ("displacements", "near", "lengths"):
        assert list(getattr(after.settings, name)) == list(getattr(before.settings, name))


def test_tokens_are_printed_once_and_open_their_doors(desk, folder):
    """The token of a company and of an auditor is all of standard output, and is not stored."""
    company = desk.run("share", "company", folder, "Post of Delft")
    auditor = desk.run("share", "auditor", folder, "Chamber", "--json").document["token"]
    token = company.stdout.strip()
    platform = open_platform(folder, Configuration.read(folder))
    try:
        assert platform.company_of(token).name == "Post of Delft"
        assert platform.auditor_of(auditor) == "Chamber"
    finally:
        platform.close()
    stored = b"".join(path.read_bytes() for path in folder.iterdir())
    assert token.encode() not in stored
    assert auditor.encode() not in stored


def test_a_company_is_closed(desk, folder):
    """A closed company's token opens nothing; closing one that is not there is an error."""
    made = desk.run("share", "company", folder, "Post", "--json").document
    assert desk.run("share", "close", folder, made["company"]).status == 0
    platform = open_platform(folder, Configuration.read(folder))
    try:
        with pytest.raises(Exception, match="does not open this door"):
            platform.company_of(made["token"])
    finally:
        platform.close()
    for number in ("zzz", "0" * 32):
        assert f"there is no company {number}" in desk.fails(2, "share", "close", folder, number)


def test_a_companys_name_is_taken_while_it_is_open(desk, folder):
    """A second company of an open one's name is refused with what to do; of a closed one not."""
    number = desk.run("share", "company", folder, "Post", "--json").document["company"]
    message = desk.fails(2, "share", "company", folder, " Post ")
    assert number in message
    assert "voile share token" in message
    assert desk.run("share", "close", folder, number).status == 0
    assert desk.run("share", "company", folder, "Post").status == 0


def test_a_lost_token_is_replaced(desk, folder):
    """The new token is all of standard output and opens the door; the old one does not."""
    lost = desk.run("share", "company", folder, "Post", "--json").document
    token = desk.run("share", "token", folder, lost["company"]).stdout.strip()
    again = desk.run("share", "token", folder, lost["company"], "--json").document
    assert again == {**lost, "token": again["token"]}
    platform = open_platform(folder, Configuration.read(folder))
    try:
        assert platform.company_of(again["token"]).company == lost["company"]
        for old in (lost["token"], token):
            with pytest.raises(InputError, match="does not open this door"):
                platform.company_of(old)
    finally:
        platform.close()
    assert "there is no company zzz" in desk.fails(2, "share", "token", folder, "zzz")
    assert desk.run("share", "close", folder, lost["company"]).status == 0
    assert "was closed" in desk.fails(2, "share", "token", folder, lost["company"])


def test_the_operator_sees_who_is_let_in(desk, folder):
    """The list holds companies, open or closed, with their trucks, and auditors; no token."""
    assert desk.run("share", "list", folder, "--json").document == {"companies": [], "auditors": []}
    assert desk.run("share", "list", folder).status == 0
    first, second = (
        desk.run("share", "company", folder, name, "--json").document for name in ("Post", "Van")
    )
    auditor = desk.run("share", "auditor", folder, "Chamber", "--json").document
    platform = open_platform(folder, Configuration.read(folder))
    try:
        platform.add_truck(platform.company_of(first["token"]))
    finally:
        platform.close()
    assert desk.run("share", "close", folder, second["company"]).status == 0
    listed, shown = (desk.run("share", "list", folder, *more) for more in (["--json"], []))
    companies = listed.document["companies"]
    assert [(one["company"], one["name"], one["trucks"]) for one in companies] == [
        (first["company"], "Post", 1),
        (second["company"], "Van", 0),
    ]
    assert [one["closed"] is None for one in companies] == [True, False]
    [known] = listed.document["auditors"]
    assert (known["name"], known["tokens"]) == ("Chamber", 1)
    for done in (listed, shown):
        assert all(text in done.stdout for text in (first["company"], "Post", "Van", "Chamber"))
        for one in (first, second, auditor):
            assert one["token"] not in done.stdout + done.stderr


def test_a_link_is_found_by_its_label_and_closed_and_the_log_has_it(desk, folder):
    """The id opens nothing but the way to close it; the log says that the command line did."""
    with closing(open_platform(folder, Configuration.read(folder))) as platform:
        company, _ = platform.open_company("Post of Delft")
        truck, _ = platform.add_truck(company)
        platform.add_link(company, truck.truck, 24, "order 4711")
    found = desk.run("share", "link", "list", folder, "--search", "4711", "--json").document
    (link,) = found["links"]
    assert desk.run("share", "link", "revoke", folder, link["id"]).status == 0
    (after,) = desk.run("share", "link", "list", folder, "--json").document["links"]
    assert link["revoked"] is None
    assert after["revoked"] is not None
    log = desk.run("share", "audit", folder).stdout.splitlines()[-1]
    assert "command line" in log
    assert f"link revoked  {link['id']}" in log
    assert desk.run("share", "link", "revoke", folder, "0" * 16).status == 2


def test_an_auditor_is_revoked(desk, folder):
    """All tokens of the name are refused from then on; a name that has none open is an error."""
    tokens = [
        desk.run("share", "auditor", folder, "Chamber", "--json").document["token"]
        for _ in range(2)
    ]
    revoked = desk.run("share", "auditor", folder, "Chamber", "--revoke", "--json").document
    assert revoked == {"name": "Chamber", "revoked": 2}
    platform = open_platform(folder, Configuration.read(folder))
    try:
        for token in tokens:
            with pytest.raises(InputError, match="does not open this door"):
                platform.auditor_of(token)
    finally:
        platform.close()
    for name in ("Chamber", "Nobody"):
        message = desk.fails(2, "share", "auditor", folder, name, "--revoke")
        assert f"no auditor called '{name}'" in message


def test_a_folder_with_something_in_it_is_left_alone(desk, folder):
    """Neither a service nor anything else is overwritten."""
    assert "something is here already" in desk.fails(2, "share", "init", folder)
    desk.file("x", "file")
    assert "something is here already" in desk.fails(2, "share", "init", desk / "file")
    assert "cannot be made" in desk.fails(2, "share", "init", desk / "no" / "such")
    for address in ("x.org", "http://127.0.0.1:99999", "http://[::1"):
        assert "address" in desk.fails(2, "share", "init", desk / "new", "--address", address)


def test_a_service_that_was_not_set_up_says_how(desk):
    """Commands on a folder without a service name the command that makes one."""
    for command in (["serve"], ["company"], ["auditor"]):
        rest = [] if command == ["serve"] else ["Name"]
        message = desk.fails(2, "share", *command, desk / "nothing", *rest)
        assert "voile share init" in message


def broken_key_missing(folder):
    (folder / "vault.key").unlink()


def broken_key_open(folder):
    (folder / "vault.key").chmod(0o644)


def broken_key_wrong(folder):
    (folder / "vault.key").write_text("no key")


def broken_store_missing(folder):
    (folder / "share.db").unlink()


def broken_store_newer(folder):
    with closing(sqlite3.connect(folder / "share.db")) as store:
        store.execute("PRAGMA journal_mode = DELETE")  # so that nothing is beside it afterwards
        store.execute("PRAGMA user_version = 999")


def broken_store_other(folder):
    (folder / "share.db").write_bytes(b"something else" * 100)


def broken_configuration(folder):
    (folder / "share.toml").write_text("[platform\n")


def broken_quotation(folder):
    (folder / "share.toml").write_text('[store]\nurl = "postgresql://me:\\hunter2@host/x"\n')


def broken_setting(folder):
    (folder / "share.toml").write_text("[platform]\nslot_second = 300\n")


def broken_table(folder):
    (folder / "share.toml").write_text("[platfrom]\n")


def broken_roads(folder):
    (folder / "roads.json").write_text("{}")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (broken_key_missing, "cannot be read"),
        (broken_key_open, "chmod 600"),
        (broken_key_wrong, "is no key"),
        (broken_store_missing, "restore it from a backup"),
        (broken_store_newer, "update Voile"),
        (broken_store_other, "not a store of Voile"),
        (broken_configuration, "not TOML at line 1, column 10"),
        (broken_quotation, "not TOML at line 2, column "),
        (broken_setting, "did you mean 'slot_seconds'"),
        (broken_table, "did you mean 'platform'"),
        (broken_roads, "voile share roads"),
    ],
)
def test_a_service_that_cannot_start_says_why(desk, folder, broken, said):
    """The message names the file and what to do, and the exit status is that of wrong input."""
    broken(folder)
    message = desk.fails(2, "share", "serve", folder, "--port", "0")
    assert said in message
    assert str(folder) in message
    assert "hunter2" not in message


def test_the_key_of_another_store_is_noticed(desk, folder):
    """A store whose secrets another key sealed is not served with a new one."""
    made = desk.run("share", "company", folder, "Post", "--json").document
    platform = open_platform(folder, Configuration.read(folder))
    platform.add_truck(platform.company_of(made["token"]))
    platform.close()
    assert desk.run("share", "init", desk / "other").status == 0
    (desk / "other" / "vault.key").rename(folder / "vault.key")
    message = desk.fails(2, "share", "serve", folder, "--port", "0")
    assert "sealed by another key" in message


def test_a_port_in_use_is_named(desk, folder):
    """The message says which port, and how to take another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = desk.fails(2, "share", "serve", folder, "--port", port)
    assert f"port {port} of 127.0.0.1 is in use" in message
    assert "--port" in message


def test_a_folder_is_served_once(desk, folder):
    """A second service is refused while one runs, also on another port, and then may begin."""
    with alone(folder, Configuration.read(folder)):
        message = desk.fails(2, "share", "serve", folder, "--port", "0")
        assert "a service runs on this folder already" in message
        assert desk.run("share", "company", folder, "Post").status == 0
    with alone(folder, Configuration.read(folder)):
        pass


def test_services_over_postgresql_may_be_several(folder):
    """Only what one process must write is locked: SQLite, and the way to a chain."""
    several = replace(Configuration.read(folder), database="postgresql:///x")
    with alone(folder, several), alone(folder, several):
        pass
    chained = replace(several, chain=ChainOptions("embedded"))
    with (
        alone(folder, chained),
        pytest.raises(InputError, match="already"),
        alone(folder, chained),
    ):
        pass


def test_a_database_that_is_away_is_said(desk, folder):
    """Where PostgreSQL cannot be reached a service does not start, and no fault is told."""
    (folder / "share.toml").write_text('[store]\nurl = "postgresql://x:hunter2@127.0.0.1:1/x"\n')
    for command in (("serve", folder, "--port", "0"), ("company", folder, "Post")):
        message = desk.fails(2, "share", *command)
        assert "the database cannot be reached" in message
        assert "hunter2" not in message


def test_a_missing_driver_is_named_by_its_extra(desk, folder, monkeypatch):
    """Without psycopg the message says what of Voile to install."""
    (folder / "share.toml").write_text('[store]\nurl = "postgresql:///x"\n')
    monkeypatch.setitem(sys.modules, "psycopg", None)
    message = desk.fails(2, "share", "serve", folder, "--port", "0")
    assert "pip install 'voile-share[postgres]'" in message


def test_a_node_that_is_away_is_said(desk, folder):
    """A command that needs the chain's node ends as all do that cannot begin."""
    (folder / "share.toml").write_text('[chain]\nurl = "http://127.0.0.1:1"\n')
    assert desk.run("share", "chain", "account", folder).status == 0
    message = desk.fails(2, "share", "chain", "deploy", folder)
    assert "the node of the chain does not answer" in message


@pytest.mark.slow
def test_the_port_of_a_demonstration_may_be_taken(desk):
    """A demonstration ends as a service does whose port is in use."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = desk.fails(2, "share", "demo", "--port", port, "--seconds", "0")
    assert f"port {port} of 127.0.0.1 is in use" in message


def test_workers_need_postgresql(desk, folder):
    """Several processes over SQLite are refused with what to do."""
    message = desk.fails(2, "share", "serve", folder, "--workers", "2")
    assert "PostgreSQL" in message
    assert "[store]" in message


def test_a_host_that_cannot_be_is_named(desk, folder):
    """An address of no interface of the machine is wrong input."""
    message = desk.fails(2, "share", "serve", folder, "--port", "0", "--host", "203.0.113.1")
    assert "check --host" in message


def test_the_description_is_printed(desk):
    """``voile share openapi`` prints the OpenAPI document."""
    document = desk.run("share", "openapi").document
    assert document["openapi"].startswith("3.")
    assert "/ingest" in document["paths"]


def test_commands_of_other_modules_are_listed(desk):
    """The help of the group names all commands, those that are imported later too."""
    shown = desk.run("share", "--help").stdout
    here = ("init", "company", "auditor", "list", "token", "close", "serve", "openapi")
    for name in (*here, "chain", "demo", "party", "roads", "truck", "verify"):
        assert name in shown


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "nacl"])
def test_without_the_extra_it_is_said_what_to_install(folder, missing):
    """Where a library is not there, the message names it and the extra."""
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from voile_base.main import main\n"
        f"main(['share', 'serve', {str(folder)!r}, '--port', '0'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "pip install voile-share" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_in_use_is_no_obstacle(desk, folder):
    """Companies can be opened while a service runs on the folder."""
    store = SQLiteStore.open(folder / "share.db")
    try:
        assert desk.run("share", "company", folder, "Post").status == 0
        assert [one.name for one in store.companies()] == ["Post"]
    finally:
        store.close()


def test_help_starts_without_the_heavy_libraries():
    """``voile share --help`` imports neither FastAPI nor PyNaCl."""
    program = (
        "import sys\nfrom voile_base.main import main\n"
        "try: main(['share', '--help'])\n"
        "except SystemExit: pass\n"
        "import json; print(json.dumps(sorted(set(sys.modules) & {'fastapi', 'nacl', 'uvicorn'})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []

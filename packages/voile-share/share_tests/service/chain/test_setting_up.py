"""The table [chain], the folder, and what may not change once trucks have published."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from share_tests.scene import Scene
from share_tests.service.chain.scenes import URL
from voile_base.errors import InputError, PlanError
from voile_share.chain import ChainError, Deployment
from voile_share.service import on_chain
from voile_share.service.folder import Configuration, create, open_platform
from voile_share.service.on_chain import ChainOptions, write_deployment


@pytest.mark.slow
def test_records_do_not_begin_again_when_the_log_changes(on, tmp_path, node):
    """A store with reports does not go over to the chain, nor reports on the chain to the store."""
    scene = on("log")
    _, token = scene.truck(scene.company())
    scene.platform.settle()
    scene.drive(token, 1)
    with pytest.raises(InputError, match="on a chain"):
        on_chain.check_place(tmp_path, None, scene.store)
    with pytest.raises(InputError, match="on a chain"):
        on_chain.check_place(tmp_path, replace(scene.options, mode="anchor"), scene.store)
    on_chain.check_place(tmp_path, replace(scene.options, mode="storage"), scene.store)


def test_a_store_with_reports_does_not_go_over_to_a_chain(tmp_path):
    """Its trucks have begun their chains of records; `anchor` keeps them where they are."""
    scene = Scene(tmp_path)
    with closing(scene.platform):
        _, token = scene.truck(scene.company())
        scene.drive(token, 1)
        options = ChainOptions(url=URL)
        with pytest.raises(InputError, match="retire these trucks"):
            on_chain.check_place(tmp_path, options, scene.store)
        on_chain.check_place(tmp_path, replace(options, mode="anchor"), scene.store)
        on_chain.check_place(tmp_path, None, scene.store)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('url = "ws://x"', "that of a node"),
        ('url = "embedded"\nblock = 3', "leave contract out"),
        ('url = "http://x"\nmode = "logs"', "storage"),
        ('url = "http://x"\ncontract = "0x12"', "40 hexadecimal"),
        ('url = "http://x"\nconfirmations = 0', "1 or more"),
        ('url = "http://x"\nraise_after = 90', "less than patience"),
        ('url = "http://x"\nkey = "ab"', "takes no key"),
        ('url = "http://x"\nmost_wei_per_gass = 1', "did you mean"),
    ],
)
def test_what_cannot_be_in_the_table_is_refused(tmp_path, table, said):
    """Every mistake in [chain] is told with what to do."""
    folder = tmp_path / "service"
    create(folder)
    (folder / "share.toml").write_text(f"[chain]\n{table}\n")
    with pytest.raises(PlanError, match=said):
        Configuration.read(folder)


def test_the_contract_is_written_where_it_is_read(tmp_path):
    """A table is added where there is none, and completed where there is one."""
    folder = tmp_path / "service"
    create(folder)
    made = Deployment(31337, b"\x12" * 20, 17)
    write_deployment(folder / "share.toml", URL, made)
    assert Configuration.read(folder).chain == ChainOptions(
        url=URL, chain=31337, contract="0x" + "12" * 20, block=17
    )
    assert (folder / "share.toml").stat().st_mode & 0o077 == 0
    (folder / "share.toml").write_text(
        f'[chain] # ours\nurl = "{URL}"\nmode = "anchor"\n\n[platform]\nroom = 10\n'
    )
    write_deployment(folder / "share.toml", URL, made)
    read = Configuration.read(folder)
    assert read.chain.deployment == made
    assert read.chain.mode == "anchor"
    assert read.settings.room == 10


def test_a_service_begins_while_its_node_is_away(tmp_path):
    """Companies are served; positions are refused for now, and nobody loses one."""
    folder = tmp_path / "service"
    create(folder)
    write_deployment(folder / "share.toml", URL, Deployment(1, b"\x12" * 20, 1))
    with pytest.raises(InputError, match="voile share chain account"):
        open_platform(folder, Configuration.read(folder))
    (folder / on_chain.KEY).write_text("12" * 32)
    (folder / on_chain.KEY).chmod(0o600)
    with closing(open_platform(folder, Configuration.read(folder))) as platform:
        company, _ = platform.open_company("Post")
        platform.add_truck(company)
        with pytest.raises(ChainError, match="does not answer"):
            platform.settle()

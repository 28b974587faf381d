"""What a new folder says of itself."""

from __future__ import annotations

import re

from voile.sharing.service.folder import CONFIGURATION, Configuration, create


def test_defaults_that_a_new_folder_shows_are_the_defaults(tmp_path):
    """Every line of share.toml that shows a default changes nothing when it is uncommented."""
    create(tmp_path / "service")
    path = tmp_path / "service" / CONFIGURATION
    before, text = Configuration.read(path.parent), path.read_text("utf-8")
    tables = re.split(r"(?m)^(?=\[)", text)
    shown = 0
    for number, table in enumerate(tables):
        if table.startswith(("[service]", "[platform]", "[rates]")):
            tables[number], count = re.subn(r"(?m)^# (?=\w+ +=)", "", table)
            # What stands below the last table of defaults is about tables that are off.
            shown += count
    path.write_text(re.sub(r"(?ms)^# \[mqtt\].*", "", "".join(tables)), "utf-8")
    assert shown > 15
    assert Configuration.read(path.parent) == before
    path.write_text(text.replace("# tau = 120", "tau = 121"), "utf-8")
    assert Configuration.read(path.parent) != before

"""The process of one job of Studio: runs a command and writes down how it ended.

    python -m voile.cli.job FOLDER

It holds the lock of the job's folder as long as it lives: whoever finds the lock free and no
``ended.json`` knows that it was killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile_base import durable as base_durable
else:
    base_durable = on_demand("voile_base.durable")

__all__ = ["run"]

INTERRUPTED = 130


def run(folder: Path) -> int:
    """Run the command that ``job.json`` of the folder names; its exit status."""
    arguments = json.loads((folder / "job.json").read_text(encoding="utf-8"))["arguments"]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # to be cancelled from now on
    try:
        from voile_base.main import main  # noqa: PLC0415 - after the lock and the streams stand

        main(arguments)
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else int(bool(leave.code))
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.stdout.flush()

    unfinished = folder / ".ended.json"
    base_durable.write_text(unfinished, json.dumps({"status": status}), private=True)
    unfinished.rename(folder / "ended.json")
    return status


if __name__ == "__main__":
    os.environ["VOILE_PROGRESS"] = str(Path(sys.argv[1]) / "progress")
    sys.exit(run(Path(sys.argv[1])))

"""Compiles the contract; ``python -m share_tests.chain.compiling`` writes ``reports.json``.

The compiler is a dependency of tests: users have the bytecode.
"""

from __future__ import annotations

import json
from pathlib import Path

import vyper
from vyper.compiler import compile_code
from vyper.compiler.settings import OptimizationLevel, Settings

import voile_share.chain

FOLDER = Path(voile_share.chain.__file__).parent
SOURCE, COMPILED = FOLDER / "reports.vy", FOLDER / "reports.json"
FLAGS = "--evm-version cancun --optimize gas"


def compiled() -> dict[str, object]:
    """What the installed compiler makes of the source."""
    settings = Settings(evm_version="cancun", optimize=OptimizationLevel.GAS)
    made = compile_code(
        SOURCE.read_text(encoding="utf-8"),
        contract_path=SOURCE.name,
        output_formats=["abi", "bytecode"],
        settings=settings,
    )
    return {
        "source": SOURCE.name,
        "compiler": f"vyper {vyper.__version__}",
        "commit": vyper.__commit__,
        "flags": FLAGS,
        "abi": made["abi"],
        "bytecode": made["bytecode"],
    }


def written(contract: dict[str, object]) -> str:
    """As it stands in the file."""
    return json.dumps(contract, indent=1) + "\n"


if __name__ == "__main__":
    COMPILED.write_text(written(compiled()), encoding="utf-8")

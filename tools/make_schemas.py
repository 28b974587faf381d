"""Write docs/reference/*.schema.json: plans, settings, releases, policies, records, verdicts.

The page ``verify.html`` has the schema of releases, too, without what only people read.

``python tools/make_schemas.py`` writes the files; with ``--check`` it only compares, and exits with
status 1 where a file differs from the code.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from voile.audit.record import audit_schema
from voile.policy.checking import verdict_schema
from voile.policy.stated import policy_schema
from voile.publish.registry import plan_schema
from voile.release.folder import release_schema
from voile.study.documents import comparison_schema, record_schema
from voile.tabular.published import tables_schema
from voile_share.service.folder import share_schema

__all__ = ["SCHEMAS", "drifted", "plain_schema"]

_ROOT = Path(__file__).parents[1]
_FOLDER = _ROOT / "docs" / "reference"
_PAGE = _ROOT / "packages" / "voile" / "src" / "voile" / "release" / "browser"
_FOR_READERS = {"title", "description", "default", "examples", "$schema", "$id"}


def plain_schema(schema: Any, *, names: bool = False) -> Any:
    """A schema without what only people read; below ``properties`` keys are ``names``."""
    if isinstance(schema, list):
        return [plain_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: plain_schema(one, names=key in {"properties", "$defs"})
        for key, one in schema.items()
        if names or key not in _FOR_READERS
    }


SCHEMAS = {
    _FOLDER / "plan.schema.json": plan_schema,
    _FOLDER / "release.schema.json": release_schema,
    _FOLDER / "tables.schema.json": tables_schema,
    _FOLDER / "policy.schema.json": policy_schema,
    _FOLDER / "verdict.schema.json": verdict_schema,
    _FOLDER / "study-record.schema.json": record_schema,
    _FOLDER / "audit-record.schema.json": audit_schema,
    _FOLDER / "comparison.schema.json": comparison_schema,
    _FOLDER / "share.schema.json": share_schema,
    _PAGE / "release.schema.json": lambda: plain_schema(release_schema()),
}


def drifted() -> dict[Path, str]:
    """The files that are not as they should be, and what should stand in them."""
    wanted = {path: json.dumps(schema(), indent=2) + "\n" for path, schema in SCHEMAS.items()}
    return {
        path: text
        for path, text in wanted.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }


@click.command()
@click.option("--check", is_flag=True, help="Compare only; status 1 where a schema has drifted.")
def main(*, check: bool) -> None:
    """Write the schemas, or check them."""
    for path, text in drifted().items():
        if check:
            click.echo(f"{path} has drifted from the code; run `make docs`", err=True)
            sys.exit(1)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

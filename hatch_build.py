"""What the checkout needs: all that its distributions need, by ``packages/*/pyproject.toml``.

The root installs them at once (``pip install -e '.[test]'``) and is never published.  Its extras
are those of ``voile``; where one names another distribution of the checkout, it stands for what
that one needs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_OURS = re.compile(r"^(voile(?:-[a-z]+)?)(?:\[([\w,-]+)\])?(?:==.*)?$")


class CheckoutMetadataHook(MetadataHookInterface):
    """Dependencies and extras of the checkout."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Say what the checkout needs, each requirement once."""
        projects = {
            project["name"]: project
            for path in sorted(Path(self.root).glob("packages/*/pyproject.toml"))
            for project in [tomllib.loads(path.read_text(encoding="utf-8"))["project"]]
        }
        bare = _needed(projects, "voile", ())
        extras = {
            name: _needed(projects, "voile", (name,))
            for name in projects["voile"]["optional-dependencies"]
        }
        extras["test"] = sorted(
            {one for name in projects for one in _needed(projects, name, _extras(projects, name))}
            - set(projects["voile"]["optional-dependencies"]["spark"])
        )
        testing = projects["voile-testing"]["optional-dependencies"]
        extras |= {name: list(testing[name]) for name in ("check", "docs", "mutation")}
        metadata["dependencies"] = bare
        metadata["optional-dependencies"] = {
            name: [one for one in needed if one not in bare] for name, needed in extras.items()
        }


def _extras(projects: dict[str, Any], name: str) -> tuple[str, ...]:
    """The extras of a distribution that its tests and those of the checkout need."""
    known = projects[name].get("optional-dependencies", {})
    return tuple(one for one in known if one not in {"check", "docs", "mutation", "spark"})


def _needed(projects: dict[str, Any], name: str, extras: tuple[str, ...]) -> list[str]:
    """Requirements of a distribution with extras, those of ours replaced by what they need."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    left = [(name, extra) for extra in ("", *extras)]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        for requirement in _stated(projects[one[0]], one[1]):
            ours = _OURS.match(requirement)
            if ours is None:
                found.add(requirement)
            else:
                asked = (ours[2] or "").split(",") if ours[2] else []
                left += [(ours[1], extra) for extra in ("", *asked)]
    return sorted(found)


def _stated(project: dict[str, Any], extra: str) -> Iterator[str]:
    if extra:
        yield from project["optional-dependencies"][extra]
    else:
        yield from project.get("dependencies", ())

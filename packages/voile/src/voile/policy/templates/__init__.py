"""The policies that are shipped, as texts by their names."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from voile_base.errors import InputError, nearest

__all__ = ["template_names", "template_text"]


@cache
def template_names() -> tuple[str, ...]:
    """The names of the policies that are shipped."""
    names = (each.name for each in files(__name__).iterdir() if each.name.endswith(".toml"))
    return tuple(sorted(name.removesuffix(".toml") for name in names))


def template_text(name: str) -> str:
    """The text of a template; raises ``InputError`` where there is none of the name."""
    if name not in template_names():
        known = ", ".join(template_names())
        msg = f"there is no template {name!r}{nearest(name, template_names())} (known: {known})"
        raise InputError(msg)
    return files(__name__).joinpath(f"{name}.toml").read_text("utf-8")

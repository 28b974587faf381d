"""A method in plain words, for people who choose one in Studio."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MethodCard", "Parameter"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method that Studio asks for."""

    name: str
    label: str
    offered: tuple[str, ...]
    """Values to tick; others may be typed."""
    tried: tuple[str, ...]
    """Those that are ticked where nobody says others."""
    hint: str
    needed: bool = True


@dataclass(frozen=True)
class MethodCard:
    """One method, for people who choose."""

    name: str
    title: str
    promises: str
    costs: str
    not_when: str
    parameters: tuple[Parameter, ...]

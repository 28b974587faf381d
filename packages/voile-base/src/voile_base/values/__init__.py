"""What crosses a boundary, declared once: checked values, their JSON, expressions over columns."""

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["Document", "Json"]

Document: TypeAlias = Mapping[str, Any]
"""An object of JSON or TOML, as it is read."""
Json: TypeAlias = dict[str, Any]
"""An object of JSON, as it is built."""

"""Values of open kinds: a document says by its key ``kind`` which class of a registry it is of.

    columns: Mapping[str, Annotated[ShownColumn, ByKind(SHOWN)]]

A union of classes is closed where it is written; a registry is not, since other packages add to it.
A class is imported when a document or an object of it is met.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from voile_base.errors import InputError
from voile_base.registry import Registry

__all__ = ["ByKind"]

_UNKNOWN = "what it is, is not known"


@dataclass(frozen=True, eq=False)
class ByKind:
    """Marks a class for one of whose subclasses a value is taken, which its kind tells."""

    registry: Registry[Any]

    def member(self, base: type[BaseModel], kind: object) -> type[BaseModel] | None:
        """The class of a kind; None where nothing that is installed adds it.

        Raises ``InputError`` where a package adds by this name what cannot be of the kind.
        """
        if not isinstance(kind, str) or kind not in self.registry:
            return None
        made = self.registry.class_of(kind)
        stated = made.model_fields["kind"].default if issubclass(made, base) else None
        if stated != kind:
            msg = (
                f"{made.__module__}:{made.__name__} is announced as {self.registry.what} {kind!r} "
                f"({self.registry.group}), and must be a {base.__name__} with kind = {kind!r}"
            )
            raise InputError(msg)
        return made

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        del handler  # the class itself is no kind
        return core_schema.no_info_plain_validator_function(partial(self._read, source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        del schema
        own = map(self.registry.class_of, self.registry.own)
        return {"anyOf": [handler(made.__pydantic_core_schema__) for made in own]}

    def _read(self, base: type[BaseModel], held: object) -> BaseModel:
        if isinstance(held, base):
            kind = getattr(held, "kind", None)
            if self.member(base, kind) is not type(held):
                msg = (
                    f"{type(held).__name__} is not announced as {self.registry.what} {kind!r}: "
                    f"name it in the entry points of its package, under {self.registry.group}"
                )
                raise ValueError(msg)
            return held
        if not isinstance(held, Mapping):
            raise PydanticCustomError("model_type", "a table is needed")
        told = {"discriminator": "'kind'"}
        if "kind" not in held:
            raise PydanticCustomError("union_tag_not_found", _UNKNOWN, told)
        made = self.member(base, held["kind"])
        if made is None:
            told |= {
                "tag": str(held["kind"]),
                "expected_tags": ", ".join(map(repr, self.registry.names)),
                "remedy": f"; where another package adds {self.registry.what} of this name, "
                "install it",
            }
            raise PydanticCustomError("union_tag_invalid", _UNKNOWN, told)
        return made.model_validate(held)

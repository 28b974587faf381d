"""Values that come from outside or go there: plans, records, settings, statements of a release.

A ``Value`` is declared once, as a class with typed fields.  From the declaration follow how it is
validated, how JSON has it (``document``), its schema (``model_json_schema``) and what is said of a
document that does not fit (``read``).  The library behind it is pydantic.

Conventions:

- A value cannot be changed, and a key that its class does not have is an error.
- Types are strict: "7" is no number and 1 is not true.  A list of JSON or TOML is a tuple here.
- ``Exact`` is a decimal number as it is written.  A float stands for the shortest decimal that
  reads back as that float, so 0.1 is one tenth.  No number is NaN or infinite.
- What a document does not say stays unsaid: a field has a default only where its absence means
  something, and None is written as an absent key.

A sentence about a document names the file, the table and the key, and says what is allowed there.
It quotes what the document holds only where the caller says that the document is ``public``.

Cost: some microseconds a field.  Loading pydantic takes some 0.1 s of processor, which is why no
module that needs no value should import this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from voile.errors import InputError, VoileError, nearest
from voile.values.exact import exact_decimal, json_number

__all__ = ["Exact", "Value", "read"]

Place = tuple[int | str, ...]


def _exactly(number: object) -> object:
    """A number of JSON as a decimal; anything else is left to be refused."""
    if isinstance(number, int | float) and not isinstance(number, bool):
        return exact_decimal(number)
    return number


Exact = Annotated[
    Decimal,
    BeforeValidator(_exactly, json_schema_input_type=int | float),
    PlainSerializer(json_number, return_type=int | float),
]
"""An exact number, which JSON has as a number."""


class Value(BaseModel):
    """A value that crosses a boundary; see the module."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        revalidate_instances="never",
        defer_build=True,  # a class that is not used costs nothing
    )

    def document(self) -> dict[str, Any]:
        """The value as JSON takes it, without keys that say nothing."""
        return self.model_dump(mode="json", exclude_none=True)


def read(
    kind: Any,
    document: object,
    where: str,
    error: type[VoileError] = InputError,
    *,
    public: bool = False,
) -> Any:
    """The value of a class, or of a union of classes, that a parsed document holds.

    ``where`` is what the document is called, such as ``out/release.json`` or ``[method]``.  Raises
    ``error`` with one sentence about the first thing that does not fit, which quotes the document
    only where it is ``public``.
    """
    plain = _with_tuples(document)
    try:
        return TypeAdapter(kind).validate_python(plain)
    except ValidationError as refused:
        faults = refused.errors(include_url=False)
        # A key that is misspelt is missing, too; what it was meant to be says more.
        first = min(faults, key=lambda fault: fault["type"] != "extra_forbidden")
        sentence = _sentence(first, kind, plain, public=public)
        raise error(f"{where}: {sentence}") from None


def _with_tuples(document: object) -> object:
    """The document with its lists as tuples, which do not change."""
    if isinstance(document, Mapping):
        return {key: _with_tuples(held) for key, held in document.items()}
    if isinstance(document, list | tuple):
        return tuple(map(_with_tuples, document))
    return document


def _sentence(fault: Mapping[str, Any], kind: Any, document: object, *, public: bool) -> str:
    """What is wrong with a document, from pydantic's account of it."""
    place, held = _place(fault["loc"], document)
    name, context = fault["type"], fault.get("ctx", {})
    if name in {"extra_forbidden", "missing"}:
        *table, key = place
        within = f"{_named(tuple(table))}: " if table else ""
        if name == "missing":
            return f"{within}needs {key!r}"
        known = _keys(kind, tuple(table), document)
        return f"{within}unknown key {key!r}{nearest(str(key), known)} (known: {', '.join(known)})"
    subject = _named(place) or "the document"
    if name in {"union_tag_not_found", "union_tag_invalid"}:
        return subject + _untold(context, public=public)
    if name == "literal_error":
        hint = nearest(held, _choices(context)) if public and isinstance(held, str) else ""
        return f"{subject} must be {context['expected']}{hint}"
    if name in {"value_error", "assertion_error"}:
        return f"{f'{_named(place)}: ' if place else ''}{context['error']}"
    return f"{subject} must be {_allowed(name, context, fault['msg'])}"


def _untold(context: Mapping[str, Any], *, public: bool) -> str:
    """What is wrong where one of several classes is to be chosen by what a table says it is."""
    key = context["discriminator"]
    if "tag" not in context:
        return f" needs {key}, which says what it is"
    known = [tag.strip("' ") for tag in context["expected_tags"].split(",")]
    told = f" {context['tag']!r}{nearest(context['tag'], known)}" if public else ""
    return f": unknown {key.strip(chr(39))}{told} (known: {', '.join(known)})"


_TYPES = {
    "bool_type": "true or false",
    "decimal_type": "a number",
    "dict_type": "a table of keys and values",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "is_instance_of": "a number",
    "mapping_type": "a table of keys and values",
    "model_attributes_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "string_type": "a text",
    "tuple_type": "a list",
}
_LIMITS = {
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "string_pattern_mismatch": "a text of the pattern {pattern}",
    "string_too_short": "a text of at least {min_length} characters",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of at least {min_length}",
}


def _allowed(name: str, context: Mapping[str, Any], otherwise: str) -> str:
    """What may stand in a place; pydantic's own words, which quote nothing, for rare cases."""
    if name in _TYPES:
        return _TYPES[name]
    if name in _LIMITS:
        return _LIMITS[name].format(**context)
    return f"valid ({otherwise[:1].lower()}{otherwise[1:]})"


def _choices(context: Mapping[str, Any]) -> list[str]:
    return [choice.strip("' ") for choice in context["expected"].replace(" or ", ", ").split(",")]


def _place(location: Place, document: object) -> tuple[Place, object]:
    """Where in the document a fault is, and what stands there.

    Pydantic names the members of a union on the way, which no document has.
    """
    place: list[int | str] = []
    held = document
    for number, step in enumerate(location):
        if _holds(held, step):
            held = held[step]  # type: ignore[index]
        elif number == len(location) - 1 and isinstance(held, Mapping):
            held = None  # a key that is missing
        else:
            continue
        place.append(step)
    return tuple(place), held


def _holds(held: object, step: int | str) -> bool:
    if isinstance(held, tuple):
        return isinstance(step, int) and step < len(held)
    return isinstance(held, Mapping) and step in held


def _named(place: Place) -> str:
    """A place in a document as a reader writes it: ``columns.age.levels[2]``."""
    name = ""
    for step in place:
        name += f"[{step + 1}]" if isinstance(step, int) else f".{step}" * bool(name) or step
    return name


def _keys(kind: Any, place: Place, document: object) -> list[str]:
    """The keys that the table at a place may have."""
    held, kinds = document, list(_members(kind, document))
    for step in place:
        held = held[step] if isinstance(held, Mapping | tuple) else None  # type: ignore[index]
        kinds = [one for kind in kinds for one in _members(_within(kind, step), held)]
    models = [kind for kind in kinds if _is_model(kind)]
    return list(dict.fromkeys(name for model in models for name in model.model_fields))


def _within(kind: Any, step: int | str) -> Any:
    """The type of what stands one step within a value."""
    if _is_model(kind):
        field = kind.model_fields.get(str(step))
        return field and Annotated[field.annotation, None]
    return get_args(kind)[0 if isinstance(step, int) else -1] if get_args(kind) else None


def _members(kind: Any, held: object) -> Iterator[Any]:
    """The types among which a union chooses, as far as they fit the ``kind`` that is held."""
    if get_origin(kind) is Annotated:
        yield from _members(get_args(kind)[0], held)
    elif get_origin(kind) in {Union, UnionType}:
        for member in get_args(kind):
            yield from _members(member, held)
    elif kind is not None and (not _is_model(kind) or _fits(kind, held)):
        yield kind


def _fits(model: Any, held: object) -> bool:
    """Whether a table may be of a class, by what it says of its kind."""
    field = model.model_fields.get("kind")
    given = held.get("kind") if isinstance(held, Mapping) else None
    return field is None or given is None or given in get_args(field.annotation)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)

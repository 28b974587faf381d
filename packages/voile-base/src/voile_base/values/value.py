"""Values that come from outside or go there: plans, records, settings, statements of a release.

A value is declared once, as a class with typed fields.  From the declaration follow how it is
validated, how JSON has it, its schema (``json_schema``) and what is said of a document that does
not fit (``read``).  The library behind it is pydantic.  A class is one of two kinds:

- A ``Value`` is made by Voile and written as JSON (``document``).
- A frozen dataclass that is ``checked`` is also made by people in Python, so its constructor reads
  what it is given as ``read`` reads a document, and raises the same sentences; ``__post_init__``
  says what its fields must be to each other.

Conventions:

- A value cannot be changed, and a key that its class does not have is an error.
- Types are strict: "7" is no number and 1 is not true.  A list of JSON or TOML is a tuple here.
- ``Exact`` is a decimal number as it is written.  A float stands for the shortest decimal that
  reads back as that float, so 0.1 is one tenth.  No number is NaN or infinite, or beyond all use.
- What a document does not say stays unsaid: a field has a default only where its absence means
  something, and None is written as an absent key.

A sentence about a document names the file, the table and the key, and says what is allowed there:
in the words of the type, or in those of ``Says``.  It quotes what the document holds only where the
caller says that the document is ``public``.

Cost: some microseconds a field, and a millisecond a class when it is first used.  Loading pydantic
takes some 0.1 s of processor, which is why no module that needs no value should import this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from functools import cache, wraps
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    Strict,
    TypeAdapter,
    ValidationError,
    with_config,
)
from pydantic_core import ArgsKwargs, PydanticCustomError, core_schema

from voile_base.errors import InputError, VoileError
from voile_base.values.exact import json_number, usable_number
from voile_base.values.sentences import UNKNOWN, KeptAs, Says, sentence

__all__ = [
    "Exact",
    "ExactOrText",
    "File",
    "InPlanFolder",
    "KeptAs",
    "Number",
    "NumberOrText",
    "Real",
    "Says",
    "Several",
    "Value",
    "checked",
    "closed",
    "json_schema",
    "plain",
    "read",
]

T = TypeVar("T")

_CONFIG = ConfigDict(
    frozen=True,
    extra="forbid",
    strict=True,
    allow_inf_nan=False,
    hide_input_in_errors=True,
    revalidate_instances="never",
    validate_default=True,
    defer_build=True,  # a class that is not used costs nothing
)


def _exactly(number: object) -> Decimal:
    """A number of JSON as a decimal; anything else is left to be refused."""
    if isinstance(number, str) or (exact := usable_number(number)) is None:
        raise PydanticCustomError("decimal_type", "a number is needed")
    return exact


def _rounded(number: object) -> object:
    return float(_exactly(number))


def _exactly_or_text(number: object) -> object:
    if (exact := usable_number(number, texts=True)) is None:
        raise PydanticCustomError("decimal_type", "a number is needed")
    return exact


Exact = Annotated[
    Decimal,
    BeforeValidator(_exactly, json_schema_input_type=int | float),
    PlainSerializer(json_number, return_type=int | float),
]
"""An exact number, which JSON has as a number."""
ExactOrText = Annotated[
    Decimal,
    BeforeValidator(_exactly_or_text, json_schema_input_type=int | float | str),
    PlainSerializer(json_number, return_type=int | float),
]
"""An exact number, or a decimal text, so that Python can state every decimal exactly."""
Number = Annotated[Decimal | float, KeptAs(Exact)]
"""An exact number as people write it in Python; what is kept is a decimal."""
NumberOrText = Annotated[Decimal | float | str, KeptAs(ExactOrText)]
"""The same, or a decimal text."""
Real = Annotated[
    float, BeforeValidator(_rounded, json_schema_input_type=int | float), Field(allow_inf_nan=False)
]
"""A number that is kept in double precision."""
Several = Annotated[tuple[T, ...], Strict(False)]
"""A tuple that may be given as a list."""


class InPlanFolder:
    """Marks a parameter of a method that names a file, which a plan in a file has beside it."""


File = Annotated[
    str,
    Field(min_length=1),
    Says('the name of a file, for example "city.osm.pbf"'),
    InPlanFolder(),
]
"""The name of a file, which a plan in a file has beside it."""


class Value(BaseModel):
    """A value that crosses a boundary; see the module."""

    model_config = _CONFIG

    def document(self) -> dict[str, Any]:
        """The value as JSON takes it, without keys that say nothing."""
        return self.model_dump(mode="json", exclude_none=True)


closed = with_config(_CONFIG)
"""Decorates a ``TypedDict``: a document as JSON has it, which has its keys and no others."""


def plain(value: Any) -> Any:
    """A value of a checked class as JSON takes it; what says nothing is null."""
    made: Any = type(value)
    return _adapter(made).dump_python(value, mode="json")


def checked(error: type[VoileError]) -> Callable[[type[T]], type[T]]:
    """Let the constructor of a frozen dataclass validate its fields; it raises ``error``.

    An error of Voile that ``__post_init__`` raises keeps its kind and words; within a document it
    is told with its place.  ``checks_itself`` marks the class.
    """

    def decorate(kind: type[T]) -> type[T]:
        made: Any = kind
        made.__pydantic_config__ = _CONFIG
        made.checks_itself = True
        made.__get_pydantic_core_schema__ = classmethod(_of_documents)

        @wraps(made.__init__)
        def construct(self: Any, *args: Any, **given: Any) -> None:
            held = {**_by_name(made, args, given), **given}
            try:
                _adapter(made).validator.validate_python(ArgsKwargs((), held), self_instance=self)
            except ValidationError as refused:
                raise _refusal(refused, made, held, "", error, public=True) from None

        made.__init__ = construct
        return kind

    return decorate


class _ToldError(ValueError):
    """What an error of Voile says, on its way through pydantic, which adds the place."""

    def __init__(self, error: VoileError) -> None:
        super().__init__(str(error))
        self.error = error


def _of_documents(made: Any, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
    """The schema of a dataclass, which documents state as tables although types are strict."""
    schema = handler(source)
    stated: Any = handler.resolve_ref_schema(schema)
    stated["strict"] = False

    def told(value: Any, inner: core_schema.ValidatorFunctionWrapHandler) -> Any:
        try:
            return inner(value)
        except VoileError as error:
            raise _ToldError(error) from None

    return core_schema.no_info_wrap_validator_function(told, schema)


def _by_name(made: type[Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by the names of their fields; raises ``TypeError`` as any call would."""
    names = [field.name for field in fields(made) if field.init and not field.kw_only]
    if len(args) > len(names) or given.keys() & set(names[: len(args)]):
        msg = f"{made.__name__}() got too many arguments; its fields are {', '.join(names)}"
        raise TypeError(msg)
    return dict(zip(names, args, strict=False))


def read(
    kind: Any,
    document: object,
    where: str,
    error: type[VoileError] = InputError,
    *,
    public: bool = False,
    tables: bool = False,
) -> Any:
    """The value of a class, or of a union of classes, that a parsed document holds.

    ``where`` is what the document is called, such as ``out/release.json``; empty where the caller
    adds it.  With ``tables``, places are named as TOML does: ``[columns.age] bounds``.  Raises
    ``error`` with one sentence about the first thing that does not fit, which quotes the document
    only where it is ``public``.
    """
    plain = _with_tuples(document)
    try:
        return _adapter(kind).validate_python(plain)
    except ValidationError as refused:
        raise _refusal(refused, kind, plain, where, error, public=public, tables=tables) from None


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of the documents of a class, or of a union of classes."""
    return _with_limits(_adapter(kind).json_schema())  # type: ignore[no-any-return]


_LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def _with_limits(schema: Any) -> Any:
    """The schema with limits by their names in JSON Schema, where pydantic leaves its own."""
    if isinstance(schema, dict):
        return {_LIMITS.get(key, key): _with_limits(held) for key, held in schema.items()}
    return list(map(_with_limits, schema)) if isinstance(schema, list) else schema


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _with_tuples(document: object) -> object:
    """The document with its lists as tuples, which do not change."""
    if isinstance(document, Mapping):
        return {key: _with_tuples(held) for key, held in document.items()}
    if isinstance(document, list | tuple):
        return tuple(map(_with_tuples, document))
    return document


def _refusal(
    refused: ValidationError,
    kind: Any,
    document: object,
    where: str,
    error: type[VoileError],
    *,
    public: bool,
    tables: bool = False,
) -> VoileError:
    """What a caller is told."""
    faults = refused.errors(include_url=False, include_input=False)
    # A key that is misspelt is missing, too; what it was meant to be says more.
    first = min(faults, key=lambda fault: not fault["type"].startswith(UNKNOWN))
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, _ToldError) and not first["loc"]:
        return cause.error if not where else type(cause.error)(f"{where}: {cause}")
    said = sentence(first, kind, document, public=public, tables=tables)
    return error(f"{where}: {said}" if where else said)

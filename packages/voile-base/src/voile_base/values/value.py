"""Values that come from outside or go there: plans, records, settings, statements of a release.

A value is declared once, as a class with typed fields.  From the declaration follow how it is
validated, how JSON has it, its schema (``json_schema``) and what is said of a document that does
not fit (``read``).  The library behind it is pydantic.  A class is one of two kinds:

- A ``Value`` is made by Voile and written as JSON (``document``).
- A frozen dataclass that is ``checked`` is also made by people in Python, so its constructor reads
  what it is given as ``read`` reads a document, and raises the same sentences; ``__post_init__``
  says what its fields must be to each other.

A value cannot be changed, and a key that its class does not have is an error.  Types are strict:
"7" is no number and 1 is not true; a list of JSON or TOML is a tuple here.  ``Exact`` is a decimal
number as it is written; a float stands for the shortest decimal that reads back as that float, so
0.1 is one tenth.  What a document does not say stays unsaid: a field has a default only where its
absence means something, and None is written as an absent key.

What is said of a document that does not fit is one sentence, from pydantic's account of what it
refused and where.  It names the file, the table and the key, and says what is allowed there: in the
words of the declared type ("a whole number of at least 2" for ``Annotated[int, Field(ge=2)]``,
however it is missed), or in those of ``Says``, where a type says less than a reader should know.
It quotes what the document holds only where the caller says that the document is ``public``.

    bounds: Annotated[tuple[Exact, Exact], Says("two numbers, the lowest and the highest")]
    columns: Mapping[str, Annotated[ShownColumn, ByKind(SHOWN)]]

A union of classes is closed where it is written.  A registry is open, since other packages add to
it: a document says by its key ``kind`` which class it is of, which is imported when it is met.

Cost: some microseconds a field, and a millisecond a class when it is first used.  Loading pydantic
takes some 0.1 s of processor, which is why no module that needs no value should import this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import cache, partial, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    Strict,
    TypeAdapter,
    ValidationError,
    with_config,
)
from pydantic_core import ArgsKwargs, PydanticCustomError, core_schema
from typing_extensions import is_typeddict

from voile_base.errors import InputError, VoileError, nearest
from voile_base.ondemand import dataclass
from voile_base.registry import Registry
from voile_base.values import Document, Json, json_number, usable_number

__all__ = [
    "ByKind",
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
    "adapter",
    "checked",
    "closed",
    "json_schema",
    "plain",
    "read",
]


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
    ) -> Json:
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


Place = tuple[int | str, ...]
Fault = Document

_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
"""Faults that are a key which is not known."""
_MISSING = ("missing", "missing_argument")


@dataclass(frozen=True)
class Says:
    """What may stand in a place, in words that follow "must be"; choices speak for themselves."""

    words: str
    within: bool = True
    """Whether it speaks for what is within, too."""


@dataclass(frozen=True)
class KeptAs:
    """What a field holds, of which the constructor takes more kinds than the type checker is told.

    e: Annotated[Decimal | float, KeptAs(Exact)]
    """

    kind: Any

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return handler.generate_schema(self.kind)


def _sentence(fault: Fault, kind: object, document: object, *, public: bool, tables: bool) -> str:
    """What is wrong with a document of a ``kind``, from pydantic's account of it."""
    name, context = fault["type"], fault.get("ctx", {})
    place, held = _place(fault["loc"], document, lacks=name in _MISSING)
    if name in _UNKNOWN_KEY or (name in _MISSING and isinstance(fault["loc"][-1], str)):
        *table, key = place
        within = f"{_named(tuple(table), document, tables=tables)}: " if table else ""
        known = _keys(kind, tuple(table), document)
        if name in _MISSING:
            said = (_said(one) for one in _declared(kind, place, document))
            words = next(filter(None, said), "")
            return f"{within}needs {key!r}{f', {words}' * bool(words)}"
        return f"{within}unknown key {key!r}{nearest(str(key), known)} (known: {', '.join(known)})"
    if name in {"union_tag_not_found", "union_tag_invalid"}:
        return _subject(place, document, tables=tables) + _untold(context, public=public)
    if name in {"value_error", "assertion_error"}:
        within = _named(place, document, tables=tables)
        of_table = within.startswith("[") and within.endswith("]")
        between = "" if not within else " " if of_table else ": "
        return f"{within}{between}{context['error']}"
    place, words = _allowed(kind, place, document, fault)
    if public and isinstance(held, str) and (choices := _choices(kind, place, document)):
        words += nearest(held, choices)
    subject = _subject(place, document, tables=tables)
    if tables and len(place) == 1 and words == _TABLE:
        subject = f"[{subject}]"
    return f"{subject} must be {words}"


def _untold(context: Document, *, public: bool) -> str:
    """What is wrong where one of several classes is to be chosen by what a table says it is."""
    key = context["discriminator"]
    if "tag" not in context:
        return f" needs {key}, which says what it is"
    known = [tag.strip("' ") for tag in context["expected_tags"].split(",")]
    told = f" {context['tag']!r}{nearest(context['tag'], known)}" if public else ""
    remedy = context.get("remedy", "") if public else ""
    return f": unknown {key.strip(chr(39))}{told} (known: {', '.join(known)}){remedy}"


_TABLE = "a table of keys and values"
_TYPES = {
    "bool_type": "true or false",
    "dataclass_type": _TABLE,
    "decimal_type": "a number",
    "dict_type": _TABLE,
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "is_instance_of": "a number",
    "mapping_type": _TABLE,
    "model_attributes_type": _TABLE,
    "model_type": _TABLE,
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


def _allowed(kind: object, place: Place, document: object, fault: Fault) -> tuple[Place, str]:
    """What may stand at a place, or at the place around it that says so for all within."""
    name = fault["type"]
    for end in range(len(place) + 1):
        if name == "literal_error" and end < len(place):
            continue
        for one in _declared(kind, place[:end], document):
            if words := _said(one, within=end < len(place)):
                return place[:end], words
    for one in _declared(kind, place, document):
        if words := _in_words(one):
            return place, words
    if name in _TYPES:
        return place, _TYPES[name]
    if name in _LIMITS:
        return place, _LIMITS[name].format(**fault["ctx"])
    # Pydantic's own words, which quote nothing, for rare cases.
    return place, f"valid ({fault['msg'][:1].lower()}{fault['msg'][1:]})"


def _said(annotation: object, *, within: bool = False) -> str:
    """The words of a type, for itself or for something within it."""
    marks = (mark for mark in _marks(annotation) if isinstance(mark, Says))
    return next((mark.words for mark in marks if mark.within or not within), "")


def _in_words(annotation: object) -> str:
    """What a type of a single number, text or choice allows; nothing for other types."""
    bare, limits = _bare(annotation), _limits(annotation)
    if get_origin(bare) is Literal:
        return f"one of {', '.join(map(repr, get_args(bare)))}"
    if bare is int or bare in _NUMBERS or {*get_args(bare)} & _NUMBERS:
        return f"a {'whole ' * (bare is int)}number{_limited(limits)}"
    if get_origin(bare) is tuple and _bare(get_args(bare)[0]) is str:
        return "a list of texts"
    return {bool: "true or false", str: "a text"}.get(bare, "")


_NUMBERS = {float, Decimal}


def _limited(limits: Mapping[str, object]) -> str:
    """Limits of a number, in words."""
    match limits:
        case {"gt": low, "lt": high}:
            return f" between {low} and {high}, both excluded"
        case {"ge": low, "le": high}:
            return f" from {low} to {high}"
    words = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}
    told = [f"{words[name]} {limits[name]}" for name in words if name in limits]
    return f" {' and '.join(told)}" if told else ""


def _limits(annotation: object) -> Json:
    """Limits among the marks of a type."""
    ones = [one for mark in _marks(annotation) for one in (mark, *getattr(mark, "metadata", ()))]
    return {
        name: getattr(one, name)
        for one in ones
        for name in ("gt", "ge", "lt", "le")
        if getattr(one, name, None) is not None
    }


def _opened(annotation: object) -> tuple[Any, tuple[Any, ...]]:
    """A type without its marks and without None, and the marks, the outermost first."""
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        kept = (mark.kind for mark in marks if isinstance(mark, KeptAs))
        bare, others = _opened(next(kept, inner))
        return bare, (*marks, *others)
    if get_origin(annotation) in {Union, UnionType}:
        members = [one for one in get_args(annotation) if one is not NoneType]
        if len(members) == 1:
            return _opened(members[0])
    return annotation, ()


def _bare(annotation: object) -> Any:
    return _opened(annotation)[0]


def _marks(annotation: object) -> tuple[Any, ...]:
    return _opened(annotation)[1]


def _choices(kind: object, place: Place, document: object) -> tuple[str, ...]:
    """The texts that are allowed at a place, where there are but a few."""
    bare = (_bare(one) for one in _declared(kind, place, document))
    choices = next((get_args(one) for one in bare if get_origin(one) is Literal), ())
    return tuple(one for one in choices if isinstance(one, str))


def _place(location: Place, document: object, *, lacks: bool) -> tuple[Place, object]:
    """Where in the document a fault is, and what stands there; ``lacks``: its last key is missing.

    Pydantic names the members of a union on the way, which no document has.
    """
    place: list[int | str] = []
    held = document
    for number, step in enumerate(location):
        if _holds(held, step):
            held = held[step]  # type: ignore[index]
        elif lacks and number == len(location) - 1 and isinstance(held, Mapping):
            held = None  # a key that is missing
        else:
            continue
        place.append(step)
    return tuple(place), held


def _holds(held: object, step: int | str) -> bool:
    if isinstance(held, tuple | list):
        return isinstance(step, int) and step < len(held)
    return isinstance(held, Mapping) and step in held


def _subject(place: Place, document: object, *, tables: bool) -> str:
    return _named(place, document, tables=tables) or "the document"


def _named(place: Place, document: object, *, tables: bool) -> str:
    """A place in a document as a reader writes it: ``columns.age.levels[2]``.

    With ``tables``, the tables on the way stand in brackets: ``[columns.age] levels[2]``.
    """
    depth, held = 0, document
    for step in place if tables else ():
        held = held[step] if _holds(held, step) else None  # type: ignore[index]
        top = depth == 0 and not isinstance(document, Mapping)
        if not isinstance(held, Mapping) or top:
            break
        depth += 1
    table = f"[{_dotted(place[:depth])}]" if depth else ""
    key = _dotted(place[depth:])
    return f"{table} {key}" if table and key else table or key


def _dotted(place: Place) -> str:
    name = ""
    for step in place:
        name += f"[{step + 1}]" if isinstance(step, int) else f".{step}" * bool(name) or step
    return name


def _keys(kind: object, place: Place, document: object) -> list[str]:
    """The keys that the table at a place may have."""
    found = [_fields(one) for one in _declared(kind, place, document)]
    return list(dict.fromkeys(name for names in found for name in names))


def _declared(kind: object, place: Place, document: object) -> list[Any]:
    """The types that are declared for a place, as far as they fit what the document holds."""
    held, kinds = document, list(_members(kind, document))
    for step in place:
        held = held[step] if _holds(held, step) else None  # type: ignore[index]
        kinds = [one for kind in kinds for one in _members(_within(kind, step), held)]
    return kinds


def _within(kind: object, step: int | str) -> Any:
    """The type of what stands one step within a value."""
    bare = _bare(kind)
    if _is_class(bare):
        return _fields(bare).get(str(step))
    if get_origin(bare) in {Union, UnionType}:
        return None  # its members speak for themselves
    return get_args(bare)[0 if isinstance(step, int) else -1] if get_args(bare) else None


def _members(kind: object, held: object) -> Iterator[Any]:
    """A type, and those among which it chooses as far as they fit what is ``held``."""
    bare = _bare(kind)
    if bare is None or bare is NoneType:
        return
    for mark in _marks(kind):
        if isinstance(mark, ByKind) and isinstance(held, Mapping):
            bare = mark.member(bare, held.get("kind")) or bare
    yield bare if _is_class(bare) else kind
    for member in get_args(bare) if get_origin(bare) in {Union, UnionType} else ():
        if not _is_class(_bare(member)) or _fits(_bare(member), held):
            yield from _members(member, held)


def _fits(kind: object, held: object) -> bool:
    """Whether a table may be of a class, by what it says where the class has one choice only."""
    if not isinstance(held, Mapping):
        return True
    return all(
        held[name] in get_args(_bare(declared))
        for name, declared in _fields(kind).items()
        if name in held and name in _TAGS and get_origin(_bare(declared)) is Literal
    )


_TAGS = {"kind", "name", "mechanism"}
"""Keys by which a table says which of several classes it is."""


def _fields(kind: Any) -> Json:
    """The types of the fields of a class by name."""
    if not _is_class(kind):
        return {}
    if is_typeddict(kind):
        return get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        types = get_type_hints(kind, include_extras=True)
        return {field.name: types[field.name] for field in fields(kind) if field.init}
    return {
        name: Annotated[field.annotation, None, *field.metadata]
        for name, field in kind.model_fields.items()
    }


def _is_class(kind: object) -> bool:
    return isinstance(kind, type) and (
        is_dataclass(kind) or is_typeddict(kind) or issubclass(kind, BaseModel)
    )


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


@dataclass(frozen=True)
class InPlanFolder:
    """Marks a parameter of a method that names a file, which a plan in a file has beside it."""

    words: tuple[str, ...] = ()
    """Values that are no names of files."""


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

    def document(self) -> Json:
        """The value as JSON takes it, without keys that say nothing."""
        return self.model_dump(mode="json", exclude_none=True)


closed = with_config(_CONFIG)
"""Decorates a ``TypedDict``: a document as JSON has it, which has its keys and no others."""


def plain(value: object) -> Any:
    """A value of a checked class as JSON takes it; what says nothing is null."""
    made: Any = type(value)
    return adapter(made).dump_python(value, mode="json")


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
        def construct(self: object, *args: object, **given: object) -> None:
            held = {**_by_name(made, args, given), **given}
            try:
                adapter(made).validator.validate_python(ArgsKwargs((), held), self_instance=self)
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


def _of_documents(
    made: object, source: object, handler: GetCoreSchemaHandler
) -> core_schema.CoreSchema:
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


def _by_name(made: type[Any], args: tuple[object, ...], given: Mapping[str, object]) -> Json:
    """Arguments by the names of their fields; raises ``TypeError`` as any call would."""
    names = [field.name for field in fields(made) if field.init and not field.kw_only]
    if len(args) > len(names) or given.keys() & set(names[: len(args)]):
        msg = f"{made.__name__}() got too many arguments; its fields are {', '.join(names)}"
        raise TypeError(msg)
    return dict(zip(names, args, strict=False))


def read(
    kind: object,
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
        return adapter(kind).validate_python(plain)
    except ValidationError as refused:
        raise _refusal(refused, kind, plain, where, error, public=public, tables=tables) from None


def json_schema(kind: object) -> Json:
    """The JSON Schema of the documents of a class, or of a union of classes."""
    return _with_limits(adapter(kind).json_schema())  # type: ignore[no-any-return]


_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def _with_limits(schema: object) -> Any:
    """The schema with limits by their names in JSON Schema, where pydantic leaves its own."""
    if isinstance(schema, dict):
        return {_BOUNDS.get(key, key): _with_limits(held) for key, held in schema.items()}
    return list(map(_with_limits, schema)) if isinstance(schema, list) else schema


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """What validates and writes values of a class, or of a union of classes."""
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
    kind: object,
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
    first = min(faults, key=lambda fault: not fault["type"].startswith(_UNKNOWN_KEY))
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, _ToldError) and not first["loc"]:
        return cause.error if not where else type(cause.error)(f"{where}: {cause}")
    said = _sentence(first, kind, document, public=public, tables=tables)
    return error(f"{where}: {said}" if where else said)

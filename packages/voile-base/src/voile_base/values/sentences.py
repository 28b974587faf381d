"""What is said of a document that does not fit: a sentence with the place and what may stand there.

Pydantic tells what it refused and where; the words follow from the type that is declared there.
"a whole number of at least 2" is what ``Annotated[int, Field(ge=2)]`` allows, however it is missed.
Where a type says less than a reader should know, ``Says`` beside it has the words:

    bounds: Annotated[tuple[Exact, Exact], Says("two numbers, the lowest and the highest")]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import core_schema
from typing_extensions import is_typeddict

from voile_base.errors import nearest
from voile_base.values.kinds import ByKind

__all__ = ["UNKNOWN", "KeptAs", "Says", "sentence"]

Place = tuple[int | str, ...]
Fault = Mapping[str, Any]

UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
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
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return handler.generate_schema(self.kind)


def sentence(fault: Fault, kind: Any, document: object, *, public: bool, tables: bool) -> str:
    """What is wrong with a document of a ``kind``, from pydantic's account of it."""
    name, context = fault["type"], fault.get("ctx", {})
    place, held = _place(fault["loc"], document, lacks=name in _MISSING)
    if name in UNKNOWN or (name in _MISSING and isinstance(fault["loc"][-1], str)):
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


def _untold(context: Mapping[str, Any], *, public: bool) -> str:
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


def _allowed(kind: Any, place: Place, document: object, fault: Fault) -> tuple[Place, str]:
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


def _said(annotation: Any, *, within: bool = False) -> str:
    """The words of a type, for itself or for something within it."""
    marks = (mark for mark in _marks(annotation) if isinstance(mark, Says))
    return next((mark.words for mark in marks if mark.within or not within), "")


def _in_words(annotation: Any) -> str:
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


def _limited(limits: Mapping[str, Any]) -> str:
    """Limits of a number, in words."""
    match limits:
        case {"gt": low, "lt": high}:
            return f" between {low} and {high}, both excluded"
        case {"ge": low, "le": high}:
            return f" from {low} to {high}"
    words = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}
    told = [f"{words[name]} {limits[name]}" for name in words if name in limits]
    return f" {' and '.join(told)}" if told else ""


def _limits(annotation: Any) -> dict[str, Any]:
    """Limits among the marks of a type."""
    ones = [one for mark in _marks(annotation) for one in (mark, *getattr(mark, "metadata", ()))]
    return {
        name: getattr(one, name)
        for one in ones
        for name in ("gt", "ge", "lt", "le")
        if getattr(one, name, None) is not None
    }


def _opened(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
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


def _bare(annotation: Any) -> Any:
    return _opened(annotation)[0]


def _marks(annotation: Any) -> tuple[Any, ...]:
    return _opened(annotation)[1]


def _choices(kind: Any, place: Place, document: object) -> tuple[str, ...]:
    """The texts that are allowed at a place, where there are but a few."""
    bare = (_bare(one) for one in _declared(kind, place, document))
    return next((get_args(one) for one in bare if get_origin(one) is Literal), ())


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


def _keys(kind: Any, place: Place, document: object) -> list[str]:
    """The keys that the table at a place may have."""
    found = [_fields(one) for one in _declared(kind, place, document)]
    return list(dict.fromkeys(name for names in found for name in names))


def _declared(kind: Any, place: Place, document: object) -> list[Any]:
    """The types that are declared for a place, as far as they fit what the document holds."""
    held, kinds = document, list(_members(kind, document))
    for step in place:
        held = held[step] if _holds(held, step) else None  # type: ignore[index]
        kinds = [one for kind in kinds for one in _members(_within(kind, step), held)]
    return kinds


def _within(kind: Any, step: int | str) -> Any:
    """The type of what stands one step within a value."""
    bare = _bare(kind)
    if _is_class(bare):
        return _fields(bare).get(str(step))
    if get_origin(bare) in {Union, UnionType}:
        return None  # its members speak for themselves
    return get_args(bare)[0 if isinstance(step, int) else -1] if get_args(bare) else None


def _members(kind: Any, held: object) -> Iterator[Any]:
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


def _fits(kind: Any, held: object) -> bool:
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


def _fields(kind: Any) -> dict[str, Any]:
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


def _is_class(kind: Any) -> bool:
    return isinstance(kind, type) and (
        is_dataclass(kind) or is_typeddict(kind) or issubclass(kind, BaseModel)
    )

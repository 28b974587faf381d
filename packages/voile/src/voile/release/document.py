"""``release.json``, declared once: what it holds, how it is validated, and its JSON Schema.

Written and read documents are both read by this declaration, so that nothing is published that
nobody could read back, and whatever does not fit is told by file and place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from voile.disclosure.disclosure import Disclosure
from voile.release.manifest import DOCUMENT
from voile.release.registry import StatedClaim
from voile.table.value_types import Kind
from voile_base.errors import TableError
from voile_base.values.value import Says, Several, Value, json_schema, read

__all__ = ["FORMAT", "ListedFile", "ReleaseDocument", "SeriesPlace", "release_schema", "stated_in"]

FORMAT = 1
"""Of ``release.json``."""

_METHOD = "a table with the name of the method and its parameters"


def _named(method: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(method.get("name"), str):
        msg = "the method needs a name"
        raise ValueError(msg)
    return method


class ListedFile(Value):
    """A file beside ``release.json``, by whose hash altered rows are told."""

    file: Annotated[
        str,
        Field(pattern=r"^(data\.[a-z0-9]+|data/[A-Za-z0-9_][A-Za-z0-9_.-]*\.parquet)$"),
        Says('the name of a file of rows, for example "data.csv"'),
    ]
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[
        str, Field(pattern=r"^[0-9a-f]{64}$"), Says("a SHA-256 of 64 hexadecimal digits")
    ]


class _ListedMeasurements(ListedFile):
    file: Literal["measurements.parquet"]


class SeriesPlace(Value):
    """Where a release stands in a series of releases of one growing table."""

    name: Annotated[str, Field(min_length=1)]
    version: Annotated[int, Field(ge=1)]
    """1 for the first release."""


class StatedGuarantee(Value):
    """What is promised: the first claim, its parameters beside these keys, and further ones."""

    model_config = ConfigDict(extra="allow")

    kind: str
    statement: str
    assumes: Several[str]
    further: Several[Mapping[str, Any]] = ()


class ReleaseDocument(Disclosure):
    """What ``release.json`` says: how columns are shown, and all else."""

    format: Annotated[
        Literal[1], Says("1: this is no format of this version of Voile", within=False)
    ]
    voile: Annotated[str, Field(min_length=1)]
    """The version of Voile that made the release."""
    method: Annotated[Mapping[str, Any], AfterValidator(_named), Says(_METHOD, within=False)]
    guarantee: StatedGuarantee
    rows: Annotated[int, Field(ge=0)]
    publishable: bool
    release_id: Annotated[str, Field(min_length=1)]
    roles: Mapping[str, Several[str]]
    types: Mapping[str, Kind | Literal["single"]]
    """Of the values of each column; ``single`` stands for decimals of 32 bits."""
    accept_questions: Literal[True] | None = None
    open_questions: Annotated[int, Field(ge=1)] | None = None
    data_set: Annotated[str, Field(min_length=1)] | None = None
    series: SeriesPlace | None = None
    data: Annotated[Several[ListedFile], Field(min_length=1)]
    measurements: Annotated[Several[_ListedMeasurements], Field(min_length=1)] | None = None

    @property
    def disclosure(self) -> Disclosure:
        """How the columns are shown."""
        return Disclosure(columns=self.columns, groups=self.groups, sampled=self.sampled)


def stated_in(document: Mapping[str, Any], folder: Path) -> ReleaseDocument:
    """What a document of a folder states; raises ``TableError`` with the place that is wrong."""
    stated: ReleaseDocument = read(
        ReleaseDocument, document, str(folder / DOCUMENT), TableError, public=True
    )
    return stated


def release_schema() -> dict[str, Any]:
    """The JSON Schema of ``release.json``, with the claims of Voile's own methods."""
    schema, claims = json_schema(ReleaseDocument), json_schema(StatedClaim)
    schema["$defs"] |= claims.pop("$defs", {})
    stated = schema["$defs"]["StatedGuarantee"]["properties"]
    beside = {key: stated[key] for key in ("statement", "assumes")}
    beside["further"] = {"type": "array", "items": {"$ref": "#/$defs/Claim"}}
    known = []
    for claim in claims["anyOf"]:
        whole = schema["$defs"][claim["$ref"].rpartition("/")[2]] if "$ref" in claim else claim
        required = [*dict.fromkeys((*whole.get("required", ()), "kind", "statement", "assumes"))]
        known.append(
            {**whole, "properties": {**whole["properties"], **beside}, "required": required}
        )
    schema["$defs"] |= {"Claim": claims, "StatedGuarantee": {"anyOf": known}}
    title = "Voile: a release (public)"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}

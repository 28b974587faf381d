"""Where a table stands: a file or folder, perhaps with the part of it that is meant, or a database.

    people.csv                              a file
    people.xlsx#Patients                    a sheet of a workbook
    survey.sav#codes                        the codes of a file with value labels, or #labels
    sqlite:hospital.db#stays                a table of a database
    duckdb:hospital.duckdb#SELECT * FROM stays WHERE year = 2024
    postgresql://host/hospital#clinic.stays

What stands behind ``#`` says which part; a file whose name holds ``#`` is taken as it is.  An
address of a database holds no password: that is the business of the environment and of the
driver's own files (``PGPASSWORD``, ``~/.pgpass``, ``~/.pg_service.conf``).

Whatever is said of a place names the file or the database and, of queries and of whatever else
might be a statement, no text: a literal in it may be private.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from voile_base.errors import InputError

__all__ = ["Address", "Place", "Scheme", "file_and_part", "place_of"]

Scheme = Literal["duckdb", "sqlite", "postgresql"]

_ADDRESS = re.compile(r"(duckdb|sqlite|postgresql|postgres):(.*)", re.DOTALL | re.IGNORECASE)
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@|pass(?:word|wd|phrase)\s*=", re.IGNORECASE)
_QUERY = re.compile(r"\s*(select|with)\b", re.IGNORECASE)
_OTHER = re.compile(
    r"\s*(insert|update|delete|drop|create|alter|replace|truncate|merge|copy|attach|pragma|call|"
    r"explain|values|set|show|describe|grant|vacuum|begin|commit|from|table)\s",
    re.IGNORECASE,
)
"""What other statements begin with; a table of such a name stands in quotes."""
_NO_STATEMENT = re.compile(
    r"""'(?:[^']|'')*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$""", re.DOTALL
)
"""Texts, quoted names and comments, in which a semicolon ends nothing."""
_PLAIN = re.compile(r"[\w$.-]+")
_TABLE = re.compile(r'("[^"]+"|[\w$ -]+)(\.("[^"]+"|[\w$ -]+)){0,2}')


@dataclass(frozen=True)
class Address:
    """A table of a database, or what a query of it gives.

    Raises ``InputError`` where it holds a password, or asks for nothing or for something else.
    """

    scheme: Scheme
    location: str
    """A file, or what the server's driver takes."""
    asked: str
    """The name of a table, or a SELECT."""

    def __post_init__(self) -> None:
        if _PASSWORD.search(self.location):
            msg = (
                f"the {self.scheme} address holds a password, which shells and logs would keep; "
                "leave it out, and set PGPASSWORD or write it into ~/.pgpass"
            )
            raise InputError(msg)
        if self._statements > 1:
            msg = (
                f"{self.scheme}: behind # stand {self._statements} statements, parted by "
                "semicolons, of which a database might run any; ask for one table, or by one SELECT"
            )
            raise InputError(msg)
        if not (self.is_query or self._is_table):
            msg = (
                f"{self.scheme}: the address must say what to read, a table or a SELECT, behind "
                f"#: {self.scheme}:...#stays"
            )
            raise InputError(msg)

    @property
    def is_query(self) -> bool:
        """Whether it asks for more than a table by its name."""
        return _QUERY.match(self.asked) is not None

    @property
    def _is_table(self) -> bool:
        asked = self.asked.strip()
        return _TABLE.fullmatch(asked) is not None and _OTHER.match(asked) is None

    @property
    def _statements(self) -> int:
        """How many statements there are, as far as semicolons part them."""
        bare = _NO_STATEMENT.sub(" ", self.asked)
        return sum(bool(part.strip()) for part in bare.split(";"))

    @property
    def statement(self) -> str:
        """The SELECT that it asks for."""
        if self.is_query:
            return self.asked.strip().rstrip("; \n\t")
        parts = re.findall(r'"[^"]+"|[^."]+', self.asked.strip())
        quoted = (part if part.startswith('"') else f'"{part}"' for part in parts)
        return f"SELECT * FROM {'.'.join(quoted)}"  # noqa: S608 - each part is quoted

    def __str__(self) -> str:
        asked = self.asked.strip()
        what = "a query" if self.is_query else asked if _PLAIN.fullmatch(asked) else "a table"
        return f"{self.scheme}:{self.location}#{what}"


Place = Path | Address


def place_of(source: str | Path | Address) -> Place:
    """Where a table stands; raises ``InputError`` for an address that cannot be."""
    if isinstance(source, Path | Address):
        return source
    match = _ADDRESS.fullmatch(source)
    if match is None or Path(source).exists():
        _refuse_stray_query(source)
        return Path(source)
    location, _, asked = match[2].partition("#")
    scheme = match[1].lower()
    if scheme == "postgres":
        scheme = "postgresql"
    return Address(scheme, location, asked)  # type: ignore[arg-type]


def _refuse_stray_query(source: str) -> None:
    """Raise ``InputError`` for a query behind what is no address, which no message may repeat."""
    _, mark, asked = source.partition("#")
    if mark and (_QUERY.match(asked) or _OTHER.match(asked)) and not Path(source).exists():
        msg = (
            "a query is asked of what is no address of a database: that begins with duckdb:, "
            "sqlite: or postgresql:, such as sqlite:hospital.db#stays"
        )
        raise InputError(msg)


def file_and_part(path: Path) -> tuple[Path, str | None]:
    """A file, and the part of it that is meant; None for the whole."""
    if "#" not in path.name or path.exists():
        return path, None
    name, _, part = path.name.partition("#")
    return (path.with_name(name), part) if name else (path, None)

"""What is done to a store in the course of years: sealing anew, and forgetting by company."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from voile_share.protocol import Record, RejectedError
from voile_share.store.schema import Connection, Database, Row, marks

__all__ = ["SQLUpkeep", "SealedColumn"]

_AT_ONCE = 1_000


_OF = "truck IN (SELECT truck FROM trucks WHERE company = ?)"
_ENDED = "CASE WHEN revoked < expires THEN revoked ELSE COALESCE(expires, revoked) END"


def _dropping(table: str, time: str, whose: str = _OF) -> str:
    some = f"SELECT seq FROM {table} WHERE {whose} AND {time} < ? LIMIT {_AT_ONCE}"
    return f"DELETE FROM {table} WHERE seq IN ({some})"


_TRAFFIC = (
    f"""DELETE FROM reports WHERE seq IN (SELECT seq FROM reports AS old WHERE {_OF}
        AND old.slot < ? AND NOT EXISTS (SELECT 1 FROM heads
        WHERE heads.truck = old.truck AND heads.slot = old.slot) LIMIT {_AT_ONCE})""",
    _dropping("mail", "received"),
)
_ENDED_THINGS = (
    _dropping("parcels", "ended"),
    # One to a parcel may be on no truck, or have been on several.
    _dropping("links", "expires", "company = ?"),
    _dropping("devices", _ENDED),
)


@dataclass(frozen=True)
class SealedColumn:
    """A column whose values are sealed, and what tells its rows apart."""

    table: str
    keys: tuple[str, ...]
    name: str


def _digest(record: bytes) -> bytes | None:
    try:
        return Record.decode(record).digest()
    except RejectedError:
        return None


class SQLUpkeep:
    """Upkeep over an engine."""

    _engine: Database

    def sealed(self, column: SealedColumn) -> Iterator[tuple[Row, bytes]]:
        """The keys and the value of each row that has one, in the order of the keys."""
        keys = ", ".join(column.keys)
        some = f"SELECT {keys}, {column.name} FROM {column.table} WHERE {column.name} IS NOT NULL"
        order = f" ORDER BY {keys} LIMIT {_AT_ONCE}"
        rows = self._engine.read(some + order)
        while rows:
            yield from ((row[:-1], row[-1]) for row in rows)
            after = f" AND ({keys}) > ({marks(len(column.keys))})"
            rows = self._engine.read(some + after + order, rows[-1][:-1])

    def replace_sealed(
        self, column: SealedColumn, changes: Sequence[tuple[Row, bytes, bytes]]
    ) -> int:
        """Put other values in the place of some, each of which must still be there; how many."""
        those = " AND ".join(f"{key} = ?" for key in (*column.keys, column.name))
        statement = f"UPDATE {column.table} SET {column.name} = ? WHERE {those}"

        def work(connection: Connection) -> int:
            return sum(
                connection.change(statement, (after, *key, before))
                for key, before, after in changes
            )

        return self._engine.write(work)

    def unchained(self) -> int:
        """How many trucks' chains of records do not end where the store says that they do."""
        rows = self._engine.read(
            "SELECT heads.digest, records.record FROM heads LEFT JOIN records "
            "ON records.truck = heads.truck AND records.number = heads.number "
            "WHERE heads.number >= 0"
        )
        return sum(record is None or _digest(record) != digest for digest, record in rows)

    def retentions(self) -> Mapping[str, int]:
        """For how many days things of companies are kept, where that was said."""
        return dict(self._engine.read("SELECT company, days FROM retention"))

    def set_retention(self, company: str, days: int | None) -> None:
        """Say it, or take it back; raises ``ConflictError`` where there is no such company."""

        def work(connection: Connection) -> None:
            connection.change("DELETE FROM retention WHERE company = ?", (company,))
            if days is not None:
                connection.change(
                    "INSERT INTO retention (company, days) VALUES (?, ?)", (company, days)
                )

        self._engine.write(work)

    def purge_traffic(self, company: str, before: float) -> int:
        """Forget what a company's trucks sent and were sent before a time; how many rows.

        Bodies of reports (not the last of a truck), and submissions.  Signed records stay.
        """
        return sum(self._dropped(statement, company, before) for statement in _TRAFFIC)

    def purge_ended(self, company: str, before: float) -> int:
        """Forget what of a company's has ended before a time; how many rows.

        Parcels, links, and tokens of trackers.
        """
        return sum(self._dropped(statement, company, before) for statement in _ENDED_THINGS)

    def _dropped(self, statement: str, company: str, before: float) -> int:
        """Run a statement until it drops no more: others wait for a transaction."""
        values, total = (company, before), 0
        while True:
            dropped = self._engine.write(lambda connection: connection.change(statement, values))
            total += dropped
            if dropped < _AT_ONCE:
                return total

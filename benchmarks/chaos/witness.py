"""Contents that the stores accepted, read without evenkeel's own code.

Redis has its log of commands (append-only file), from which nothing is ever removed here. SQLite has a table
that a trigger fills in the same transaction as the queue's.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.stores.payloads import unpack_exchange as unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_TRIGGERS: Final = """
CREATE TABLE IF NOT EXISTS chaos_accepted (id TEXT, payload BLOB);
CREATE TRIGGER IF NOT EXISTS chaos_accepts AFTER INSERT ON exchanges
  BEGIN INSERT INTO chaos_accepted VALUES (new.id, new.payload); END;
"""


class VerdictEntry(NamedTuple):
    """A verdict as it was appended to the log."""

    id: str
    exchange: str
    failure: str = ""
    """Reason for the missing rating; "" if there is a rating."""

    @classmethod
    def read(cls, verdict: str, exchange: str, body: str | bytes) -> VerdictEntry:
        """Make an entry from its fields: two ids and the body."""
        fields = json.loads(body)
        return cls(verdict, exchange, fields["failure"]["reason"] if fields["rating"] is None else "")

    @classmethod
    def from_stream(cls, fields: dict[bytes, bytes]) -> VerdictEntry:
        """Make an entry from the fields of a Redis stream."""
        return cls.read(fields[b"id"].decode(), fields[b"exchange"].decode(), fields[b"body"])


@dataclass(slots=True)
class StoreContents:
    """Contents that a store accepted."""

    accepted: dict[str, str] = field(default_factory=dict)
    """Request of each exchange in the queue, by the id of the exchange."""
    verdicts: list[VerdictEntry] = field(default_factory=list)
    """Entries of the log; a verdict that was appended twice has two."""
    dead: dict[str, str] = field(default_factory=dict)
    """Reason of each dead letter, by the id of its exchange."""

    @property
    def rated(self) -> int:
        """Number of different verdicts with a rating."""
        return len({verdict.id for verdict in self.verdicts if not verdict.failure})


def commands(path: Path) -> Iterator[list[bytes]]:
    """Yield the commands of an append-only file, up to the place at which it was cut off."""
    with path.open("rb") as file:
        while True:
            head = file.readline()
            if head.startswith(b"#"):  # a time stamp
                continue
            if not head.startswith(b"*") or not head.endswith(b"\r\n"):
                return
            # A server that was killed may have written only a part of its last command.
            command = []
            for _ in range(int(head[1:])):
                size = file.readline()
                if not size.startswith(b"$") or not size.endswith(b"\r\n"):
                    return
                word = file.read(int(size[1:]) + 2)
                if len(word) < int(size[1:]) + 2:
                    return
                command.append(word[:-2])
            yield command


def append_only_files(folder: Path) -> list[Path]:
    """Return the append-only files in a Redis's folder, oldest first."""
    files = (folder / "appendonlydir").glob("*.incr.aof")
    return sorted(files, key=lambda path: int(path.name.split(".")[-3]))


def contents_of_redis(files: Iterable[Path], prefix: str) -> StoreContents:
    """Read append-only files, in order.

    Args:
        files: Files written by one server.
        prefix: Prefix of evenkeel's keys.
    """
    contents = StoreContents()
    main = f"{prefix}:{{main}}:".encode()
    payloads: dict[bytes, str] = {}
    for path in files:
        for command in commands(path):
            verb = command[0].upper()
            key = command[1] if len(command) > 1 else b""
            if not key.startswith(main):
                continue
            name = key.removeprefix(main)
            if verb == b"SET" and name.startswith(b"payload:"):
                payloads[name.removeprefix(b"payload:")] = unpack(command[2]).session or ""
            elif verb == b"XADD" and name in {b"exchanges", b"dead", b"log"}:
                # The fields begin after the options of the command, whose number varies.
                start = command.index(b"id")
                fields = dict(zip(command[start::2], command[start + 1 :: 2], strict=True))
                entry = fields[b"id"]
                if name == b"exchanges":
                    contents.accepted[entry.decode()] = payloads.get(entry, "")
                elif name == b"dead":
                    contents.dead[entry.decode()] = fields[b"reason"].decode()
                else:
                    contents.verdicts.append(VerdictEntry.from_stream(fields))
    return contents


def watch_sqlite(path: Path) -> None:
    """Make a database record the exchanges that its queue accepts; its tables must exist."""
    connection = sqlite3.connect(path, timeout=10.0)
    connection.executescript(_TRIGGERS)
    connection.close()


def contents_of_sqlite(path: Path) -> StoreContents:
    """Read the accepted exchanges, the verdicts and the dead letters of a watched database."""
    connection = sqlite3.connect(path, timeout=10.0)
    contents = StoreContents()
    for exchange, payload in connection.execute("SELECT id, payload FROM chaos_accepted"):
        contents.accepted[exchange] = unpack(payload).session or ""
    for row in connection.execute("SELECT id, exchange_id, body FROM verdicts ORDER BY offset"):
        contents.verdicts.append(VerdictEntry.read(*row))
    contents.dead = dict(connection.execute("SELECT id, reason FROM dead_exchanges").fetchall())
    connection.close()
    return contents

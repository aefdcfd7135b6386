"""What the stores had accepted, read past evenkeel's own code.

Redis: its log of commands (append-only file), which nothing is ever taken out of here. SQLite: a table that a
trigger fills in the same transaction as the queue's.
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


class Logged(NamedTuple):
    """A verdict as it was appended to the log."""

    id: str
    exchange: str
    failure: str = ""
    """Why it has no rating, "" if it has one."""

    @classmethod
    def read(cls, one: str, exchange: str, body: str | bytes) -> Logged:
        """From the fields of its entry."""
        fields = json.loads(body)
        return cls(one, exchange, fields["failure"]["reason"] if fields["rating"] is None else "")


@dataclass(slots=True)
class Seen:
    """What a store was told to keep."""

    accepted: dict[str, str] = field(default_factory=dict)
    """Exchange id → id of its request."""
    verdicts: list[Logged] = field(default_factory=list)
    """Each entry of the log, one for each time it was appended."""
    dead: dict[str, str] = field(default_factory=dict)
    """Exchange id → why it was given up."""


def commands(path: Path) -> Iterator[list[bytes]]:
    """The commands of one append-only file, up to where it was cut off."""
    with path.open("rb") as file:
        while True:
            head = file.readline()
            if head.startswith(b"#"):  # a time stamp
                continue
            if not head.startswith(b"*") or not head.endswith(b"\r\n"):
                return
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
    """The files of a Redis's folder, oldest first."""
    found = (folder / "appendonlydir").glob("*.incr.aof")
    return sorted(found, key=lambda path: int(path.name.split(".")[-3]))


def seen_by_redis(files: Iterable[Path], prefix: str) -> Seen:
    """Read append-only files, in order.

    Args:
        files: written by one server.
        prefix: of evenkeel's keys.
    """
    seen = Seen()
    main = f"{prefix}:{{main}}:".encode()
    payloads: dict[bytes, str] = {}
    for path in files:
        for command in commands(path):
            verb, key = command[0].upper(), command[1] if len(command) > 1 else b""
            if not key.startswith(main):
                continue
            name = key.removeprefix(main)
            if verb == b"SET" and name.startswith(b"payload:"):
                payloads[name.removeprefix(b"payload:")] = unpack(command[2]).session or ""
            elif verb == b"XADD" and name in {b"exchanges", b"dead", b"log"}:
                start = next(place for place, word in enumerate(command) if word == b"id")
                fields = dict(zip(command[start::2], command[start + 1 :: 2], strict=True))
                one = fields[b"id"]
                if name == b"exchanges":
                    seen.accepted[one.decode()] = payloads.get(one, "")
                elif name == b"dead":
                    seen.dead[one.decode()] = fields[b"reason"].decode()
                else:
                    seen.verdicts.append(
                        Logged.read(one.decode(), fields[b"exchange"].decode(), fields[b"body"])
                    )
    return seen


def watch_sqlite(path: Path) -> None:
    """Let the database note what its queue accepts; its tables must be there."""
    connection = sqlite3.connect(path, timeout=10.0)
    connection.executescript(_TRIGGERS)
    connection.close()


def seen_by_sqlite(path: Path) -> Seen:
    """Read what it noted, its verdicts and its dead letters."""
    connection = sqlite3.connect(path, timeout=10.0)
    accepted = connection.execute("SELECT id, payload FROM chaos_accepted")
    verdicts = connection.execute("SELECT id, exchange_id, body FROM verdicts ORDER BY offset")
    seen = Seen(
        {one: unpack(payload).session or "" for one, payload in accepted},
        [Logged.read(*row) for row in verdicts],
        dict(connection.execute("SELECT id, reason FROM dead_exchanges").fetchall()),
    )
    connection.close()
    return seen

"""Bursts: for a while more of a route's requests are sampled than its settings say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.stores.documents import Collection

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents


class Override(NamedTuple):
    """A route is sampled more until a time."""

    route: str
    rate: float
    until: float
    """Unix time in seconds."""
    change: str
    """Id of the change that it is about."""


_BURSTS: Final = Collection(
    schema=(
        """CREATE TABLE IF NOT EXISTS sampling_overrides (
             route TEXT PRIMARY KEY, rate REAL NOT NULL, until REAL NOT NULL, change TEXT NOT NULL)""",
    ),
    table="sampling_overrides",
    key=("route",),
    columns=("rate", "until", "change"),
    tag="changes",
    layout="hash",
    name="bursts",
    pack=lambda override, _seal: json.dumps(override[1:]),
    unpack=lambda body, _seal, name: Override(name[0], *json.loads(body)),
    key_of=lambda override: (override.route,),
)


class Bursts:
    """What is sampled more at the moment. Calls block on storage; several processes may share it."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        documents.open(_BURSTS)

    def put(self, override: Override) -> None:
        """Sample a route more; replaces what was said about it before."""
        self._documents.put(_BURSTS, override)

    def drop(self, route: str) -> None:
        """Sample it as the settings say again."""
        self._documents.drop(_BURSTS, route)

    def active(self, now: float) -> list[Override]:
        """Those that hold at a time, by route."""
        return sorted(one for one in self._documents.history(_BURSTS) if one.until > now)

"""What was learned of the routes' templates, as one document."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.stores.documents import Body, Collection

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents
    from evenkeel.stores.sealing import Seal

_PLACE: Final = "templates"
_ZLIB: Final = b"\x78"
"""Begins what is compressed; no JSON does."""


def _closed(state: str, seal: Seal) -> Body:
    return seal.close_text(state, _PLACE)


def _compressed(state: str, seal: Seal) -> Body:
    return seal.close(zlib.compress(state.encode(), 1), _PLACE)


def _opened(body: Body, seal: Seal, _name: tuple[str, ...]) -> str:
    if isinstance(body, str):
        return body
    opened = seal.open(body, _PLACE)
    return (zlib.decompress(opened) if opened.startswith(_ZLIB) else opened).decode("utf-8", "surrogatepass")


_STATE: Final = Collection(
    schema=("CREATE TABLE IF NOT EXISTS templates (id INTEGER PRIMARY KEY, state TEXT NOT NULL)",),
    table="templates",
    key=("id",),
    columns=("state",),
    tag="templates",
    layout="keys",
    name="state",
    pack=_closed,
    unpack=_opened,
    key_of=lambda _state: ("1",),
)


class TemplateStore:
    """What a learner of templates knows, as JSON."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._state = replace(_STATE, pack=_compressed) if documents.remote else _STATE
        documents.open(self._state)

    def load(self) -> str:
        """What was saved last; "" if nothing was."""
        return self._documents.find(self._state, "1") or ""

    def save(self, state: str) -> None:
        """Replace it."""
        self._documents.put(self._state, state)

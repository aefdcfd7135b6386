"""Store of the learned templates of the routes, as one document."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.stores.documents import Collection, DocumentBody, Packed

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents
    from evenkeel.stores.sealing import Seal

_PLACE: Final = "templates"
_LEARNER: Final = "all"
# Prefix of compressed texts; no JSON begins with it.
_ZLIB: Final = b"\x78"


class _State(NamedTuple):
    learner: str
    text: str


def _closed(state: _State, seal: Seal) -> Packed:
    return seal.close_text(state.text, _PLACE)


def _compressed(state: _State, seal: Seal) -> Packed:
    return seal.close(zlib.compress(state.text.encode(), 1), _PLACE)


def _opened(packed: Packed, seal: Seal, key: tuple[str, ...]) -> _State:
    if isinstance(packed, str):
        return _State(key[0], packed)
    opened = seal.open(packed, _PLACE)
    text = zlib.decompress(opened) if opened.startswith(_ZLIB) else opened
    return _State(key[0], text.decode("utf-8", "surrogatepass"))


_STATE: Final = Collection(name="templates", key=("learner",), body=DocumentBody(_closed, _opened))


class TemplateStore:
    """State of a template learner, as JSON."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._state = replace(_STATE, body=DocumentBody(_compressed, _opened)) if documents.remote else _STATE
        documents.open(self._state)

    def load(self) -> str:
        """Return the state that was saved last; "" if there is none."""
        state = self._documents.find(self._state, _LEARNER)
        return state.text if state else ""

    def save(self, state: str) -> None:
        """Replace the saved state."""
        self._documents.put(self._state, _State(_LEARNER, state))

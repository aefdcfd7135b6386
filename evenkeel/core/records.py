"""Records as JSON: the encoding of records that are stored or sent.

The monitor's fold and the proxy, which write the same few shapes very often, call msgspec themselves.
"""

from __future__ import annotations

import threading
from typing import Any, Final, TypeVar

import msgspec

from evenkeel.core.text import well_formed

_Record = TypeVar("_Record")

# A decoder is made once for each class: making one reads all its annotations.
_DECODERS: Final[dict[type, msgspec.json.Decoder[Any]]] = {}
# Held while msgspec looks at a class for the first time: two threads that do so at once crash the process
# (msgspec 0.22).
_BUILDING: Final = threading.Lock()


def to_json(record: object) -> str:
    """Return a record as one line of JSON. Half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD."""
    try:
        return msgspec.json.encode(record, enc_hook=_plain).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_well_formed(msgspec.to_builtins(record, enc_hook=_plain))).decode()


def from_json(text: str | bytes, kind: type[_Record]) -> _Record:
    """Read what `to_json` wrote.

    Raises: msgspec.MsgspecError, a ValueError, if the text is no such record.
    """
    record: _Record = _decoder(kind).decode(text)
    return record


def from_plain(value: Any, kind: type[_Record], *, strict: bool = True) -> _Record:
    """Read a record from dictionaries and lists.

    Args:
        value: As a JSON text decodes to.
        kind: Of the record.
        strict: False to take numbers for texts, as the keys of JSON objects are.

    Raises: msgspec.ValidationError, a ValueError, if the value is no such record.
    """
    _decoder(kind)
    return msgspec.convert(value, kind, strict=strict)


def _decoder(kind: type) -> msgspec.json.Decoder[Any]:
    """Return the decoder of a kind, after which msgspec knows all classes in it."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        with _BUILDING:
            decoder = _DECODERS.setdefault(kind, msgspec.json.Decoder(kind))
    return decoder


def _plain(value: Any) -> Any:
    """Return a number of numpy, which a metric may give, as one of Python."""
    if not hasattr(value, "item"):
        raise NotImplementedError(f"a record holds {type(value).__name__}")
    return value.item()


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_well_formed(name): _well_formed(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_well_formed(member) for member in value]
    return value

"""Records as JSON: the encoding of every record that is stored or sent."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from evenkeel.core.text import well_formed

_Record = TypeVar("_Record")


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
    return msgspec.json.decode(text, type=kind)


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

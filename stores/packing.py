"""An exchange as one blob of bytes, compressed where that is worth it."""

from __future__ import annotations

import json
import logging
import struct
import zlib
from typing import TYPE_CHECKING, Any

from evenkeel.core.exchange import Exchange, Lease
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from evenkeel.stores.sealing import Seal

log = logging.getLogger("evenkeel.queue")

_SIZES = struct.Struct("<II")
_META = tuple(name for name in Exchange.__dataclass_fields__ if name not in {"request_body", "response_body"})
_RAW, _ZLIB = b"r", b"z"
_SMALL_BYTES = 4 << 10
"""Below this, packing costs the data plane more than it saves the disk."""
_PROBED_ABOVE_BYTES = 64 << 10
_PROBE_BYTES = 8 << 10
_WORTH_IT = 0.7
"""Pictures in base64 shrink to three quarters, text to a third: the former are stored as they are."""
_PLACE = "exchange"


def pack(exchange: Exchange) -> bytes:
    """One compressed blob: two sizes, the fields as JSON, the request body, the response body."""
    meta = json.dumps([getattr(exchange, name) for name in _META]).encode()
    sizes = _SIZES.pack(len(meta), len(exchange.request_body))
    whole = b"".join((sizes, meta, exchange.request_body, exchange.response_body))
    if len(whole) < _SMALL_BYTES:
        return _RAW + whole
    if len(whole) > _PROBED_ABOVE_BYTES:
        middle = len(whole) // 2
        probe = whole[middle : middle + _PROBE_BYTES]
        if len(zlib.compress(probe, 1)) > _WORTH_IT * len(probe):
            return _RAW + whole
    return _ZLIB + zlib.compress(whole, 1)


def unpack(packed: bytes) -> Exchange:
    """The exchange that was packed."""
    raw = packed[1:] if packed[:1] == _RAW else zlib.decompress(packed[1:])
    meta_bytes, request_bytes = _SIZES.unpack_from(raw)
    request_at = _SIZES.size + meta_bytes
    response_at = request_at + request_bytes
    fields: dict[str, Any] = dict(zip(_META, json.loads(raw[_SIZES.size : request_at]), strict=True))
    for name in ("request_headers", "response_headers"):
        fields[name] = tuple((key, value) for key, value in fields[name])
    return Exchange(request_body=raw[request_at:response_at], response_body=raw[response_at:], **fields)


def sealed(exchange: Exchange, seal: Seal) -> bytes:
    """The blob as a queue keeps it: packed, then encrypted if there is a key."""
    return seal.close(pack(exchange), _PLACE)


def lease_of(exchange_id: str, payload: bytes, seal: Seal, expires_at: float, attempt: int) -> Lease:
    """The lease of what `sealed` made. Where that cannot be read, the lease says why."""
    try:
        if payload:
            return Lease(unpack(seal.open(payload, _PLACE)), expires_at, attempt)
        fault, said = "expired", "it waited for longer than its bodies may be kept"
    except SealError as error:
        fault, said = "undecryptable", str(error)
    except (zlib.error, struct.error, ValueError, TypeError, KeyError) as error:
        fault, said = "damaged", f"it cannot be unpacked ({error})"
    log.error("exchange %s goes to the dead letters: %s", exchange_id, said)
    nothing = Exchange(exchange_id, "", 0.0, 0.0, "", "", 0, (), b"", (), b"")
    return Lease(nothing, expires_at, attempt, fault)


def dead_body(payload: bytes, seal: Seal) -> Exchange | None:
    """The exchange of a dead letter; None if its bodies are forgotten or cannot be read."""
    if not payload:
        return None
    try:
        return unpack(seal.open(payload, _PLACE))
    except (SealError, zlib.error, struct.error, ValueError, TypeError, KeyError):
        return None


def check_readable(newest: bytes | None, seal: Seal) -> None:
    """Raise SealError if the newest exchange of a queue cannot be decrypted: then hardly any could be."""
    if newest is not None:
        seal.open(newest, _PLACE)

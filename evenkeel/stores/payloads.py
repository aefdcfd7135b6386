"""Encoding of exchanges and verdicts in a queue and a log.

An exchange is one blob of bytes, compressed where that is worth it, and encrypted as a whole. Of a verdict
only the texts that may quote an answer are encrypted: the monitor folds a log whose keys are gone, and
only the explanations can no longer be read.
"""

from __future__ import annotations

import base64
import logging
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from evenkeel.core.exchange import Exchange, Lease
from evenkeel.core.records import from_json, to_json
from evenkeel.core.verdict import Evidence, Verdict
from evenkeel.stores.sealing import SealError, check_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.verdict import Failure
    from evenkeel.stores.sealing import Seal


log = logging.getLogger("evenkeel.queue")

# Made before there are threads: two that have msgspec look at a class for the first time crash the process.
_EXCHANGES: Final = msgspec.msgpack.Decoder(Exchange)
# First byte of a payload: how the rest is packed.
_RAW, _ZLIB = b"r", b"z"
# Size in bytes below which packing costs the data plane more than it saves on disk.
_SMALL_BYTES = 4 << 10
# Of a large payload a part is compressed first: pictures and audio do not get smaller.
_PROBED_ABOVE_BYTES = 64 << 10
_PROBE_BYTES = 8 << 10
# Ratio above which a compressed body is stored as it is.
#
# Pictures in base64 shrink to three quarters, text to a third.
_WORTH_IT = 0.7
_EXCHANGE_PLACE = "exchange"


def storable(text: str) -> str:
    """Return a text as keys and columns can hold it.

    Half a surrogate pair, which clients can send, becomes "?".
    """
    return text.encode("utf-8", "replace").decode()


def pack_exchange(exchange: Exchange) -> bytes:
    """Pack an exchange into one blob, as MessagePack, which takes bodies of any bytes."""
    whole = msgspec.msgpack.encode(exchange)
    if len(whole) < _SMALL_BYTES:
        return _RAW + whole
    if len(whole) > _PROBED_ABOVE_BYTES:
        middle = len(whole) // 2
        probe = whole[middle : middle + _PROBE_BYTES]
        if len(zlib.compress(probe, 1)) > _WORTH_IT * len(probe):
            return _RAW + whole
    return _ZLIB + zlib.compress(whole, 1)


def unpack_exchange(packed: bytes) -> Exchange:
    """Unpack the result of `pack_exchange`."""
    return _EXCHANGES.decode(packed[1:] if packed[:1] == _RAW else zlib.decompress(packed[1:]))


def seal_exchange(exchange: Exchange, seal: Seal) -> bytes:
    """Pack an exchange as a queue keeps it, encrypted if there is a key."""
    return seal.close(pack_exchange(exchange), _EXCHANGE_PLACE)


def lease_of(exchange_id: str, payload: bytes, seal: Seal, attempt: int) -> Lease:
    """Return the lease of a payload that `seal_exchange` made. If it cannot be read, the lease says why."""
    try:
        if payload:
            return Lease(_opened(exchange_id, payload, seal), attempt)
        fault, detail = "expired", "it waited for longer than its bodies may be kept"
    except SealError as error:
        fault, detail = "undecryptable", str(error)
    except (zlib.error, ValueError, RecursionError) as error:
        fault, detail = "damaged", f"it cannot be unpacked ({error})"
    log.error("exchange %s goes to the dead letters: %s", exchange_id, detail)
    nothing = Exchange(exchange_id, "", 0.0, 0.0, "", "", 0, (), b"", (), b"")
    return Lease(nothing, attempt, fault)


def _opened(exchange_id: str, payload: bytes, seal: Seal) -> Exchange:
    # Whoever can write to the store could put one exchange in the place of another.
    exchange = unpack_exchange(seal.open(payload, _EXCHANGE_PLACE))
    check_name(exchange.id, exchange_id, _EXCHANGE_PLACE)
    return exchange


def check_readable(newest: bytes | None, seal: Seal) -> None:
    """Raise SealError if the newest exchange of a queue cannot be decrypted: others would fail too."""
    if newest is not None:
        seal.open(newest, _EXCHANGE_PLACE)


# Begins a text that is encrypted. A text of a user that begins so is marked as plain.
_SEALED: Final = "\x00sealed:"
# Escape for a plain text that begins with either prefix, as a judge can be made to write.
_PLAIN: Final = "\x00plain:"
_VERDICT_PLACE: Final = "verdict"


def close_part(text: str, place: str, seal: Seal) -> str:
    """Encrypt a text within a readable document if there is a key; an empty text stays as it is."""
    if not seal.active:
        return _PLAIN + text if text.startswith((_SEALED, _PLAIN)) else text
    if not text:
        return text  # nothing to hide, and readers ask whether there is a text
    sealed = seal.close(text.encode("utf-8", "surrogatepass"), place)
    return _SEALED + base64.b64encode(sealed).decode()


def open_part(text: str, place: str, seal: Seal) -> str:
    """Open a text from `close_part`. If its key is missing, the message about it is returned instead."""
    if not text.startswith(_SEALED):
        return text.removeprefix(_PLAIN)
    try:
        sealed = base64.b64decode(text.removeprefix(_SEALED))
        return seal.open(sealed, place).decode("utf-8", "surrogatepass")
    except (SealError, ValueError, RecursionError) as error:
        return f"({error})"


def pack_evidence(evidence: Evidence, place: str, seal: Seal) -> bytes:
    """Pack prompts and answers: compressed, and encrypted if there is a key."""
    return seal.close(zlib.compress(to_json(evidence).encode()), place)


def unpack_evidence(packed: bytes, place: str, seal: Seal) -> Evidence:
    """Unpack the result of `pack_evidence`. Raises: SealError if it cannot be opened."""
    return from_json(zlib.decompress(seal.open(packed, place)), Evidence)


def pack_verdict(verdict: Verdict, seal: Seal) -> str:
    """Return a verdict as JSON; its explanation and details of failures are sealed if there is a key."""
    name = f"{_VERDICT_PLACE}/{verdict.id}"
    return to_json(_with_texts(verdict, lambda text: close_part(text, name, seal)))


def unpack_verdict(body: str, seal: Seal) -> Verdict:
    """Read the verdict that `pack_verdict` wrote. A text whose key is missing is replaced by a message."""
    verdict = from_json(body, Verdict)
    if (
        "u0000sealed:" not in body and "u0000plain:" not in body
    ):  # nearly all verdicts of a store without keys, at the price of a search
        return verdict

    name = f"{_VERDICT_PLACE}/{verdict.id}"
    return _with_texts(verdict, lambda text: open_part(text, name, seal))


def _with_texts(verdict: Verdict, change: Callable[[str], str]) -> Verdict:
    # These are all the texts of a verdict that can quote an answer.
    def changed(failure: Failure) -> Failure:
        return replace(failure, detail=change(failure.detail))

    return structs.replace(
        verdict,
        scoring=structs.replace(verdict.scoring, explanation=change(verdict.scoring.explanation)),
        failure=changed(verdict.failure) if verdict.failure else None,
        quality_failures=tuple(map(changed, verdict.quality_failures)),
    )

"""Replays that wait for their answers in a provider's batches: parked exchanges, and the batches under way.

A parked exchange has left the queue; it stays here, with the requests made of it, until all of its trials are
rated. It quotes a prompt and an answer as the queue does, and is sealed as that is. A batch names its
exchanges; what a provider calls it is written down before and after each step, so that whoever goes on after
a crash knows what may have been sent.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evenkeel.stores.documents import Collection
from evenkeel.stores.payloads import pack_exchange, unpack_exchange
from evenkeel.stores.sealing import check_name

if TYPE_CHECKING:
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.tiers import TierApi
    from evenkeel.stores.documents import Body, Change, Documents
    from evenkeel.stores.sealing import Seal

_PLACE: Final = "parked"

BatchState = Literal["made", "uploaded", "running", "ended"]
"""How far a batch is: to be sent; its file is with the provider; the provider works on it; its answers are
there, or will never be."""


@dataclass(frozen=True, slots=True)
class ParkedTrial:
    """A trial whose replay waits for its answer."""

    request_id: str
    """Names it to the provider: letters and digits, and nothing that tells of the exchange."""
    perturbation: str
    version: int
    severity: float
    seed: int
    exchange_weight: float
    path_weight: float
    split_of: str
    wanted_format: str | None
    wanted_language: str | None
    body: str
    """Of the replay, JSON text."""
    tokens: int
    """Booked for it."""
    usd: float


@dataclass(frozen=True, slots=True)
class ParkedExchange:
    """An exchange whose trials wait, as it was read when they were planned."""

    exchange: Exchange
    lane: str
    """Only exchanges of the same lane share a batch: same route, endpoint and model."""
    parked_at: float
    """Unix time in seconds."""
    model: str
    prompt_version: str | None
    task: str | None
    cluster: str
    settings: str
    """Fingerprint of the settings that the trials were planned under."""
    trials: tuple[ParkedTrial, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of its requests in a batch, about."""
        return sum(len(trial.body.encode("utf-8", "replace")) + _LINE_BYTES for trial in self.trials)


_LINE_BYTES: Final = 200
"""What a batch puts around a request."""


class ParkedState(NamedTuple):
    """What is known of a parked exchange without reading it."""

    id: str
    lane: str
    route: str
    parked_at: int
    """In whole seconds."""
    requests: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests that are sent to a provider together."""

    id: str
    """Ours; it marks the file and the batch, so that they are found again."""
    lane: str
    route: str
    api: TierApi
    root: str
    """URL up to and including the version; what is sent under another one is sent nowhere."""
    endpoint: str
    """Path of the API that the requests are of, such as "/v1/chat/completions"."""
    path: str
    """The same as the route's clients ask for it."""
    exchanges: tuple[str, ...]
    requests: int
    made_at: float
    """Unix time in seconds."""
    state: BatchState = "made"
    attempted_at: float = 0.0
    """When a file or batch was sent of which it is not known whether it arrived; 0 = none."""
    file: str = ""
    """The provider's name of the uploaded file."""
    name: str = ""
    """The provider's name of the batch."""
    running_since: float = 0.0
    ended_at: float = 0.0
    ending: str = ""
    """Why answers are missing, in snake case; "" if all that will come are there."""
    detail: str = ""
    outputs: tuple[str, ...] = field(default=())
    """Where its answers are."""


class BatchStore:
    """Parked exchanges and batches. Calls block on storage; several processes may share it."""

    def __init__(self, documents: Documents, *, total_bytes: int) -> None:
        """Open the store.

        Args:
            documents: Where they are.
            total_bytes: What the requests of all parked exchanges may take.
        """
        self._documents = documents
        self._total_bytes = total_bytes
        documents.open(_PARKED, _BATCHES)

    def room(self) -> int:
        """Bytes that further requests may take."""
        return self._total_bytes - sum(one.size_bytes for one in self.states())

    def park(self, parked: ParkedExchange) -> bool:
        """Keep an exchange; False, changing nothing, if it is there."""

        def work(change: Change) -> bool:
            if self.holds(parked.exchange.id):
                return False
            change.put(_PARKED, parked)
            return True

        return self._documents.change(_PARKED, work)

    def holds(self, exchange_id: str) -> bool:
        """Whether an exchange is parked."""
        return bool(self._documents.known(_PARKED, [exchange_id]))

    def find(self, exchange_id: str) -> ParkedExchange | None:
        """A parked exchange; None if it is done with. Raises: SealError if it cannot be read."""
        return self._documents.find(_PARKED, exchange_id)

    def drop(self, exchange_id: str) -> bool:
        """Forget an exchange; False if it is not there, as when another process was faster."""

        def work(change: Change) -> bool:
            held = self.holds(exchange_id)
            change.drop(_PARKED, exchange_id)
            return held

        return self._documents.change(_PARKED, work)

    def left(self, batch: Batch) -> bool:
        """Whether any exchange of a batch is parked still."""
        return bool(self._documents.known(_PARKED, batch.exchanges))

    def states(self) -> list[ParkedState]:
        """What is known of all parked exchanges, the longest parked first."""
        found = [ParkedState(*row) for row in self._documents.values(_PARKED, *ParkedState._fields)]  # type: ignore[arg-type]
        return sorted(found, key=lambda one: (one.parked_at, one.id))

    def batches(self) -> list[Batch]:
        """All batches, the oldest first."""
        return sorted(self._documents.history(_BATCHES), key=lambda one: (one.made_at, one.id))

    def put(self, batch: Batch) -> None:
        """Write down what is known of a batch."""
        self._documents.put(_BATCHES, batch)

    def remove(self, batch_id: str) -> None:
        """Forget a batch, if it is there."""
        self._documents.drop(_BATCHES, batch_id)


def _pack(parked: ParkedExchange, seal: Seal) -> bytes:
    own = {name: getattr(parked, name) for name in _FIELDS}
    whole = {
        **own,
        "exchange": base64.b64encode(pack_exchange(parked.exchange)).decode(),
        "trials": [asdict(trial) for trial in parked.trials],
    }
    return seal.close(zlib.compress(json.dumps(whole).encode(), 1), _PLACE)


def _unpack(packed: Body, seal: Seal, name: tuple[str, ...]) -> ParkedExchange:
    assert isinstance(packed, bytes)
    raw: dict[str, Any] = json.loads(zlib.decompress(seal.open(packed, _PLACE)))
    exchange = unpack_exchange(base64.b64decode(raw["exchange"]))
    if name:
        check_name(exchange.id, name[0], _PLACE)
    trials = tuple(ParkedTrial(**_known(ParkedTrial, trial)) for trial in raw["trials"])
    return ParkedExchange(exchange=exchange, trials=trials, **{one: raw[one] for one in _FIELDS})


_FIELDS: Final = tuple(
    one.name for one in dataclasses.fields(ParkedExchange) if one.name not in {"exchange", "trials"}
)


def _known(kind: Any, raw: dict[str, Any]) -> dict[str, Any]:
    """The fields that this release knows: a later one may have added some."""
    names = {one.name for one in dataclasses.fields(kind)}
    return {name: value for name, value in raw.items() if name in names}


def _unpack_batch(body: Body) -> Batch:
    raw = _known(Batch, json.loads(body))
    for name in ("exchanges", "outputs"):
        raw[name] = tuple(raw[name])
    return Batch(**raw)


_PARKED: Final = Collection(
    schema=(
        """CREATE TABLE IF NOT EXISTS parked_exchanges (
             seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, version INTEGER NOT NULL,
             lane TEXT NOT NULL, route TEXT NOT NULL, parked_at INTEGER NOT NULL, requests INTEGER NOT NULL,
             size_bytes INTEGER NOT NULL, kept INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (id, version))""",
        # Covers what is asked for without the texts.
        """CREATE INDEX IF NOT EXISTS parked_exchanges_states ON parked_exchanges (
             id, lane, route, parked_at, requests, size_bytes)""",
    ),
    table="parked_exchanges",
    key=("id",),
    versioned=True,
    fields=(*ParkedState._fields, "kept"),
    tag="batches",
    layout="indexed",
    revision="revision",
    pack=_pack,
    unpack=_unpack,
    key_of=lambda one: (one.exchange.id,),
    fields_of=lambda one: (
        one.exchange.id,
        one.lane,
        one.exchange.route,
        int(one.parked_at),
        len(one.trials),
        one.size_bytes,
        1,
    ),
)
_BATCHES: Final = Collection(
    schema=("CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, body TEXT NOT NULL)",),
    table="batches",
    key=("id",),
    tag="batches",
    layout="hash",
    name="under-way",
    pack=lambda batch, _seal: json.dumps(asdict(batch)),
    unpack=lambda body, _seal, _name: _unpack_batch(body),
    key_of=lambda batch: (batch.id,),
)

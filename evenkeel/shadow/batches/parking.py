"""Parking: trials that can wait for hours leave the worker, and come back with their answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal, cast

from evenkeel.core.pair import Wanted
from evenkeel.shadow.batches.apis import ENDPOINTS
from evenkeel.shadow.planner import Trial
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.trials import Planned
from evenkeel.stores.batches import ParkedExchange, ParkedTrial

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Format
    from evenkeel.core.rewordings import Rewording
    from evenkeel.core.tiers import TierApi
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.perturbations import Outcome
    from evenkeel.shadow.perturbations.protocol import Requirement
    from evenkeel.shadow.prompt import Api
    from evenkeel.shadow.replay import Late, Target
    from evenkeel.shadow.trials import TrialMaker, Waiting
    from evenkeel.stores.batches import BatchStore

Parked = Literal["parked", "refused", "impossible"]
"""What came of an attempt: the trials wait; the budget is too small for them, which is counted; or they have
to be made at once: no batch takes them, or nothing but the control could wait."""

_ID_BYTES: Final = 16
_ROOM_SEEN_FOR_S: Final = 10.0
_SPEAKS: Final[dict[TierApi, frozenset[Api]]] = {
    "openai": frozenset({"chat", "completions", "responses"}),
    "anthropic": frozenset({"messages"}),
}
"""The APIs whose requests a provider's batches take."""


@dataclass(frozen=True, slots=True)
class Lane:
    """What exchanges that share a batch have in common."""

    route: str
    api: TierApi
    root: str
    """URL of the API up to and including the version."""
    endpoint: str
    model: str

    @property
    def key(self) -> str:
        """Names it, without telling of it."""
        return _digest(self.route, self.api, self.root, self.endpoint, self.model)


def lane_of(target: Target, api: Api | None, model: str | None = None) -> Lane | None:
    """The lane of a request; None if its target takes no batches of it.

    Args:
        target: Where it would be sent now.
        api: Of the request.
        model: That it names.
    """
    if target.batches is None or api not in _SPEAKS[target.batches]:
        return None
    root, found, rest = target.url.rpartition(ENDPOINTS[api])
    if not found or rest:
        return None
    return Lane(target.route, target.batches, root, f"/v1{ENDPOINTS[api]}", model or "")


class Parking:
    """Parks trials that are made of an exchange."""

    def __init__(
        self,
        store: BatchStore,
        trials: TrialMaker,
        *,
        target: Callable[[Exchange], Target],
        clock: Callable[[], float],
    ) -> None:
        """Wire it.

        Args:
            store: Where exchanges wait.
            trials: Finishes variants and books what they may cost.
            target: Where an exchange's replays go.
            clock: Unix time in seconds.
        """
        self._store = store
        self._trials = trials
        self._target = target
        self._clock = clock
        self._room = 0
        self._room_seen_at = float("-inf")

    def holds(self, exchange_id: str) -> bool:
        """Whether an exchange waits here. Blocks."""
        return self._store.holds(exchange_id)

    def drop(self, exchange_id: str) -> None:
        """Give up an exchange, if it waits here. Blocks."""
        self._store.drop(exchange_id)

    def takes(self, original: Original) -> bool:
        """Whether an exchange's replays can go through batches."""
        return self._lane(original) is not None

    def _lane(self, original: Original) -> Lane | None:
        return lane_of(self._target(original.exchange), original.view.api, original.view.model)

    async def park(self, original: Original, planned: Sequence[Planned], *, begins: bool) -> Parked:
        """Have trials answered through a batch.

        Args:
            original: What is tried.
            planned: How. The first is the control, so that what a batch is answered by is in both sides of
                a comparison.
            begins: Whether the exchange begins with them.
        """
        lane = self._lane(original)
        if lane is None:
            return "impossible"
        # Before anything is booked: what is given back must not fall on another day.
        now = self._clock()
        size = len(planned) * len(original.exchange.request_body)
        if not await asyncio.to_thread(self._has_room, size, now):
            return "impossible"
        waiting = await self._trials.wait(original, planned, begins=begins)
        if not waiting:
            return "refused" if waiting is None else "impossible"
        parked = ParkedExchange(
            original.exchange,
            lane.key,
            now,
            original.model,
            original.prompt_version,
            original.task,
            original.cluster,
            self._trials.settings_of(original.exchange.route),
            tuple(map(_parked, waiting)),
        )
        self._room -= parked.size_bytes
        await asyncio.to_thread(self._store.park, parked)
        return "parked"

    def _has_room(self, size: int, now: float) -> bool:
        if not 0 <= now - self._room_seen_at < _ROOM_SEEN_FOR_S:
            self._room, self._room_seen_at = self._store.room(), now
        return size <= self._room


def _parked(waiting: Waiting) -> ParkedTrial:
    trial, kind = waiting.trial, waiting.trial.perturbation
    return ParkedTrial(
        _digest(trial.id),
        kind.name,
        kind.version,
        trial.severity,
        trial.seed,
        trial.exchange_weight,
        trial.path_weight,
        trial.split_of,
        kind.wanted.format,
        kind.wanted.language,
        waiting.body,
        waiting.estimate.tokens,
        waiting.estimate.usd,
    )


def restored(original: Original, parked: ParkedExchange) -> Original:
    """An original as it was when its trials were planned, whatever was learned since."""
    return replace(
        original,
        model=parked.model,
        prompt_version=parked.prompt_version,
        task=parked.task,
        cluster=parked.cluster,
    )


def trials_of(parked: ParkedExchange, api: Api, late: Mapping[str, Late]) -> list[Planned]:
    """The trials of a parked exchange with what came of them, and their variants.

    Args:
        parked: The exchange.
        api: Of its requests.
        late: By request, of all of them.
    """
    found = []
    for one in parked.trials:
        wanted = Wanted(cast("Format | None", one.wanted_format), one.wanted_language)
        trial = Trial(
            parked.exchange.id,
            _Sent(one.perturbation, one.version, wanted),
            one.severity,
            one.seed,
            one.exchange_weight,
            one.path_weight,
            one.split_of,
            can_wait=True,
            late=late[one.request_id],
        )
        found.append(Planned(trial, PromptView.parse(one.body.encode(), api=api)))
    return found


@dataclass(frozen=True, slots=True)
class _Sent:
    """The perturbation of a request that is sent already, which settings may have dropped since."""

    name: str
    version: int
    wanted: Wanted
    graded: bool = True
    requires: frozenset[Requirement] = frozenset()

    @property
    def rewording(self) -> Rewording:
        """Nobody asks: it is looked up by name."""
        raise NotImplementedError

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Never again."""
        raise NotImplementedError


def _digest(*parts: Any) -> str:
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=_ID_BYTES).hexdigest()

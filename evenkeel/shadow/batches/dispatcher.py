"""The dispatcher: fills batches with parked exchanges, sends them, and has what comes back rated.

One worker at a time does this. Each step is written down before it is taken and after: whoever goes on after
a crash first looks for what may have been sent. Answers stay with the provider until every trial that they
belong to has its verdict; a verdict is logged once, whoever rates it again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import httpx2

from evenkeel.core import figures
from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.exchange import LOOP_GUARD_HEADER, Exchange
from evenkeel.core.verdict import Failure
from evenkeel.llm.price import Quote
from evenkeel.shadow.batches.apis import APIS, MOST_BYTES, BatchCalls, BatchError, BatchRequest
from evenkeel.shadow.batches.parking import lane_of
from evenkeel.shadow.prompt import api_of
from evenkeel.shadow.replay import VERSION, Late, Replay
from evenkeel.stores.batches import Batch
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence

    from evenkeel.core.budget import CostTracker
    from evenkeel.llm.price import Prices
    from evenkeel.shadow.batches.apis import Answered, BatchApi
    from evenkeel.shadow.replay import Target
    from evenkeel.stores.batches import BatchStore, ParkedExchange, ParkedState, ParkedTrial
    from evenkeel.stores.counters import Tally
    from evenkeel.stores.lease import Lease

    Rate = Callable[[ParkedExchange, Mapping[str, Late]], Awaitable[bool]]

log = logging.getLogger("evenkeel.worker")

_TICK_S: Final = 2.0
_FIRST_POLL_S: Final = 10.0
_LONGEST_POLL_S: Final = 600.0
_GROWTH: Final = 1.5
_WINDOW_S: Final = 24 * 3600.0
"""What providers take for a batch at most."""
_GRACE_S: Final = 2 * 3600.0
_RATED_FOR_S: Final = 48 * 3600.0
"""How long answers that are there wait for the budget or the judge."""
_CALL_S: Final = 300.0
_AT_ONCE: Final = 4
_DAY_S: Final = 86_400.0
_END_OF_DAY_S: Final = 60.0
_FORGOTTEN_FOR_S: Final = 4 * _DAY_S
"""How long its deletion is tried."""
_MESSAGES_VERSION: Final = ("anthropic-version", "2023-06-01")
_ID_BYTES: Final = 8


class BatchLimits(NamedTuple):
    """When a batch is full."""

    fill_s: float = 900.0
    """After the first exchange was parked."""
    requests: int = 1_000


@dataclass(slots=True)
class _Pace:
    """When a batch is looked after next."""

    due: float = 0.0
    pause_s: float = _FIRST_POLL_S

    def later(self, now: float) -> None:
        self.due = now + self.pause_s
        self.pause_s = min(_LONGEST_POLL_S, _GROWTH * self.pause_s)


class BatchDispatcher:
    """Looks after all batches, as long as it holds the lease."""

    def __init__(
        self,
        store: BatchStore,
        lease: Lease,
        *,
        routes: Container[str],
        target: Callable[[Exchange], Target],
        rate: Rate,
        costs: CostTracker,
        prices: Prices,
        tally: Tally,
        clock: Callable[[], float],
        limits: BatchLimits = BatchLimits(),  # noqa: B008 - immutable
        hold: Callable[[], bool] = lambda: False,
        user_agent: str = "evenkeel",
    ) -> None:
        """Wire it.

        Args:
            store: Parked exchanges and batches.
            lease: Held by the one process that dispatches.
            routes: Names of the routes that there are.
            target: Where replays of an exchange of these go, with the credential.
            rate: Rates the answers of a parked exchange; whether all of its trials have a verdict now.
            costs: Has what was booked.
            prices: Of the replayed models.
            tally: Counters of this process.
            clock: Unix time in seconds.
            limits: When a batch is full.
            hold: While true nothing is rated.
            user_agent: Of the requests.
        """
        self._store = store
        self._lease = lease
        self._routes = routes
        self._target = target
        self._rate = rate
        self._costs = costs
        self._prices = prices
        self._tally = tally
        self._clock = clock
        self._limits = limits
        self._hold = hold
        self._paces: dict[str, _Pace] = {}
        self._headers = {"user-agent": user_agent, LOOP_GUARD_HEADER.decode(): "1"}
        self._clients: dict[str | None, httpx2.AsyncClient] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Dispatch until `stop` is set. A store or an endpoint in trouble is tried again."""
        try:
            begun = False
            while not stop.is_set():
                try:
                    if await asyncio.to_thread(self._lease.hold):
                        if not begun:
                            begun = True
                            await self._log_waiting()
                        await self._held(stop, asyncio.ensure_future(self.step()))
                except Exception:  # the boundary of the dispatcher: everything is written down
                    log.exception("batches cannot be looked after; trying again")
                    self._tally.add("worker_errors", where="batches")
                try:
                    await asyncio.wait_for(stop.wait(), _TICK_S)
                except TimeoutError:
                    continue
        finally:
            for client in self._clients.values():
                await client.aclose()
            with suppress(Exception):  # a courtesy: the lease runs out anyway
                await asyncio.to_thread(self._lease.leave)

    async def _log_waiting(self) -> None:
        """Say what waits from before."""
        waiting = await asyncio.to_thread(self._store.states)
        if waiting:
            batches = await asyncio.to_thread(self._store.batches)
            log.info(
                "%s in batches, the oldest for %s; %s under way",
                figures.count(len(waiting), "exchange waits", "exchanges wait"),
                figures.duration(max(0.0, self._clock() - waiting[0].parked_at)),
                figures.count(len(batches), "batch", "batches"),
            )

    async def _held(self, stop: asyncio.Event, step: asyncio.Future[None]) -> None:
        """Wait for a step as long as the lease is held; whoever has it then goes on."""
        try:
            while not step.done():
                await asyncio.wait([step], timeout=_TICK_S)
                if not step.done() and (stop.is_set() or not await asyncio.to_thread(self._lease.hold)):
                    return
            step.result()
        finally:
            # Also if the lease cannot be renewed: it runs out.
            if not step.done():
                step.cancel()
                await asyncio.wait([step])

    async def step(self) -> None:
        """Fill batches, and look after each that is due."""
        batches = await asyncio.to_thread(self._store.batches)
        batches += await self._fill(batches)
        now = self._clock()
        for batch in batches:
            pace = self._paces.setdefault(batch.id, _Pace())
            if now < pace.due:
                continue
            try:
                error = await _tried(batch, self._look_after(batch))
                if error is not None and (not error.again or self._is_overdue(batch)):
                    await _tried(batch, self._fail(batch.id, error))
            finally:
                # Also after an error that ends the step, so that the others get their turn.
                if batch.id in self._paces:
                    pace.later(now)

    async def _fail(self, batch_id: str, error: BatchError) -> None:
        """Give up a batch after an error that stays."""
        known = await asyncio.to_thread(self._store.batches)
        for batch in (one for one in known if one.id == batch_id):
            refused = batch.state in {"made", "uploaded"} and not error.arrived
            await self._end(batch, "batch_rejected" if refused else "batch_lost", str(error), free=refused)

    def _is_overdue(self, batch: Batch) -> bool:
        """Whether a batch that was sent has gone on for too long, whatever the reason."""
        if batch.state == "running":
            return self._clock() - batch.running_since >= _WINDOW_S + _GRACE_S
        return batch.state == "ended" and self._clock() - batch.ended_at >= _RATED_FOR_S

    async def _fill(self, batches: Sequence[Batch]) -> list[Batch]:
        """Batches of what is parked, as far as they are full or have waited for long enough."""
        taken = {one for batch in batches for one in batch.exchanges}
        lanes: defaultdict[str, list[ParkedState]] = defaultdict(list)
        for state in await asyncio.to_thread(self._store.states):
            if state.id not in taken:
                lanes[state.lane].append(state)
        made = []
        for waiting in lanes.values():
            while waiting and self._is_due(waiting):
                batch = await self._made(waiting)
                if batch is not None:
                    made.append(batch)
        return made

    def _is_due(self, waiting: Sequence[ParkedState]) -> bool:
        full = sum(one.requests for one in waiting) >= self._limits.requests
        return full or self._clock() - waiting[0].parked_at >= self._limits.fill_s

    async def _made(self, waiting: list[ParkedState]) -> Batch | None:
        """A batch of the first that wait, which are taken off them; None if it had none that can be sent."""
        first = await self._found(waiting[0].id)
        lane = None
        if first is not None and first.exchange.route in self._routes:
            lane = lane_of(self._target(first.exchange), api_of(first.exchange.path))
        if first is None or lane is None:
            gone = waiting.pop(0)
            await self._lose(gone.id, "batch_route_changed")
            return None
        api = APIS[lane.api]
        most = min(self._limits.requests, api.most_requests)
        members: list[ParkedState] = []
        requests = size = 0
        while waiting:
            one = waiting[0]
            if members and (requests + one.requests > most or size + one.size_bytes > MOST_BYTES):
                break
            members.append(waiting.pop(0))
            requests, size = requests + one.requests, size + one.size_bytes
        batch = Batch(
            id=secrets.token_hex(_ID_BYTES),
            lane=members[0].lane,
            route=members[0].route,
            api=lane.api,
            root=lane.root,
            endpoint=lane.endpoint,
            path=first.exchange.path,
            exchanges=tuple(one.id for one in members),
            requests=requests,
            made_at=self._clock(),
        )
        await asyncio.to_thread(self._store.put, batch)
        return batch

    async def _look_after(self, batch: Batch) -> None:
        """Take the next steps of a batch. Raises: BatchError."""
        calls = self._calls(batch)
        if not await asyncio.to_thread(self._store.left, batch):
            await self._finish(batch, calls)
            return
        if calls is None:
            await self._end(
                batch, "batch_route_changed", "the route goes to another endpoint now", free=False
            )
            return
        api = APIS[batch.api]
        if batch.state == "made":
            batch = await self._uploaded(batch, api, calls)
        if batch.state == "uploaded":
            batch = await self._created(batch, api, calls)
        if batch.state == "running":
            batch = await self._polled(batch, api, calls)
        if batch.state == "ended":
            await self._collect(batch, api, calls)

    async def _members(self, batch: Batch) -> list[ParkedExchange]:
        """The exchanges of a batch that are parked still."""
        return [one for name in batch.exchanges if (one := await self._found(name)) is not None]

    async def _uploaded(self, batch: Batch, api: BatchApi, calls: BatchCalls) -> Batch:
        self._check_age(batch)
        file = await api.uploaded(calls, batch) if batch.attempted_at else None
        if file is None:
            requests = _requests(await self._members(batch))
            file = await self._once(batch, lambda: api.upload(calls, batch, requests))
        return await self._noted(batch, state="uploaded", file=file, attempted_at=0.0)

    async def _created(self, batch: Batch, api: BatchApi, calls: BatchCalls) -> Batch:
        self._check_age(batch)
        name = await api.created(calls, batch) if batch.attempted_at else None
        if name is None:
            requests = _requests(await self._members(batch))
            name = await self._once(batch, lambda: api.create(calls, batch, requests))
        self._tally.add("batches", route=batch.route, state="sent")
        return await self._noted(
            batch, state="running", name=name, attempted_at=0.0, running_since=self._clock()
        )

    async def _once(self, batch: Batch, send: Callable[[], Awaitable[str]]) -> str:
        """Send what was not found with the provider, unless a call of before may still arrive."""
        if batch.attempted_at and self._clock() - batch.attempted_at < _CALL_S:
            raise BatchError("nobody knows yet whether it has arrived", again=True)
        batch = await self._noted(batch, attempted_at=self._clock())
        try:
            return await send()
        except BatchError as error:
            if not error.arrived:
                await self._noted(batch, attempted_at=0.0)
            raise

    async def _polled(self, batch: Batch, api: BatchApi, calls: BatchCalls) -> Batch:
        progress = await api.progress(calls, batch)
        if not progress.ended:
            if self._is_overdue(batch):
                with suppress(BatchError):
                    await api.cancel(calls, batch)
                await self._end(batch, "batch_lost", "it brought no answers within its time", free=False)
            return batch
        if progress.full and self._clock() - batch.made_at < _WINDOW_S:
            # The provider has too much of this account queued: later it may have less.
            await api.forget(calls, batch)
            self._tally.add("batches", route=batch.route, state="put_off")
            return await self._noted(batch, state="made", file="", name="", running_since=0.0)
        self._tally.add("batches", route=batch.route, state=_ENDED.get(progress.ending, "completed"))
        return await self._noted(
            batch,
            state="ended",
            ended_at=self._clock(),
            ending=progress.ending,
            detail=progress.detail,
            outputs=progress.outputs,
        )

    def _check_age(self, batch: Batch) -> None:
        """Raise BatchError for a batch that could not be sent for a day."""
        if self._clock() - batch.made_at >= _WINDOW_S:
            raise BatchError("it could not be sent for a day", again=False, arrived=batch.attempted_at > 0)

    async def _collect(self, batch: Batch, api: BatchApi, calls: BatchCalls) -> None:
        """Have the answers rated; once all are, delete what the provider keeps of the batch."""
        if self._hold():
            if self._is_overdue(batch):
                raise BatchError("its answers could not be rated for two days", again=False)
            return
        members = await self._members(batch)
        wanted = {trial.request_id for one in members for trial in one.trials}
        view_api = api_of(batch.path)
        assert view_api is not None  # else it would have had no lane
        answered: dict[str, Answered] = {}
        async for one in api.answers(calls, batch, view_api):
            if one.id in wanted:
                answered[one.id] = one
        free = batch.ending in {"batch_rejected", "batch_expired", "batch_cancelled"}
        missing = Failure(
            "replay", VERSION, batch.ending or "batch_lost", batch.detail or "the batch has no answer to it"
        )
        if await self._rated(members, lambda trial: answered.get(trial.request_id), missing, free=free):
            await self._finish(batch, calls)

    async def _end(self, batch: Batch, reason: str, detail: str, *, free: bool) -> None:
        """Give up a batch: its trials have failed."""
        failure = Failure("replay", VERSION, reason, detail)
        if await self._rated(await self._members(batch), lambda _: None, failure, free=free):
            self._tally.add("batches", route=batch.route, state=_ENDED.get(reason, "lost"))
            await self._finish(batch, self._calls(batch))

    async def _lose(self, exchange_id: str, reason: str) -> None:
        """Give up an exchange that no batch takes."""
        parked = await self._found(exchange_id)
        failure = Failure("replay", VERSION, reason, "the route takes no batches any more")
        if parked is None or await self._rated([parked], lambda _: None, failure, free=True):
            await asyncio.to_thread(self._store.drop, exchange_id)

    async def _rated(
        self,
        members: Sequence[ParkedExchange],
        found: Callable[[ParkedTrial], Answered | None],
        missing: Failure,
        *,
        free: bool,
    ) -> bool:
        """Have exchanges rated, some at a time; whether all are done with."""
        slots, done = asyncio.Semaphore(_AT_ONCE), True

        async def one(parked: ParkedExchange) -> None:
            nonlocal done
            async with slots:
                now = self._clock()
                late = {
                    trial.request_id: self._late(parked, trial, found(trial), missing, now, free=free)
                    for trial in parked.trials
                }
                rated = await self._rate(parked, late)
                if not rated and now - parked.parked_at > _WINDOW_S + _RATED_FOR_S:
                    self._tally.add("exchanges_dead", reason="batch_unrated")
                    rated = True
                if rated:
                    # Gone first, and by one process: what is given back is given back once.
                    if await asyncio.to_thread(self._store.drop, parked.exchange.id):
                        await asyncio.to_thread(self._give_back, parked, late)
                        saved_usd = await asyncio.to_thread(self._saved_usd, parked, late)
                        self._tally.add("batch_saved_usd", saved_usd, route=parked.exchange.route)
                        self._tally.add(
                            "replays", len(parked.trials), route=parked.exchange.route, tier="batch"
                        )
                else:
                    done = False

        await asyncio.gather(*map(one, members))
        return done

    def _late(
        self,
        parked: ParkedExchange,
        trial: ParkedTrial,
        answered: Answered | None,
        missing: Failure,
        now: float,
        *,
        free: bool,
    ) -> Late:
        outcome = answered.outcome if answered else missing
        spent = Spend(trial.tokens, trial.usd)
        if answered.free if answered else free:
            spent = NOTHING
        elif isinstance(outcome, Replay):
            known = outcome.answer.prompt_tokens and outcome.answer.completion_tokens is not None
            spent = self._quote(parked, trial).proven(outcome.answer) if known else spent
        return Late(outcome, spent, now - parked.parked_at, parked.settings)

    def _quote(self, parked: ParkedExchange, trial: ParkedTrial) -> Quote:
        return Quote(self._prices, [parked.model], trial.body.encode(), None, 0, "batch")

    def _saved_usd(self, parked: ParkedExchange, late: Mapping[str, Late]) -> float:
        """What the same answers would have cost more at once."""
        saved = 0.0
        for trial in parked.trials:
            one = late[trial.request_id]
            saved -= one.spent.usd
            if isinstance(one.outcome, Replay) and one.spent.usd:
                saved += self._quote(parked, trial).proven(one.outcome.answer, "standard").usd
        return max(0.0, saved)

    def _give_back(self, parked: ParkedExchange, late: Mapping[str, Late]) -> None:
        """Book no more than what was proven; on another day than it was booked on, the estimate stays."""
        now = self._clock()
        same_day = now // _DAY_S == parked.parked_at // _DAY_S
        if not same_day or _DAY_S - now % _DAY_S < _END_OF_DAY_S:
            return
        unspent = NOTHING
        for trial in parked.trials:
            booked = Spend(trial.tokens, trial.usd)
            unspent = unspent.plus(late[trial.request_id].spent.minus(booked))
        self._costs.settle(NOTHING, parked.exchange.route, {"replay": unspent})

    async def _finish(self, batch: Batch, calls: BatchCalls | None) -> None:
        """Delete what the provider keeps of a batch, and forget it."""
        fault = "the route goes to another endpoint now"
        if calls is not None:
            try:
                await APIS[batch.api].forget(calls, batch)
                fault = ""
            except BatchError as error:
                if error.again and self._clock() - batch.made_at < _FORGOTTEN_FOR_S:
                    raise
                fault = str(error)
        if fault:
            name = batch.name or batch.file or batch.id
            log.warning("delete batch %s of route %s yourself: %s", name, batch.route, fault)
            self._tally.add("worker_errors", where="batch_files")
        await asyncio.to_thread(self._store.remove, batch.id)
        self._paces.pop(batch.id, None)

    def _calls(self, batch: Batch) -> BatchCalls | None:
        """Calls to a batch's endpoint; None if its route goes to another one since."""
        if batch.route not in self._routes:
            return None
        headers = (_MESSAGES_VERSION,) if batch.api == "anthropic" else ()
        target = self._target(
            Exchange("", batch.route, 0.0, 0.0, "POST", batch.path, 0, headers, b"", (), b"")
        )
        lane = lane_of(target, api_of(batch.path))
        if lane is None or (lane.root, lane.api) != (batch.root, batch.api):
            return None
        client = self._clients.get(target.unix_path)
        if client is None:
            client = self._clients[target.unix_path] = httpx2.AsyncClient(
                transport=httpx2.AsyncHTTPTransport(uds=target.unix_path, trust_env=False),
                timeout=_CALL_S,
                headers=self._headers,
                follow_redirects=False,
                trust_env=False,
            )
        return BatchCalls(client, replace(target, url=lane.root))

    async def _found(self, exchange_id: str) -> ParkedExchange | None:
        """A parked exchange; one that cannot be read is given up."""
        try:
            return await asyncio.to_thread(self._store.find, exchange_id)
        except (SealError, ValueError, KeyError, TypeError) as error:
            log.warning("parked exchange %s cannot be read (%s); it is given up", exchange_id, error)
            self._tally.add("exchanges_dead", reason="undecryptable")
            await asyncio.to_thread(self._store.drop, exchange_id)
            return None

    async def _noted(self, batch: Batch, **changes: object) -> Batch:
        # Fields of `Batch` with values of theirs: their types differ.
        changed = replace(batch, **changes)  # type: ignore[arg-type]
        await asyncio.to_thread(self._store.put, changed)
        return changed


_ENDED: Final = {
    "batch_rejected": "rejected",
    "batch_expired": "expired",
    "batch_cancelled": "cancelled",
    "batch_lost": "lost",
}
"""What the counter calls the ends of batches that brought less than all answers."""


def _requests(members: Iterable[ParkedExchange]) -> list[BatchRequest]:
    return [BatchRequest(trial.request_id, trial.body) for one in members for trial in one.trials]


async def _tried(batch: Batch, step: Awaitable[None]) -> BatchError | None:
    """Take a step of a batch; what went wrong is logged."""
    try:
        await step
    except BatchError as error:
        log.warning("batch %s of route %s: %s", batch.id, batch.route, error)
        return error
    return None

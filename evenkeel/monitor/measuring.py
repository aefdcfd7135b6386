"""State of measuring: whether answers are measured, and what holds it up.

Computed in one place and read by the first page, `/readyz` of worker and monitor, the gauges and the
messages. A route is held up once several of its trials in a row were lost and none has been rated since.
Judge, queue, worker and monitor are looked at directly.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core import figures
from evenkeel.core.budget import NOTHING
from evenkeel.core.verdict import BASELINE
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenkeel.core.cells import CellReport
    from evenkeel.core.exchange import ExchangeQueue
    from evenkeel.core.trouble import JudgeTrouble
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.stores.budget import SharedCostTracker
    from evenkeel.stores.counters import CounterStore, Snapshot

State = Literal["measuring", "learning", "held_up"]
STATES: Final[tuple[State, ...]] = ("measuring", "learning", "held_up")

# Looking reads the store, and pages ask often.
_LOOK_EVERY_S: Final = 2.0
# Seconds after which a waiting exchange means that no worker takes it.
_WAITED_S: Final = 120.0
# Seconds without a trial after which scoring stands still rather than being behind.
_STANDS_S: Final = 60.0
# Seconds without a step of the fold after which figures are called old.
_MONITOR_STALLED_S: Final = 120.0
# The same where it says why: its store fails, say on a full disk, and one try a second fails by chance.
_MONITOR_FAILING_S: Final = 20.0
# Share of a budget from which on it is called spent.
_SPENT: Final = 0.9
# Trials lost in a row that hold a route up.
_LOST: Final = 5
# The same, and seconds, where the next exchange may be measured: a prompt that does not fit, a slow answer.
_LOST_BY_CHANCE: Final = 50
# Seconds that a fault must last before it is told: a restart takes less.
_LOST_FOR_S: Final = 120.0
# The same under a paced budget: one exchange of a dear model may use what an hour gives.
_PACED_FOR_S: Final = 3600.0
# Seconds after the last loss for which a notice says that only a part is measured, while few are rated.
_THINNED_FOR_S: Final = 600.0
# Reasons for which exchanges are lost although others are measured.
_THINNING: Final = frozenset(("budget_pace", "store_full"))

_STEPS: Final = {
    "unauthorized": "Put a key that the endpoint accepts into the variable that replays.api_key_env names "
    "(EVENKEEL_SHADOW_API_KEY by default), or set the route's replay_key_env; then restart.",
    "unpriced": "Set the model's price under budget.prices (0 if it is free), or set budget.usd_per_day to "
    "null and limit tokens instead.",
    "budget": "Raise budget.usd_per_day or budget.tokens_per_day, or wait until midnight UTC.",
    "budget_pace": "Nothing is wrong: replays resume as the day goes on. Raise the budget or lower "
    "sampling_rate to measure more evenly.",
    "store_full": "Lower sampling_rate, or give the worker more processor time.",
    "store_error": "Check the disk of the data folder, or Redis; the log of the data plane names the error.",
    "model_changed": "Another model answers replays than answers users; see Replays in the documentation.",
}
_SAID: Final = {
    "unauthorized": "The endpoint refuses the key of replays (401 or 403)",
    "unpriced": "The model has no known price, and the budget is in dollars",
    "budget": "The day's budget is spent",
    "budget_pace": "The budget is held back so that it lasts the day",
    "store_full": "The queue is full: more is sampled than can be scored",
    "store_error": "The queue cannot be written to",
    "model_changed": "Replays are answered by another model than the original",
}
_SAME_REASON: Final = {
    "forbidden": "unauthorized",
    "budget_reserve": "budget",
}
_RUNBOOKS: Final = {
    "judge": "EvenkeelJudgeUnusable",
    "judge_key": "EvenkeelJudgeUnusable",
    "budget": "EvenkeelBudgetSpent",
    "budget_pace": "EvenkeelBudgetSpent",
    "worker": "EvenkeelPipelineStalled",
    "monitor": "EvenkeelMonitorStalled",
    "unread:status": "EvenkeelUpstreamErrors",
}
_UNREADABLE: Final = {
    "status": "the upstream answers with errors",
    "client_left": "clients leave before their answers are complete",
    "truncated": "answers are cut off",
    "too_large": "requests or answers are too large",
}
_UNREAD_STEPS: Final = {
    "status": "Check the endpoint and its keys: users get these errors, too.",
    "truncated": "Check the endpoint: users get these answers, too.",
}
# Beginning of the reasons for which a rewording was not tried.
_UNTRIED: Final = "untried:"
# Beginning of the reasons for which an exchange had no trial at all.
_UNREAD: Final = "unread:"
# Reasons for which exchanges are not measured by intention.
_INTENDED: Final = frozenset({"settled", "client_quota", "replay"})


@dataclass(frozen=True, slots=True)
class HoldUp:
    """Thing that holds measuring up."""

    reason: str
    """"judge", "judge_key", "queue", "worker", "monitor", or the reason for which trials are lost."""
    said: str
    """Problem as a sentence without its full stop."""
    step: str
    """Remedy, as sentences."""
    since: float
    """Unix time in seconds at which it was first seen."""
    routes: tuple[str, ...] = ()
    """Routes held up; () = all."""

    @property
    def sentence(self) -> str:
        """Both as sentences."""
        where = f" on {figures.listing(self.routes)}" if self.routes else ""
        return f"{self.said}{where}. {self.step}"

    @property
    def runbook(self) -> str:
        """Name of the runbook."""
        return _RUNBOOKS.get(self.reason, "EvenkeelNotMeasuring")


@dataclass(frozen=True, slots=True)
class Measuring:
    """State of measuring at a time."""

    state: State
    since: float
    """Unix time in seconds at which the state was first seen."""
    causes: tuple[HoldUp, ...] = ()
    thinned: tuple[HoldUp, ...] = ()
    """Reasons for which only a part of what is sampled is measured."""

    def cause(self, *reasons: str) -> HoldUp | None:
        """Return the cause with one of these reasons, None if there is none."""
        return next((cause for cause in self.causes if cause.reason in reasons), None)

    def sentences(self) -> list[str]:
        """Return what holds measuring up and what to do, for a message."""
        return [cause.sentence for cause in self.causes]

    def problems(self) -> dict[str, str]:
        """Return what holds measuring up by reason, for a readiness probe; {} if nothing does."""
        problems = {}
        for cause in self.causes:
            problems[cause.reason] = f"{cause.sentence} Since {figures.iso(cause.since)}."
        return problems

    def snapshot(self) -> Snapshot:
        """Return the gauges."""
        return {
            "counters": [],
            "gauges": [
                *(["measuring", {"state": state}, int(state == self.state)] for state in STATES),
                *(["held_up", {"reason": cause.reason}, 1] for cause in self.causes),
            ],
        }


@dataclass(slots=True)
class _Route:
    """Trials of a route, lost since the last one that was rated."""

    rated: float = 0
    lost: Counter[str] = field(default_factory=Counter)
    """Losses by reason at the last reading."""
    base: Counter[str] = field(default_factory=Counter)
    """Losses by reason when a trial was rated last."""
    since: float | None = None
    """Unix time in seconds at which the first loss since then was seen."""
    lost_at: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Unix time in seconds of the last loss by reason, and the trials rated by then."""


class MeasuringWatch:
    """Watches measuring. It looks at most every two seconds and may be called from any thread."""

    def __init__(
        self,
        counters: CounterStore,
        queue: ExchangeQueue,
        judge: Callable[[], JudgeTrouble | None],
        ledger: SharedCostTracker,
        clock: Callable[[], float],
        *,
        fold: Monitor | None = None,
        figures_known: Callable[[], bool] | None = None,
    ) -> None:
        """Wire the watch.

        Args:
            counters: Counters of all processes.
            queue: Queue of sampled exchanges.
            judge: Trouble with the judge, None while it works and without one.
            ledger: The day's spend and its limits.
            clock: Unix time in seconds.
            fold: The monitor; None in other processes.
            figures_known: Whether any cell has a figure; None = it has once a trial was rated.
        """
        self._counters = counters
        self._queue = queue
        self._judge = judge
        self._ledger = ledger
        # Read with the counters: words about the budget must not fail with the store.
        self._spent = NOTHING
        self._clock = clock
        self._fold = fold
        self._figures_known = figures_known
        self._lock = threading.Lock()
        self._routes: dict[str, _Route] = {}
        # Time at which each cause was first seen.
        self._seen: dict[str, float] = {}
        # Time at which a trial was rated or lost last.
        self._moved_at = clock()
        self._look_at = float("-inf")
        self._found = Measuring("learning", clock())

    def __call__(self) -> Measuring:
        """Return the state."""
        with self._lock:
            now = self._clock()
            # A clock that was set back must not stop the checks.
            if now >= self._look_at or now < self._look_at - _LOOK_EVERY_S:
                self._look_at = now + _LOOK_EVERY_S
                self._found = self._look(now)
            return self._found

    def _look(self, now: float) -> Measuring:
        trouble = self._judge()
        causes = [self._judged(trouble, now)] if trouble else []
        causes += [*self._stored(now, waits=trouble is not None), *self._folded(now)]
        self._seen = {cause.reason: cause.since for cause in causes}
        state: State = "held_up" if causes else "measuring" if self._known() else "learning"
        since = self._found.since if state == self._found.state else now
        if causes:
            since = min(cause.since for cause in causes)
        held = {cause.reason for cause in causes}
        return Measuring(state, since, tuple(causes), tuple(self._thinned(held, now)))

    def _known(self) -> bool:
        if self._figures_known is not None:
            return self._figures_known()
        return any(route.rated for route in self._routes.values())

    def _cause(self, reason: str, sentence: str, step: str, now: float, *routes: str) -> HoldUp:
        return HoldUp(reason, sentence, step, self._seen.get(reason, now), routes)

    def _judged(self, trouble: JudgeTrouble, now: float) -> HoldUp:
        reason = "judge_key" if trouble.reason == "unauthorized" else "judge"
        return self._cause(reason, trouble.said, f"{trouble.step} Exchanges wait meanwhile.", now)

    def _stored(self, now: float, *, waits: bool) -> Iterable[HoldUp]:
        try:
            lag, counted, spent = self._queue.lag(), merge(self._counters.read()), self._ledger.today()
        except Exception as error:  # noqa: BLE001 - named boundary: whatever the store raises, it is away
            sentence = f"The store cannot be reached ({type(error).__name__}): nothing is queued or scored"
            yield self._cause("queue", sentence, "Check Redis, or the disk of the data folder.", now)
            return
        self._spent = spent
        self._count(counted, now)
        if waits:
            return  # what was lost was lost by the judge, and what waits waits for it
        if lag.oldest_s > _WAITED_S and now - self._moved_at > _STANDS_S:
            waited = figures.duration(lag.oldest_s)
            number = lag.waiting + lag.leased
            sentence = f"No worker takes sampled exchanges: the oldest of {number:,} has waited {waited}"
            yield self._cause("worker", sentence, "Check that the worker runs, and its log.", now)
        yield from self._lost(now)

    def _count(self, counted: Snapshot, now: float) -> None:
        rated: Counter[str] = Counter()
        lost: dict[str, Counter[str]] = {}
        for name, labels, number in counted["counters"]:
            route, reworded = labels.get("route", ""), labels.get("perturbation") != BASELINE
            if name == "trials" and labels["outcome"].startswith("rated_"):
                rated[route] += number if reworded else 0
            elif route and (reason := _reason(name, labels)):
                lost.setdefault(route, Counter())[reason] += int(number)
        for name in rated.keys() | lost.keys():
            watch = self._routes.setdefault(name, _Route())
            losses = lost.get(name, Counter())
            if rated[name] != watch.rated or losses != watch.lost:
                self._moved_at = now
            if rated[name] != watch.rated:
                watch.rated, watch.base, watch.since = rated[name], Counter(losses), None
            elif watch.since is None and losses != watch.base:
                watch.since = now
            for reason in losses:
                if losses[reason] != watch.lost[reason]:
                    watch.lost_at[reason] = now, rated[name]
            watch.lost = losses

    def _lost(self, now: float) -> Iterable[HoldUp]:
        held: dict[str, list[str]] = {}
        for name, route in sorted(self._routes.items()):
            losses = route.lost - route.base
            reason = max(losses, key=lambda each: losses[each], default="")
            number, seconds = _bounds(reason)
            if reason and losses[reason] >= number and now - (route.since or now) >= seconds:
                held.setdefault(reason, []).append(name)
        for reason, routes in held.items():
            begun = min(self._routes[name].since or now for name in routes)
            sentence, step = self._words(reason)
            yield HoldUp(reason, sentence, step, begun, tuple(routes))

    def _thinned(self, held: set[str], now: float) -> Iterable[HoldUp]:
        """Yield the reasons for which a part of the exchanges is lost, but for those that hold a route up."""
        for reason in sorted(_THINNING - held):
            routes = []
            for name, route in sorted(self._routes.items()):
                lost_at, rated = route.lost_at.get(reason, (float("-inf"), 0.0))
                # Many trials without a loss between them: the cause is gone.
                if now - lost_at <= _THINNED_FOR_S and route.rated - rated < _LOST_BY_CHANCE:
                    routes.append(name)
            if routes:
                said, step = self._words(reason)
                # On a quiet route nothing tells that the cause is gone but that no loss follows.
                said = f"{said}, or was in the last {figures.duration(_THINNED_FOR_S)}"
                yield HoldUp(reason, said, step, now, tuple(routes))

    def _words(self, reason: str) -> tuple[str, str]:
        words = reason.replace("_", " ")
        sentence = _SAID.get(reason, f"No trial can be rated: {words}")
        if reason.startswith(_UNTRIED):
            sentence = f"No rewording can be tried: {words.removeprefix(_UNTRIED)}"
        step = _STEPS.get(reason, "Pipeline and Trials show what was tried and what came back.")
        if reason.startswith(_UNREAD):
            unread = reason.removeprefix(_UNREAD)
            sentence = f"No exchange can be measured: {_UNREADABLE.get(unread, unread.replace('_', ' '))}"
            by_reason = "Pipeline counts them by reason. Do not sample a route that cannot be measured."
            step = _UNREAD_STEPS.get(unread, by_reason)
        if reason.startswith("budget"):
            spent, budget = self._spent, self._ledger.budget
            limits, left = [], True
            if budget.usd_per_day is not None:
                limits.append(f"{figures.usd(spent.usd)} of {figures.usd(budget.usd_per_day)}")
                left = spent.usd < _SPENT * budget.usd_per_day
            if budget.tokens_per_day is not None:
                limits.append(f"{spent.tokens:,} of {budget.tokens_per_day:,} tokens")
                left = left and spent.tokens < _SPENT * budget.tokens_per_day
            if reason == "budget" and left:
                sentence = "What is left of the day's budget is for changes, or too small for an exchange"
            # A limit that was lifted meanwhile has no figures.
            if limits:
                sentence += f" ({' and '.join(limits)})"
        return sentence, step

    def _folded(self, now: float) -> Iterable[HoldUp]:
        fold = self._fold
        if fold is None or fold.stepped_at is None:
            return
        stood_s = now - fold.stepped_at
        if stood_s > (_MONITOR_FAILING_S if fold.failure else _MONITOR_STALLED_S):
            why = f" ({fold.failure})" if fold.failure else ""
            sentence = f"The monitor has not read verdicts for {figures.duration(stood_s)}{why}"
            step = "Check the disk of the data folder, or Redis, and the log; figures are as old."
            yield self._cause("monitor", sentence, step, now)


def known(report: CellReport) -> bool:
    """Return whether a cell of a rewording has a figure."""
    return report.estimates.excess is not None or report.estimates.loss is not None


def _reason(name: str, labels: dict[str, str]) -> str:
    """Return the reason for which a row of the counters counts losses; "" if it counts none."""
    reason = labels.get("outcome" if name == "trials" else "reason", "")
    reason = _SAME_REASON.get(reason, reason)
    if name == "trials_skipped" and reason not in _SAID:
        return f"{_UNTRIED}{reason}"
    if name in {"exchanges_skipped", "exchanges_dead"} and reason not in _SAID:
        return "" if reason in _INTENDED else f"{_UNREAD}{reason}"
    return reason if name in {"trials", "trials_skipped", "exchanges_skipped"} else ""


def _bounds(reason: str) -> tuple[int, float]:
    """Return the losses in a row, and the seconds, after which a reason holds a route up."""
    if reason == "budget_pace":
        return _LOST_BY_CHANCE, _PACED_FOR_S
    if reason in _SAID and reason not in {"model_changed", "store_full"}:
        return _LOST, 0.0  # The next exchange is lost, too.
    return _LOST_BY_CHANCE, _LOST_FOR_S

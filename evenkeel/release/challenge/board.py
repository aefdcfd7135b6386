"""Challengers with their figures, as pages, gauges and messages read them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.monitor.export.prometheus import ListedCollector
from evenkeel.monitor.notify import NoticeMessage
from evenkeel.release.challenge.figures import DIFFERS, challenge_figures
from evenkeel.release.challenge.verdict import FRAGILE, UNUSABLE, WORSE
from evenkeel.release.challenge.words import details, headline, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from evenkeel.core.challenge import Challenge
    from evenkeel.monitor.notify import Sink
    from evenkeel.release.challenge.figures import ChallengeFigures
    from evenkeel.stores.challenges import ChallengeStore

# Seconds for which figures are remembered, since twenty thousand pairs take a second to read.
_FRESH_S: Final = 15.0
# Pruning reads all pairs.
_PRUNED_EVERY_S: Final = 3_600.0
# Decisions that are told; "not yet" is none.
_SETTLED: Final = frozenset(("may_switch", "must_not"))


class ChallengeState(NamedTuple):
    """A challenger and what it has shown so far."""

    challenge: Challenge
    figures: ChallengeFigures

    @property
    def running(self) -> bool:
        """Return whether it is still asked."""
        return self.challenge.stopped_at is None


class _FiguresThen(NamedTuple):
    at: float
    revision: tuple[int, int]
    figures: ChallengeFigures


class ChallengeBoard:
    """Reads challengers from the store, and works out figures only where something is new."""

    def __init__(self, store: ChallengeStore, clock: Callable[[], float]) -> None:
        """Take the store, and a clock in Unix seconds."""
        self.store = store
        self._clock = clock
        self._remembered: dict[Challenge, _FiguresThen] = {}
        self._pruned_at = float("-inf")

    def states(self) -> list[ChallengeState]:
        """Return all challengers, the running ones first, then the last started first. Blocks on storage."""
        every = sorted(
            self.store.all(),
            key=lambda challenge: (challenge.stopped_at is not None, -challenge.started_at),
        )
        states = [ChallengeState(challenge, self._figures(challenge)) for challenge in every]
        # Those that were deleted, or got other settings, are not looked up again.
        for challenge in self._remembered.keys() - set(every):
            del self._remembered[challenge]
        return states

    def forget_old_texts(self) -> None:
        """Delete the texts of pairs that are too old, once an hour. Blocks on storage."""
        now = self._clock()
        if now - self._pruned_at >= _PRUNED_EVERY_S:
            self._pruned_at = now
            self.store.prune(now)

    def find(self, challenge_id: str) -> ChallengeState | None:
        """Return one challenger; None if there is none of that id."""
        challenge = self.store.find(challenge_id)
        return None if challenge is None else ChallengeState(challenge, self._figures(challenge))

    def _figures(self, challenge: Challenge) -> ChallengeFigures:
        now, revision = self._clock(), self.store.revision()
        then = self._remembered.get(challenge)
        if then is not None and (then.revision == revision or now - then.at < _FRESH_S):
            return then.figures
        pairs, labels = self.store.pairs(challenge.id), self.store.labels(challenge.id)
        figures = challenge_figures(challenge, pairs, labels)
        self._remembered[challenge] = _FiguresThen(now, revision, figures)
        return figures


class ChallengeCollector(ListedCollector):
    """Collector of `evenkeel_challenger_*`, of the challengers that run."""

    block = "challengers"

    def __init__(self, states: Callable[[], Iterable[ChallengeState]] = tuple) -> None:
        """Take a function that returns the states of all challengers."""
        self._states = states

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """Fill the metrics as `ListedCollector.fill` describes."""
        decision, points, lower, upper, n, pairs = metrics
        for challenge, figures in filter(lambda state: state.running, self._states()):
            labels = [challenge.route, name_of(challenge)]
            # One series for each answer, so that a rule can wait for one of them to be 1.
            for answer in ("may_switch", "must_not", "not_yet"):
                decision.add_metric([*labels, answer], float(figures.decision.answer == answer))
            pairs.add_metric(labels, figures.pairs)
            for measure in (WORSE, FRAGILE, UNUSABLE, DIFFERS):
                estimate = figures.measures[measure]
                if estimate is None:
                    continue
                named = [*labels, measure]
                points.add_metric(named, estimate.value)
                lower.add_metric(named, estimate.lower)
                upper.add_metric(named, estimate.upper)
                n.add_metric(named, estimate.n)


class ChallengeWatch:
    """Sends a message when a challenger is settled, once for each decision."""

    def __init__(
        self, board: ChallengeBoard, sinks: Callable[[], Iterable[Sink]], link: Callable[[Challenge], str]
    ) -> None:
        """Wire it.

        Args:
            board: Challengers.
            sinks: Opens the services that get messages.
            link: Address of a challenger's page; "" if it is not known.
        """
        self._board = board
        self._sinks = sinks
        self._link = link

    async def step(self) -> int:
        """Send what is due. Return the number of decisions sent."""
        return await asyncio.to_thread(self._send)

    def _send(self) -> int:
        # Workers forget old texts only when they start, and may run for months.
        self._board.forget_old_texts()
        sent = 0
        for challenge, figures in self._board.states():
            answer = figures.decision.answer
            if challenge.stopped_at is not None or answer not in _SETTLED or answer == challenge.told:
                continue
            # Written down before it is sent: a service that is down costs a message, not a message a second.
            self._board.store.put(replace(challenge, told=answer))
            message = settled_message(challenge, figures, self._link(challenge))
            for sink in self._sinks():
                sink.tell(message)
            sent += 1
        return sent


def settled_message(challenge: Challenge, figures: ChallengeFigures, link: str) -> NoticeMessage:
    """Return the message that a challenger is settled."""
    lines: Sequence[str] = [
        *details(challenge, figures),
        f"By {figures.pairs:,} requests of the route, asked in the background.",
        *([link] if link else []),
    ]
    # Good news and bad news alike page nobody.
    return NoticeMessage(headline(challenge, figures), " ".join(lines), good=True, about="challenger")

"""Judge, encoder, scorer and replayer, set up once in a process.

While the judge cannot be used, sampled exchanges wait in the queue (`JudgeHealth`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.budget import RouteBudget
from evenkeel.core.languages import language_of
from evenkeel.core.trouble import JudgeTrouble
from evenkeel.llm.limits import Breaker
from evenkeel.llm.observer import UNOBSERVED
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.runtime import choices, replays
from evenkeel.settings import SettingsError
from evenkeel.settings.server import SCORES_KEY_VARIABLE
from evenkeel.settings.types import secret
from evenkeel.shadow.replay import Replayer
from evenkeel.stores.counters import Tally, merge
from evenkeel.tracing import LAST_SPANS_S, open_spans
from evenkeel.tracing.scores import ScorePoster

if TYPE_CHECKING:
    from evenkeel.core.budget import CallBudget
    from evenkeel.core.cache import Cache
    from evenkeel.core.verdict import Failure
    from evenkeel.llm.observer import CallObserver
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.stores.budget import SharedCostTracker
    from evenkeel.stores.counters import Snapshot
    from evenkeel.tracing import Spans


log = logging.getLogger("evenkeel")
judge_log = logging.getLogger("evenkeel.judge")

# A judge that is down is asked a small question this often.
_CHECK_AGAIN_S = 15.0
# Longest pause in seconds that a judge may ask for; a longer one makes it unusable meanwhile.
_LONG_PAUSE_S = 5.0
_WATCH_S = 1.0
_ADVICE = {
    "unauthorized": "put a valid key into {key_env}",
    "connection": "check judge.base_url and the network",
    "timeout": "check that the endpoint is up",
    "rate_limited": "lower replays.concurrency, or ask the provider for a higher limit",
    "bad_request": "check judge.model and judge.base_url",
}
# Characters of a question with both texts; a longer question is not sent and fails as `too_long`.
_LONGEST_QUESTION = 300_000
# Most answers to variants of a request that are rated in one call.
_GROUP = 6
SWAP_SHARE = 0.5
"""Share of the similarity calls that show the two answers in the opposite order."""
RECHECK_SHARE = 0.02
"""Share of the judged pairs that are judged again, to measure the judge's own noise."""
# Further attempts after an unreadable reply: endpoints without structured output may add chat.
_REPAIRS = 1
# Seconds that a replay waits for an upstream that throttles; meanwhile it takes a slot of the worker.
_PATIENCE_S = 10.0


def judge_problem(model: str, failure: Failure, key_env: str) -> tuple[str, str]:
    """Describe a judge's problem and its remedy; both begin in lower case."""
    advice = _ADVICE.get(failure.reason, "name another judge.model, one that answers with a JSON object")
    problem = f"the judge {model} cannot be used ({failure.reason}: {failure.detail.rstrip('.')})"
    return problem, advice.format(key_env=key_env)


class JudgeHealth:
    """Checks the judge at the start, and again while it is failing.

    It fails if five calls in a row and then a known question bring no answer, or if it refuses the known
    question with a 429 and wants a pause of more than five seconds.
    """

    def __init__(self, judge: Judge | None, breaker: Breaker, key_env: str) -> None:
        self._judge = judge
        self._breaker = breaker
        self._key_env = key_env
        self.problem: str | None = None
        """Problem of the judge, in one line; None while the judge works, and without a judge."""
        self.reason = ""
        """Reason of the failed call in snake case; "" while the judge works."""
        self.advice = ""
        """Remedy, beginning in lower case."""
        # Reasons logged since the judge last worked, without details, such as seconds, which change.
        self._said: set[str] = set()

    @property
    def model(self) -> str:
        """The judge's model, "" without a judge."""
        return self._judge.model if self._judge else ""

    async def run(self, stop: asyncio.Event, *, announced: bool) -> None:
        """Check until `stop` is set.

        Args:
            stop: Ends the checks.
            announced: True if problems are logged, which only one of the processes that use the judge does.
        """
        if self._judge is None:
            return
        failure: Failure | None = await self._judge.check()
        while not stop.is_set():
            self._report(failure, announced=announced)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _CHECK_AGAIN_S if failure else _WATCH_S)
            if failure or self._breaker.is_open or self._pauses:
                failure = await self._judge.check()
                if failure is None:
                    self._breaker.record(ok=True)

    @property
    def hold(self) -> bool:
        """Tell whether exchanges should wait: a replay that no judge can rate would be paid for in vain."""
        return self.problem is not None or self._breaker.is_open or self._pauses

    @property
    def _pauses(self) -> bool:
        return self._judge is not None and self._judge.pause_left_s > _LONG_PAUSE_S

    def trouble(self) -> JudgeTrouble | None:
        """Return why exchanges wait; None if they do not."""
        if not self.hold:
            return None
        problem = self.problem or f"the judge {self.model} fails again and again, or wants a pause"
        step = self.advice or "check the judge's endpoint and its limits"
        return JudgeTrouble(self.reason, *(f"{text[:1].upper()}{text[1:]}" for text in (problem, f"{step}.")))

    def snapshot(self) -> Snapshot:
        """Return whether the judge can be used, for `SnapshotCollector`; nothing without a judge."""
        return {"gauges": [["judge_up", {}, int(not self.hold)]] if self._judge else []}

    async def close(self) -> None:
        """Close the judge's connections."""
        if self._judge:
            await self._judge.close()

    def _report(self, failure: Failure | None, *, announced: bool) -> None:
        if failure:
            assert self._judge is not None
            self.problem, self.advice = judge_problem(self._judge.model, failure, self._key_env)
            self.reason = failure.reason
            if announced and failure.reason not in self._said:
                judge_log.error(
                    "%s; %s. Forwarding goes on; exchanges wait to be scored.", self.problem, self.advice
                )
            self._said.add(failure.reason)
            return
        if self._said:
            if announced:
                judge_log.info("the judge works again")
            self._said.clear()
        self.problem, self.reason, self.advice = None, "", ""


def make_judge(
    settings: Settings,
    cache: Cache | None,
    prices: Prices,
    observer: CallObserver = UNOBSERVED,
    budget: CallBudget | None = None,
) -> tuple[Judge | None, JudgeHealth]:
    """Return the judge of the settings, if any, and its health check; `observer` sees its calls.

    The budget pays for calls that nobody else pays for, such as those that see whether the judge works.
    """
    chosen = settings.judge
    breaker = Breaker()
    if chosen is None or chosen.local:
        return None, JudgeHealth(None, breaker, "")
    endpoint = replays.endpoint(
        chosen,
        prices,
        observer,
        concurrency=settings.replays.concurrency,
        breaker=breaker,
        budget=budget,
    )
    judge = Judge(
        endpoint,
        cache=cache,
        repairs=_REPAIRS,
        longest_chars=_LONGEST_QUESTION,
        flex=chosen.tier == "flex",
    )
    return judge, JudgeHealth(judge, breaker, chosen.api_key_env)


def make_scorer(settings: Settings, judge: Judge | None, tally: Tally) -> TwoStageScorer:
    """Return a scorer that uses the judge where one is needed, else heuristics."""
    bundles = choices.bundles(settings)
    chosen = settings.judge
    if chosen is not None and chosen.local:
        from evenkeel.metrics.judge.local import (  # noqa: PLC0415 - few judge here
            CrossEncoderModel,
            LocalJudge,
            LocalJudgeUnavailableError,
        )

        try:
            local = LocalJudge(CrossEncoderModel(chosen.local))
        except LocalJudgeUnavailableError as error:
            raise SettingsError(f"judge.local: {error}") from error
        return heuristic_scorer(language_of, local_judge=local, bundles=bundles)
    if judge is None:
        return heuristic_scorer(language_of, bundles=bundles)
    assert chosen is not None  # a judge is made only from its settings
    return judge_scorer(
        judge,
        swap_share=SWAP_SHARE,
        recheck_share=RECHECK_SHARE,
        group=_GROUP,
        language_of=language_of,
        bundles=bundles,
        count=lambda what, outcome: tally.add(f"judge_{what}", outcome=outcome),
    )


@dataclass(frozen=True, slots=True)
class Instruments:
    """Judge, encoder, scorer and replayer of a process."""

    prices: Prices
    ledger: SharedCostTracker
    tally: Tally
    spans: Spans
    scores: ScorePoster | None
    judge: Judge | None
    health: JudgeHealth
    scorer: TwoStageScorer
    replayer: Replayer

    @classmethod
    async def set_up(cls, settings: Settings, stores: Stores) -> Instruments:
        """Load what takes seconds in a thread; needs an event loop for the connections."""
        prices, tally, spans = replays.budgeted_prices(settings), Tally(), open_spans(settings)
        asked = settings.telemetry.scores
        scores = (
            ScorePoster(asked.service, str(asked.url), secret(SCORES_KEY_VARIABLE), tally) if asked else None
        )
        # Any price loads the public list, which would block everything else later.
        await asyncio.to_thread(prices.usd, "gpt-4o", 1, 1)
        budget = RouteBudget(stores.ledger, "", "judge")
        judge, health = make_judge(settings, stores.judge_cache, prices, spans.observer, budget)
        scorer = await asyncio.to_thread(make_scorer, settings, judge, tally)
        replayer = Replayer(
            concurrency=settings.replays.concurrency,
            timeout_s=settings.replays.timeout_s,
            patience_s=_PATIENCE_S,
        )
        return cls(prices, stores.ledger, tally, spans, scores, judge, health, scorer, replayer)

    def counted(self) -> Snapshot:
        """Return the counters of this process."""
        return merge([self.tally.snapshot(), self.spans.snapshot()])

    async def close(self) -> None:
        """Send the last spans and close all connections."""
        await asyncio.to_thread(self.spans.finish, LAST_SPANS_S)
        if self.scores is not None:
            await asyncio.to_thread(self.scores.close, LAST_SPANS_S)
        await self.replayer.close()
        await self.health.close()

"""Whether the judge can be used. While it cannot, sampled exchanges wait in the queue."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.core.verdict import Failure
    from evenkeel.metrics.judge import Breaker, Judge
    from evenkeel.stores.counters import Snapshot

log = logging.getLogger("evenkeel.judge")

_CHECK_AGAIN_S = 15.0
_WATCH_S = 1.0

_ADVICE = {
    "unauthorized": "put a valid key into {key_env}",
    "connection": "check judge.base_url and the network",
    "timeout": "check that the endpoint is up, or raise judge.timeout_s",
    "rate_limited": "lower judge.concurrency, or ask the provider for a higher limit",
}


class JudgeHealth:
    """Checks the judge at the start, and again while it is failing."""

    def __init__(self, judge: Judge | None, breaker: Breaker, key_env: str) -> None:
        self._judge = judge
        self._breaker = breaker
        self._key_env = key_env
        self.problem: str | None = None
        """One line for people; None while the judge works, and without a judge."""

    @property
    def model(self) -> str:
        """The judge's model, "" without a judge."""
        return self._judge.model if self._judge else ""

    async def run(self, stop: asyncio.Event) -> None:
        """Check until `stop` is set."""
        if self._judge is None:
            return
        failure: Failure | None = await self._judge.check()
        while not stop.is_set():
            self._report(failure)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _CHECK_AGAIN_S if failure else _WATCH_S)
            if failure or self._breaker.is_open:
                failure = await self._judge.check()
                if failure is None:
                    self._breaker.record(ok=True)

    @property
    def hold(self) -> bool:
        """Whether exchanges should wait: a replay that no judge can rate is money lost."""
        return self.problem is not None or self._breaker.is_open

    def snapshot(self) -> Snapshot:
        """Whether the judge can be used, for `SnapshotCollector`; nothing without a judge."""
        return {"gauges": [["judge_up", {}, int(not self.hold)]] if self._judge else []}

    async def close(self) -> None:
        """Close the judge's connections."""
        if self._judge:
            await self._judge.close()

    def _report(self, failure: Failure | None) -> None:
        problem = None
        if failure:
            assert self._judge is not None
            advice = _ADVICE.get(failure.reason, "see the detail")
            problem = (
                f"the judge {self._judge.model} cannot be used ({failure.reason}: {failure.detail}); "
                f"{advice.format(key_env=self._key_env)}. Forwarding goes on; exchanges wait to be scored."
            )
        if problem != self.problem:
            log.error("%s", problem) if problem else log.info("the judge works again")
        self.problem = problem

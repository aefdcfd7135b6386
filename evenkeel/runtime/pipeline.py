"""The replay plane at a glance, for the console, the readiness probe and the gauges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.console import PipelineView, RouteFlow, Untried
from evenkeel.monitor.export.snapshots import coverage
from evenkeel.runtime.replays import unavailable
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    from evenkeel.core.budget import CostTracker
    from evenkeel.core.exchange import ExchangeQueue
    from evenkeel.runtime.judge_health import JudgeHealth
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import CounterReading, Snapshot


class Pipeline:
    """Reads queue, counters and budget each time it is asked."""

    def __init__(
        self,
        settings: Settings,
        counters: CounterReading,
        queue: ExchangeQueue,
        ledger: CostTracker,
        health: JudgeHealth,
    ) -> None:
        self._settings = settings
        self._counters = counters
        self._queue = queue
        self._ledger = ledger
        self._health = health
        self._unavailable = unavailable(settings)

    def snapshot(self) -> Snapshot:
        """Gauges of the moment."""
        lag = self._queue.lag()
        spent = self._ledger.today()
        gauges = {
            "queue_waiting": lag.waiting,
            "queue_leased": lag.leased,
            "queue_dead": lag.dead,
            "queue_oldest_seconds": lag.oldest_s,
            "spend_today_tokens": spent.tokens,
            "spend_today_usd": spent.usd,
        }
        budget = self._ledger.budget
        limits = {"tokens": budget.tokens_per_day, "usd": budget.usd_per_day}
        gauges |= {f"budget_{unit}_per_day": limit for unit, limit in limits.items() if limit is not None}
        # Requests are counted by data planes, verdicts by workers: only here the two come together.
        covered = coverage(merge(self._counters.read()))
        return {
            "counters": [],
            "gauges": [
                *([name, {}, number] for name, number in gauges.items()),
                *(
                    [f"spend_today_by_purpose_{unit}", {"route": route, "purpose": kind}, amount]
                    for (route, kind), spent in self._ledger.by_route_and_kind().items()
                    for unit, amount in spent._asdict().items()
                ),
                *(["sampling_coverage", {"route": route}, share] for route, share in covered.items()),
            ],
        }

    def problems(self) -> dict[str, str]:
        """What keeps scoring from working. Forwarding is not in question here."""
        return {"judge": self._health.problem} if self._health.problem else {}

    def view(self) -> PipelineView:
        """Everything the console shows of the pipeline."""
        settings = self._settings
        lag = self._queue.lag()
        spent = self._ledger.today()
        budget = self._ledger.budget
        notices = list(self.problems().values())
        if self._reload_refused():
            notices.append(
                "The settings were changed and refused: older ones are in force. The log says what is wrong; "
                "`evenkeel check-config` says whether it is put right."
            )
        if budget.tokens_per_day is not None and spent.tokens >= budget.tokens_per_day * 0.99:
            notices.append(
                f"The day's budget of {budget.tokens_per_day:,} tokens is spent; scoring pauses until "
                "midnight UTC. Raise budget.tokens_per_day to go on."
            )
        if budget.usd_per_day is not None and spent.usd >= budget.usd_per_day * 0.99:
            notices.append(
                f"The day's budget of {budget.usd_per_day:,.2f} US dollars is spent; scoring pauses until "
                "midnight UTC. Raise budget.usd_per_day to go on."
            )
        return PipelineView(
            base_url=settings.base_url(settings.routes[0]),
            routes=self._flows(),
            waiting=lag.waiting,
            leased=lag.leased,
            dead=lag.dead,
            oldest_s=lag.oldest_s,
            tokens_today=spent.tokens,
            usd_today=spent.usd,
            budget_tokens=budget.tokens_per_day,
            budget_usd=budget.usd_per_day,
            scorer="judge" if settings.judge else "metrics",
            judge=self._health.model,
            simulated=settings.simulated,
            minimum_trials=settings.alert.min_trials,
            untried=self._untried(),
            notices=tuple(notices),
        )

    def _reload_refused(self) -> bool:
        gauges = [gauge for snapshot in self._counters.read() for gauge in snapshot.get("gauges", ())]
        return any(name == "settings_reload_success" and number == 0 for name, _, number in gauges)

    def _untried(self) -> tuple[Untried, ...]:
        """What can't run as things are set, then what did not apply, most frequent first."""
        never = [
            Untried(route, kind, reason, None)
            for route, kinds in self._unavailable.items()
            for kind, reason in kinds.items()
        ]
        totals = merge(self._counters.read())["counters"]
        skipped = [
            Untried(labels["route"], labels["perturbation"], labels["reason"], int(number))
            for name, labels, number in totals
            if name == "trials_skipped"
        ]
        skipped.sort(key=lambda one: (-(one.count or 0), one.route, one.perturbation, one.reason))
        return (*never, *skipped)

    def _flows(self) -> tuple[RouteFlow, ...]:
        totals = merge(self._counters.read())["counters"]

        def count(name: str, route: str) -> int:
            return int(sum(row[2] for row in totals if row[0] == name and row[1].get("route") == route))

        flows = []
        for route in self._settings.routes:
            skipped: dict[str, int] = {}
            for name, labels, number in totals:
                if name == "exchanges_skipped" and labels.get("route") == route.name:
                    skipped[labels["reason"]] = skipped.get(labels["reason"], 0) + int(number)
            flows.append(
                RouteFlow(
                    route.name,
                    eligible=count("exchanges_eligible", route.name),
                    sampled=count("exchanges_sampled", route.name),
                    queued=count("exchanges_queued", route.name),
                    scored=count("exchanges_scored", route.name),
                    skipped=skipped,
                )
            )
        return tuple(flows)

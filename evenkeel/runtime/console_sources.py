"""Sources of the console besides estimates.

`Pipeline` is the replay plane at a glance, also for the gauges; the rest is the set-up of routes and judge.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from evenkeel.console import JudgeSetup, PipelineView, RouteSetup
from evenkeel.monitor.export.snapshots import coverage
from evenkeel.runtime.replays import route_plans, unavailable
from evenkeel.settings.types import without_credentials
from evenkeel.stores.counters import RouteFlow, UntriedPerturbation, gauges, merge, route_flows, untried

if TYPE_CHECKING:
    from evenkeel.core.exchange import ExchangeQueue
    from evenkeel.settings import Settings
    from evenkeel.stores.budget import SharedCostTracker
    from evenkeel.stores.counters import CounterStore, Snapshot


log = logging.getLogger("evenkeel")


def route_setups(settings: Settings) -> tuple[RouteSetup, ...]:
    """Return the settings of each route that decide how its requests become trials."""
    plans = route_plans(settings)
    setups = []
    for route in settings.routes:
        setup = RouteSetup(
            route.name,
            settings.base_url(route),
            without_credentials(route.upstream),
            route.sampling_rate,
            route.trials.per_exchange,
            len(plans[route.name].perturbations),
        )
        setups.append(setup)
    return tuple(setups)


def judge_setup(settings: Settings) -> JudgeSetup | None:
    """Return the settings of the judge; None without one."""
    judge = settings.judge
    if judge is None:
        return None
    return JudgeSetup(judge.title, without_credentials(judge.base_url) or "this machine")


class Pipeline:
    """Reads queue, counters and budget each time it is called."""

    def __init__(
        self,
        settings: Settings,
        counters: CounterStore,
        queue: ExchangeQueue,
        ledger: SharedCostTracker,
    ) -> None:
        self._settings = settings
        self._counters = counters
        self._queue = queue
        self._ledger = ledger
        self._unavailable = unavailable(settings)

    def snapshot(self) -> Snapshot:
        """Return the current gauges."""
        lag = self._queue.lag()
        spent = self._ledger.today()
        current = {
            "queue_waiting": lag.waiting,
            "queue_leased": lag.leased,
            "queue_dead": lag.dead,
            "queue_oldest_seconds": lag.oldest_s,
            "spend_today_tokens": spent.tokens,
            "spend_today_usd": spent.usd,
        }
        budget = self._ledger.budget
        limits = {"tokens": budget.tokens_per_day, "usd": budget.usd_per_day}
        for unit, limit in limits.items():
            if limit is not None:
                current[f"budget_{unit}_per_day"] = limit
        rows: list[list[Any]] = []
        for name, number in current.items():
            rows.append([name, {}, number])
        for (route, kind), spend in self._ledger.by_route_and_kind().items():
            for unit, amount in spend._asdict().items():
                rows.append([f"spend_today_by_purpose_{unit}", {"route": route, "purpose": kind}, amount])
        # Data planes count requests, workers count verdicts; only here are both known.
        for route, share in coverage(merge(self._counters.read())).items():
            rows.append(["sampling_coverage_ratio", {"route": route}, share])
        return {"counters": [], "gauges": rows}

    def view(self) -> PipelineView:
        """Return everything that the console shows of the pipeline."""
        settings = self._settings
        lag = self._queue.lag()
        spent = self._ledger.today()
        budget = self._ledger.budget
        counted = self._counters.read()
        notices = []
        if 0 in gauges(counted, "settings_reload_success"):
            notices.append(
                "The settings were changed and refused: older ones are in force. The log says what is wrong; "
                "`evenkeel check-config` says whether it is put right."
            )
        if any(name == "store_recreated" and number for name, _, number in merge(counted)["counters"]):
            notices.append(
                "The data folder was deleted or replaced while evenkeel ran: nothing is known of before. "
                "To have it back, stop evenkeel and put the former folder in its place."
            )
        flows = route_flows(counted)
        shown = []
        for route in settings.routes:
            none = RouteFlow(route.name, eligible=0, sampled=0, queued=0, scored=0)
            shown.append(flows.get(route.name, none))
        # First the rewordings that can never run, then those not tried, by frequency.
        never = []
        for name, reasons in self._unavailable.items():
            for kind, reason in reasons.items():
                never.append(UntriedPerturbation(name, kind, reason, None))
        return PipelineView(
            base_url=settings.base_url(settings.routes[0]),
            routes=tuple(shown),
            waiting=lag.waiting,
            leased=lag.leased,
            dead=lag.dead,
            oldest_s=lag.oldest_s,
            tokens_today=spent.tokens,
            usd_today=spent.usd,
            budget_tokens=budget.tokens_per_day,
            budget_usd=budget.usd_per_day,
            judge=settings.judge.title if settings.judge else "",
            simulated=settings.simulated,
            untried=(*never, *untried(counted)),
            notices=tuple(notices),
        )

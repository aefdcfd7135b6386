"""Puts the change response of one process together.

Which settings matter to a score, and a name for them: other settings, other scores.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkeel.core.verdict import BASELINE
from evenkeel.experiments.gate.scoring import Scoring
from evenkeel.experiments.goldens.replay import GoldenReplayer
from evenkeel.monitor.changes.book import ChangeBook
from evenkeel.monitor.changes.exporter import ChangeCollector
from evenkeel.runtime import choices, replays
from evenkeel.runtime.changes.responder import Responder
from evenkeel.settings import SettingsError
from evenkeel.shadow.trials import Stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.budget import CostTracker
    from evenkeel.experiments.gate.scoring import Calibrated
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.judge import Judge
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.settings import Settings
    from evenkeel.shadow.replay import Replayer
    from evenkeel.stores.archive import ExchangeArchive
    from evenkeel.stores.bursts import Bursts
    from evenkeel.stores.changes import ChangeStore
    from evenkeel.stores.goldens import GoldenStore
    from evenkeel.stores.verdict_log import VerdictLog


_DIGITS = 12


def settings_that_matter(settings: Settings) -> dict[str, dict[str, str]]:
    """By route each setting that decides what is tried and how it is scored, as text. No credentials."""
    common = _flat({"alert.threshold": settings.alert.threshold, **_judge(settings), **_scoring(settings)})
    plans = replays.route_plans(settings)
    found: dict[str, dict[str, str]] = {}
    for route in settings.routes:
        plan = plans[route.name]
        own = _flat(
            {
                "perturbations": [f"{kind.name}@{kind.version}" for kind in plan.perturbations],
                "severities": list(plan.severities),
                "task": plan.task,
                "template": list(route.template),
            }
        )
        found[route.name] = common | own
    return found


def fingerprint(values: Mapping[str, str]) -> str:
    """12 hex digits that are others for other values."""
    text = json.dumps(dict(values), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _judge(settings: Settings) -> dict[str, Any]:
    judge = settings.judge
    if judge is None:
        return {"judge": None}
    return {
        "judge.model": judge.model,
        "judge.base_url": judge.base_url,
        "judge.votes": judge.votes,
        "judge.swap_share": judge.swap_share,
        "judge.cascade": judge.cascade,
    }


def _scoring(settings: Settings) -> dict[str, Any]:
    calibration = choices.calibration(settings)
    return {
        "scoring.encoder": choices.encoder_name(settings),
        "scoring.calibration": calibration.goldens.sha256[:_DIGITS] if calibration else None,
        "scoring.calibrated_on": calibration.calibrated_on if calibration else None,
        "scoring.qualities": sorted(settings.scoring.qualities),
        "scoring.tasks": settings.scoring.tasks,
        "rewriter.model": settings.rewriter.model if settings.rewriter else None,
    }


def _flat(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for name, value in values.items()
    }


log = logging.getLogger("evenkeel")


@dataclass(frozen=True, slots=True)
class Asking:
    """What asking goldens takes; all of it is there for replays already."""

    goldens: GoldenStore
    archive: ExchangeArchive
    log: VerdictLog
    replayer: Replayer
    scorer: TwoStageScorer
    judge: Judge | None
    ledger: CostTracker
    prices: Prices


class ChangeResponse:
    """The parts that a process runs and shows."""

    def __init__(
        self, settings: Settings, store: ChangeStore, bursts: Bursts, monitor: Monitor, asking: Asking
    ) -> None:
        """Wire it. Loading an encoder for a calibration takes seconds: do it in a thread.

        Args:
            settings: Of the process.
            store: What is remembered.
            bursts: What is sampled more.
            monitor: Has the changes.
            asking: For goldens.
        """
        self._stack = ExitStack()
        self._monitor = monitor
        self.book = ChangeBook(
            monitor.change_records,
            store,
            noise=self._noise,
            min_trials=settings.alert.min_trials,
            clock=time.time,
        )
        self.collector = ChangeCollector(self.book.reports, self.book.latest_runs)
        scoring = Scoring(asking.scorer, self._calibrated(settings, asking.judge))
        goldens = GoldenReplayer(
            settings,
            asking.goldens,
            asking.archive,
            asking.log,
            asking.replayer,
            scoring,
            asking.ledger,
            asking.prices,
            clock=time.time,
        )
        self.responder = Responder(
            monitor.change_records,
            store,
            bursts,
            goldens,
            settings.changes,
            {route.name: route.sampling_rate for route in settings.routes},
            clock=time.time,
        )

    def _calibrated(self, settings: Settings, judge: Judge | None) -> Calibrated | None:
        found = choices.calibration(settings)
        if found is None:
            return None
        # Brings every metric, which nobody without a calibration needs.
        from evenkeel.experiments.gate.thresholds import calibrated  # noqa: PLC0415

        try:
            return calibrated(found, self._stack, judge)
        except SettingsError as error:
            log.warning("goldens are rated without the calibration: %s", error)
            return None

    def _noise(self) -> dict[str, float]:
        """The noise floor of each route, the largest of its models', by the upper end of its interval."""
        found: dict[str, float] = {}
        for report in self._monitor.reports():
            if report.key.perturbation == BASELINE and report.content_delta is not None:
                known = found.get(report.key.route, 0.0)
                found[report.key.route] = max(known, report.content_delta.upper)
        return found

    def close(self) -> None:
        """Let go of what was loaded."""
        self._stack.close()


def stamp_of(settings: Settings, store: ChangeStore) -> Stamp:
    """What every verdict says about the settings that it was made under; remembers what they were."""
    names: dict[str, str] = {}
    for route, values in settings_that_matter(settings).items():
        names[route] = fingerprint(values)
        store.put_settings(names[route], values)
    return Stamp(names, settings.judge.model if settings.judge else "")

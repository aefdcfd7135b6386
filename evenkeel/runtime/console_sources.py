"""What the console shows beside estimates: settings, judge, calibration, spend and dead letters."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenkeel.console import (
    Amount,
    CalibrationInForce,
    DeadExchange,
    DeadLetter,
    DeadLetters,
    JudgeSetup,
    Share,
    Spending,
    Thresholds,
)
from evenkeel.reference.documents import document
from evenkeel.runtime import choices
from evenkeel.runtime.effective_settings import settings_in_effect, without_credentials
from evenkeel.runtime.replays import budgets
from evenkeel.shadow.encodings import UnreadableBody, decode_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console import ConsoleSources
    from evenkeel.core.budget import CostTracker, SpendKind
    from evenkeel.core.exchange import Exchange, ExchangeQueue
    from evenkeel.settings import Settings

log = logging.getLogger("evenkeel")

_SHOWN_BYTES: Final = 1 << 20
"""Bodies that are larger once decoded are not shown."""

_PURPOSES: Final[tuple[SpendKind, ...]] = ("replay", "golden", "judge", "rewriter")


def with_operations(
    sources: ConsoleSources, settings: Settings, queue: ExchangeQueue, ledger: CostTracker
) -> ConsoleSources:
    """The sources with all that the settings, the queue and the ledger say. Reads the calibration's file."""
    alert = settings.alert
    return replace(
        sources,
        spending=partial(spending, settings, ledger),
        dead_letters=dead_letters(queue),
        judge=judge_setup(settings),
        calibration=calibration(settings),
        thresholds=Thresholds(
            alert.threshold, alert.drift_tolerance, alert.mean_trials_between_false_alarms, alert.min_trials
        ),
        settings=partial(settings_in_effect, settings),
        documents=document,
    )


def spending(settings: Settings, ledger: CostTracker) -> Spending:
    """The day's spend by route, by purpose, and by both. Blocks on the ledger."""
    limits = budgets(settings).routes
    routes = []
    for route in settings.routes:
        spent, own = ledger.today(route.name), limits[route.name]
        routes.append(Amount(route.name, spent.tokens, spent.usd, own.tokens_per_day, own.usd_per_day))
    purposes = [Amount(kind, *ledger.of_kind(kind)) for kind in _PURPOSES]
    shares = [Share(route, kind, *spent) for (route, kind), spent in ledger.by_route_and_kind().items()]
    return Spending(tuple(routes), tuple(purposes), tuple(shares))


def dead_letters(queue: ExchangeQueue) -> DeadLetters:
    """What was given up, as the console reads it."""

    def latest(limit: int) -> Sequence[DeadLetter]:
        return [DeadLetter(*letter) for letter in queue.dead_letters(limit)]

    def find(exchange_id: str) -> DeadExchange | None:
        exchange = queue.dead_exchange(exchange_id)
        return None if exchange is None else _dead_exchange(exchange)

    return DeadLetters(latest, find)


def judge_setup(settings: Settings) -> JudgeSetup | None:
    """The judge of the settings; None without one."""
    judge = settings.judge
    if judge is None:
        return None
    return JudgeSetup(
        model=judge.model,
        endpoint=without_credentials(judge.base_url),
        votes=judge.votes,
        swap_share=judge.swap_share,
        recheck_share=judge.recheck_share,
        audit_share=judge.audit_share,
        cascade=judge.cascade,
    )


def calibration(settings: Settings) -> CalibrationInForce | None:
    """The calibration of the settings; None without one, or if it no longer fits, which is logged."""
    try:
        found = choices.calibration(settings)
    except ValueError as error:
        log.warning("the console shows no calibration: %s", error)
        return None
    if found is None:
        return None
    return CalibrationInForce(str(settings.scoring.calibration or Path()), found)


def _dead_exchange(exchange: Exchange) -> DeadExchange:
    return DeadExchange(
        route=exchange.route,
        method=exchange.method,
        path=exchange.path,
        status=exchange.status,
        received_at=exchange.received_at,
        duration_s=exchange.duration_s,
        request_headers=exchange.request_headers,
        response_headers=exchange.response_headers,
        request=_text(exchange.request_body, exchange.request_headers),
        response=_text(exchange.response_body, exchange.response_headers),
        task=exchange.task,
    )


def _text(body: bytes, headers: tuple[tuple[str, str], ...]) -> str:
    try:
        return decode_body(dict(headers), body, _SHOWN_BYTES).decode("utf-8", "replace")
    except UnreadableBody as error:
        return f"({error.detail}; {len(body):,} bytes as sent)"

"""The worker: takes exchanges off the queue and makes their trials."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.budget import RouteBudget
from evenkeel.core.languages import load_languages
from evenkeel.runtime import challengers, replays
from evenkeel.runtime.notes import notes
from evenkeel.runtime.process import attend
from evenkeel.shadow.needs import NeedsReader
from evenkeel.shadow.quoted_replays import QuotedReplays
from evenkeel.shadow.references.keeper import ReferenceKeeper
from evenkeel.shadow.rewriter import JudgedMeaning, Rewriter
from evenkeel.shadow.timesheet import Deadline
from evenkeel.shadow.trial_log import Stamp, TrialLog
from evenkeel.shadow.trial_maker import TrialMaker
from evenkeel.shadow.worker import Archivist, Worker

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from litestar.types import ASGIApp

    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.shadow.timesheet import Timesheet
    from evenkeel.stores.changes import ChangeStore

log = logging.getLogger("evenkeel")

# Processor time of an exchange. One that takes more becomes a dead letter, `processor_time`, and on Linux the
# worker is killed and started again if it does not come back.
_EXCHANGE_PROCESSOR_S: Final = 20.0
_DIGITS: Final = 12
# Share of the trials that are drawn at random for a person's label; they correct the judge's bias.
_LABEL_SHARE: Final = 0.02


@dataclass(frozen=True, slots=True)
class WorkerRole:
    """The worker of a process, and its background tasks."""

    worker: Worker
    _keep_templates: Callable[[threading.Event], None]
    _rewriter: Rewriter | None
    _sheet: Timesheet
    _deadline: Deadline

    @classmethod
    async def set_up(
        cls, settings: Settings, stores: Stores, instruments: Instruments, sheet: Timesheet
    ) -> WorkerRole:
        """Connect the parts.

        Args:
            settings: Routes, rewriter, what is archived.
            stores: Where exchanges come from and verdicts go.
            instruments: Ask and rate.
            sheet: Sheet that the supervisor watches.
        """
        for note in notes(settings):
            log.warning("note: %s", note)
        await asyncio.to_thread(load_languages)
        await asyncio.to_thread(challengers.follow_settings, settings, stores.challenges, time.time())
        deadline = Deadline(sheet, _EXCHANGE_PROCESSOR_S)
        tally, spans = instruments.tally, instruments.spans
        rewriter = _rewriter(settings, stores, instruments)
        templates = await asyncio.to_thread(lambda: stores.templates)
        reader = replays.reader(settings, templates.learner)
        prefixes = {route.name: route.match.prefix for route in settings.routes}
        keeper = None
        if settings.asks_references:
            keeper = ReferenceKeeper(stores.references, prefixes, tally=tally)
            reader.keep_embeddings = keeper.keep_embeddings
        trials = TrialMaker(
            TrialLog(
                stores.verdicts,
                instruments.scorer.scorer,
                clock=time.time,
                stamp=await asyncio.to_thread(stamp_of, settings, stores.changes),
                keep_reference=keeper.keep if keeper else None,
                post_score=instruments.scores.post if instruments.scores else None,
            ),
            instruments.scorer,
            QuotedReplays(
                instruments.replayer,
                instruments.prices,
                replays.replay_target(settings),
                tally=tally,
                observer=spans.observer,
            ),
            instruments.ledger,
            tally=tally,
            needs=await asyncio.to_thread(NeedsReader, stores.documents),
            rewriter=rewriter,
            challenger=challengers.challenger(settings, stores, instruments),
        )
        worker = Worker(
            stores.queue,
            reader,
            trials,
            tally=tally,
            hold=lambda: instruments.health.hold,
            keep=Archivist(stores.archive, prefixes, tally=tally).keep if settings.storage.archive else None,
            bounded=deadline,
        )
        return cls(worker, partial(templates.run, reader), rewriter, sheet, deadline)

    @property
    def app(self) -> ASGIApp | None:
        """Return None: its supervisor serves the probes."""
        return None

    def bodies(self, stopping: threading.Event) -> tuple[Callable[[], object], ...]:
        """Return the body of the thread that keeps templates, which ends when `stopping` is set."""
        return (partial(self._keep_templates, stopping),)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, after giving up what the previous worker could not finish."""
        # The sheet is memory that outlives a worker: the one before may have been killed for an exchange.
        await self.worker.give_up(self._sheet.left())
        self._sheet.clear()
        await attend(self.worker.run(stop), self._deadline.tick())

    async def close(self) -> None:
        """Close the rewriter's connections."""
        if self._rewriter is not None:
            await self._rewriter.close()


def _rewriter(settings: Settings, stores: Stores, instruments: Instruments) -> Rewriter | None:
    """Return the model that paraphrases and translates, if one is set and a judge checks what it writes."""
    wanted, judge = settings.replays.rewriter, instruments.judge
    if wanted is None or judge is None:
        return None
    return Rewriter(
        replays.endpoint(wanted, instruments.prices, instruments.spans.observer),
        cache=stores.rewrites,
        # Its cost counts for no route.
        equal_meaning=JudgedMeaning(judge, RouteBudget(instruments.ledger, "", "rewriter")),
        count=lambda outcome: instruments.tally.add("rewrites", outcome=outcome),
    )


def stamp_of(settings: Settings, store: ChangeStore) -> Stamp:
    """Return the stamp of every verdict, which identifies its settings, and store those settings."""
    names: dict[str, str] = {}
    for route, values in settings_that_matter(settings).items():
        names[route] = fingerprint(values)
        store.put_settings(names[route], values)
    judge = settings.judge.title if settings.judge else ""
    return Stamp(names, judge, _LABEL_SHARE)


def settings_that_matter(settings: Settings) -> dict[str, dict[str, str]]:
    """Return, by route, the settings that decide what is tried and how it is scored, without credentials."""
    # A rewriter's model decides what is asked; its endpoint and key do not.
    model = settings.replays.rewriter.model if settings.replays.rewriter else None
    rewriter = {"replays.rewriter.model": model}
    common = _flat({"alerts.threshold": settings.alerts.threshold, **_judge(settings), **rewriter})
    plans = replays.route_plans(settings)
    values_by_route: dict[str, dict[str, str]] = {}
    for route in settings.routes:
        plan = plans[route.name]
        own = _flat(
            {
                "perturbations": [f"{kind.name}@{kind.version}" for kind in plan.perturbations],
                "task": plan.task,
                "template": list(route.template),
            }
        )
        values_by_route[route.name] = common | own
    return values_by_route


def fingerprint(values: Mapping[str, str]) -> str:
    """Return 12 hex digits that differ for different values."""
    text = json.dumps(dict(values), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _judge(settings: Settings) -> dict[str, Any]:
    judge = settings.judge
    if judge is None:
        return {"judge": None}
    # What a judge costs and how fast it is asked changes no rating.
    names = ("local", "model", "base_url", "qualities", "tasks")
    values = judge.model_dump()
    return {f"judge.{name}": values[name] for name in names}


def _flat(values: Mapping[str, Any]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, value in values.items():
        is_text = isinstance(value, str)
        texts[name] = value if is_text else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return texts

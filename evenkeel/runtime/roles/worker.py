"""The worker: takes exchanges off the queue and makes their trials."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from evenkeel.runtime import challengers, replays
from evenkeel.runtime.notes import notes
from evenkeel.runtime.process import attend
from evenkeel.runtime.stamp import stamp_of
from evenkeel.shadow.needs import NeedsReader
from evenkeel.shadow.quoted_replays import QuotedReplays
from evenkeel.shadow.timesheet import Deadline
from evenkeel.shadow.trial_log import TrialLog
from evenkeel.shadow.trial_maker import TrialMaker
from evenkeel.shadow.worker import Worker

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.shadow.rewriter import Rewriter
    from evenkeel.shadow.timesheet import Timesheet

log = logging.getLogger("evenkeel")

# Processor time of an exchange. One that takes more becomes a dead letter, `processor_time`, and on Linux the
# worker is killed and started again if it does not come back.
_EXCHANGE_PROCESSOR_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class WorkerRole:
    """The worker of a process, and its background tasks."""

    keep_templates: Callable[[threading.Event], None]
    """Body of the thread that keeps templates."""
    worker: Worker
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
        await asyncio.to_thread(replays.load_languages)
        await asyncio.to_thread(challengers.follow_settings, settings, stores.challenges, time.time())
        deadline = Deadline(sheet, _EXCHANGE_PROCESSOR_S)
        tally, spans = instruments.tally, instruments.spans
        rewriter = replays.rewriter(
            settings,
            stores.rewrites,
            instruments.prices,
            tally,
            replays.meaning(settings, instruments.judge, instruments.ledger),
            spans.observer,
        )
        templates = await asyncio.to_thread(lambda: stores.templates)
        reader = replays.reader(settings, templates.learner)
        keeper = replays.reference_keeper(settings, stores.references, tally)
        reader.keep_embeddings = keeper.keep_embeddings if keeper else None
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
            keep=replays.archivist(settings, stores.archive, tally),
            bounded=deadline,
        )
        return cls(partial(templates.run, reader), worker, rewriter, sheet, deadline)

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

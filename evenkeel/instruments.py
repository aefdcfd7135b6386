"""What asks and rates answers: set up once in a process, for trials as for goldens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel import replays
from evenkeel.data_plane import LAST_SPANS_S
from evenkeel.encoders import make_encoder
from evenkeel.scorers import make_judge, make_scorer
from evenkeel.tracing import open_spans
from metrics.stores.counters import Tally, merge

if TYPE_CHECKING:
    from evenkeel.encoders import Encoder
    from evenkeel.judge_health import JudgeHealth
    from evenkeel.settings import Settings
    from evenkeel.stores import Stores
    from evenkeel.tracing import Spans
    from metrics.judge import Judge
    from metrics.scoring import TwoStageScorer
    from metrics.stores.counters import Snapshot
    from shadow.replay import Replayer
    from shadow.spend import Ledger, Prices


@dataclass(frozen=True, slots=True)
class Instruments:
    """All of it."""

    prices: Prices
    ledger: Ledger
    tally: Tally
    spans: Spans
    judge: Judge | None
    health: JudgeHealth
    encoder: Encoder
    scorer: TwoStageScorer
    replayer: Replayer

    @classmethod
    async def set_up(cls, settings: Settings, stores: Stores) -> Instruments:
        """Load what takes seconds in a thread; needs an event loop for the connections."""
        prices, tally, spans = replays.prices(settings), Tally(), open_spans(settings)
        await asyncio.to_thread(replays.warm_up, prices)
        judge, health = make_judge(settings, stores.judge_cache, prices, spans.observer)
        encoder = await asyncio.to_thread(make_encoder, settings, prices, spans.observer)
        scorer = await asyncio.to_thread(make_scorer, settings, judge, encoder, tally)
        replayer = replays.replayer(settings)
        return cls(prices, stores.ledger, tally, spans, judge, health, encoder, scorer, replayer)

    def counted(self) -> Snapshot:
        """What was counted in this process."""
        return merge([self.tally.snapshot(), self.spans.snapshot()])

    async def close(self) -> None:
        """Send the last spans and close all connections."""
        await asyncio.to_thread(self.spans.finish, LAST_SPANS_S)
        await self.replayer.close()
        await self.encoder.close()
        await self.health.close()

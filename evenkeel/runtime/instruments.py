"""What asks and rates answers: set up once in a process, for trials as for goldens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.runtime import replays
from evenkeel.runtime.data_plane import LAST_SPANS_S
from evenkeel.runtime.encoders import make_encoder
from evenkeel.runtime.scorers import make_judge, make_scorer
from evenkeel.stores.counters import Tally, merge
from evenkeel.tracing import open_spans

if TYPE_CHECKING:
    from evenkeel.core.budget import CostTracker
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.judge import Judge
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.runtime.encoders import Encoder
    from evenkeel.runtime.judge_health import JudgeHealth
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.shadow.replay import Replayer
    from evenkeel.stores.counters import Snapshot
    from evenkeel.tracing import Spans


@dataclass(frozen=True, slots=True)
class Instruments:
    """All of it."""

    prices: Prices
    ledger: CostTracker
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

"""Which encoder compares meanings: the default, one of the settings, or an endpoint's."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.languages import base_tag, language_of
from evenkeel.llm.limits import RateLimits
from evenkeel.llm.observer import UNOBSERVED
from evenkeel.metrics.heuristic import Cutoffs
from evenkeel.metrics.languages import Coverage
from evenkeel.metrics.similarity import EmbeddingsUnavailableError, load_embeddings
from evenkeel.runtime.choices import encoder_name
from evenkeel.runtime.preflight import notes

if TYPE_CHECKING:
    from evenkeel.llm.embeddings import EmbeddingsClient
    from evenkeel.llm.observer import CallObserver
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.similarity import Embeddings
    from evenkeel.metrics.similarity.endpoint_embeddings import EndpointEmbeddings
    from evenkeel.settings import Settings

log = logging.getLogger("evenkeel")


@dataclass(frozen=True, slots=True)
class Encoder:
    """What compares meanings, and what its cosines mean."""

    embeddings: Embeddings | EndpointEmbeddings | None
    """None = nothing does."""
    cutoffs: Cutoffs
    client: EmbeddingsClient | None = None
    """Of the endpoint, if there is one."""

    async def close(self) -> None:
        """Close the endpoint's connections."""
        if self.client:
            await self.client.close()


def make_encoder(settings: Settings, prices: Prices, observer: CallObserver = UNOBSERVED) -> Encoder:
    """The encoder the settings name, if any. Loading one takes seconds; `observer` is told of its calls."""
    chosen = settings.scoring.embeddings
    for note in notes(settings):
        log.warning("note: %s", note)
    languages = frozenset(base_tag(tag) for tag in chosen.languages) or None
    if chosen.enabled is False:
        return Encoder(None, Cutoffs())
    if chosen.base_url is None or chosen.model is None:
        try:
            embeddings = load_embeddings(chosen.model, languages=languages, language_of=language_of)
        except EmbeddingsUnavailableError as error:
            if chosen.enabled or chosen.model:
                log.warning("no sentence embeddings: %s; scoring goes on without them", error)
            return Encoder(None, Cutoffs())
        return Encoder(embeddings, _cutoffs(settings))
    # They bring the SDK, which only those with an endpoint need.
    from evenkeel.llm.embeddings import EmbeddingsClient  # noqa: PLC0415
    from evenkeel.metrics.similarity.endpoint_embeddings import EndpointEmbeddings  # noqa: PLC0415

    client = EmbeddingsClient(
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=os.environ.get(chosen.api_key_env) or "",
        timeout_s=chosen.timeout_s,
        concurrency=chosen.concurrency,
        price=prices.usd,
        limits=RateLimits(
            requests_per_minute=chosen.requests_per_minute, tokens_per_minute=chosen.tokens_per_minute
        ),
        observer=observer,
    )
    remote = EndpointEmbeddings(
        client, piece_words=chosen.piece_words, coverage=Coverage(languages, language_of)
    )
    return Encoder(remote, _cutoffs(settings), client)


def _cutoffs(settings: Settings) -> Cutoffs:
    chosen, encoder = settings.scoring.embeddings, encoder_name(settings)
    if chosen.same_meaning is None or chosen.other_meaning is None:
        return Cutoffs()
    return Cutoffs(
        same_meaning=chosen.same_meaning, other_meaning=chosen.other_meaning, encoder=encoder or ""
    )

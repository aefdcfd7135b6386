"""What to know about the prices and the encoder of the settings.

Apart from the checks of `preflight`: these need what scores and replays, which a supervisor never loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.similarity.embeddings import MINILM
from evenkeel.runtime.choices import encoder_name
from evenkeel.runtime.replays import budgeted_prices

if TYPE_CHECKING:
    from evenkeel.settings import Settings


def notes(settings: Settings) -> list[str]:
    """What to know about prices and encoder of the settings, one line each; nothing of it is an error."""
    found = unpriced(settings)
    encoder = encoder_name(settings)
    if encoder in (None, MINILM):
        return found
    note = (
        f"scoring.embeddings: cosines of {encoder} count in the similarity; without a judge an unsure answer "
        f"counts as shifted below a similarity that was set with {MINILM} (docs/judging.md)"
    )
    return [*found, note]


def unpriced(settings: Settings) -> list[str]:
    """What counts at an assumed price, or is not replayed, because nobody knows its price."""
    known = budgeted_prices(settings)
    if known.assumed is None:
        return []
    embeddings = settings.scoring.embeddings
    models = {
        "judge": settings.judge.model if settings.judge else None,
        "rewriter": settings.rewriter.model if settings.rewriter else None,
        "rewriter.stronger_model": settings.rewriter.stronger_model if settings.rewriter else None,
        "scoring.embeddings": embeddings.model if embeddings.base_url else None,
    }
    found = [
        f"{part}: {model} has no known price, so it {known.assumed.said} against the budget. Set its price, "
        "or 0 if it is free, under `prices`"
        for part, model in models.items()
        if model and not known.knows(model)
    ]
    if known.required and not known.knows():
        found.append(
            "budget: models of the routes that have no known price are not replayed. `prices` names them, or "
            'all of them as "*"'
        )
    return found

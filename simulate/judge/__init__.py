"""The simulated judge: answers evenkeel's judge prompts with the planted truth.

It is no language model. It reads the material out of the prompt by its markers and recognises the
simulated model's answers, whatever their format and language. With noise, a share of its ratings is
flipped by chance, so that a drifting judge can be told from a drifting model.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.quality.bundles import BUNDLES
from evenkeel.simulate.judge.rules import Ruling, rate_quality, rate_similarity
from evenkeel.simulate.markers import marked_texts

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.simulate.model import Message

JUDGE_MODEL: Final = "simulated-judge"
"""The name under which it is served."""

_FLIPPED: Final = {3: 1, 2: 3, 1: 3}
_PAIR: Final = 2
_COMPLETENESS: Final = tuple(
    prompt for bundle in BUNDLES.values() for prompt in bundle.judged if prompt.name == "completeness"
)
"""In the words of every task."""


def judge(messages: Sequence[Message], rng: random.Random, noise: float = 0.0) -> str:
    """The reply to a judge's prompt: a JSON object with `explanation` and `rating`.

    A prompt with a REQUEST and an ANSWER asks for quality, any other with two texts for similarity. A
    prompt without material gets a sentence instead.

    Args:
        messages: The prompt.
        rng: Decides which ratings are flipped.
        noise: Share of ratings that are flipped: 3 becomes 1, and 2 and 1 become 3.
    """
    prompt = "\n\n".join(message.text for message in messages if message.role == "user")
    ruling = _rule(marked_texts(prompt), "\n".join(message.text for message in messages))
    if ruling is None:
        return "The simulated judge takes judge prompts of evenkeel only."
    rating, reason = ruling
    if noise and rng.random() < noise:
        rating, reason = _FLIPPED[rating], f"{reason}; flipped by chance"
    return json.dumps({"explanation": f"Simulated judge: {reason}.", "rating": rating})


def _rule(texts: dict[str, str], prompt: str) -> Ruling | None:
    if "REQUEST" in texts and "ANSWER" in texts:
        complete = any(asked.role in prompt or asked.question in prompt for asked in _COMPLETENESS)
        return rate_quality(texts["REQUEST"], texts["ANSWER"], complete=complete)
    if len(texts) == _PAIR:
        return rate_similarity(*texts.values())
    return None


__all__ = ["JUDGE_MODEL", "Ruling", "judge", "rate_quality", "rate_similarity"]

"""The simulated rewriter: paraphrase, tone and translation by rule, for evenkeel's own prompts.

It is no language model. What it returns keeps what the validity gate asks for, is written in the wanted
language, and lets the simulated model recognise the topic. It means nothing beyond that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.simulate.markers import marked_texts
from evenkeel.simulate.phrases import LANGUAGES, Tones, phrases_for
from evenkeel.simulate.rewriter.translation import translate
from evenkeel.simulate.rewriter.wording import in_tone, paraphrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.simulate.model import Message

REWRITER_MODEL: Final = "simulated-rewriter"
"""The name under which it is served."""

_TASK: Final = re.compile(r"^Task: (paraphrase|tone|translation)(?: (\S+))?$", re.MULTILINE)


def rewrite(messages: Sequence[Message]) -> str:
    """The reply to a rewriting request: the rewritten text alone.

    A request that names no task, no text, or a target that the simulation does not know gets a sentence
    that says so; the gate rejects it like any other reply that is not the text.
    """
    prompt = messages[-1].text if messages else ""
    # What the material says about tasks is no order: the first line that names one stands before it.
    task = _TASK.search(prompt)
    text = marked_texts(prompt).get("TEXT")
    if task is None or text is None:
        return "The simulated rewriter takes rewriting requests of evenkeel only."
    kind, target = task[1], task[2] or ""
    rewritten = paraphrase(text) if kind == "paraphrase" else None
    if kind == "tone":
        rewritten = in_tone(text, target)
    elif kind == "translation":
        phrases = phrases_for(target)
        rewritten = translate(text, phrases) if phrases else None
    return f"The simulated rewriter does not know the target {target}." if rewritten is None else rewritten


def is_rewriting(original: str, text: str) -> bool:
    """Whether a text is what the simulated rewriter makes of the original, in any tone or language."""
    return (
        text == paraphrase(original)
        or any(text == in_tone(original, tone) for tone in Tones._fields)
        or any(text == translate(original, phrases) for phrases in LANGUAGES)
    )


__all__ = ["REWRITER_MODEL", "in_tone", "is_rewriting", "paraphrase", "rewrite", "translate"]

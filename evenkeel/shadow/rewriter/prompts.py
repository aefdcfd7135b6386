"""Prompts for the rewriter, versioned, with the text to rewrite kept apart from the instructions.

The text stands between markers with a tag, as in the judge's prompts. The tag is a hash of everything that
others wrote and does not occur in it, so the text cannot forge an end marker. The reply stands between tags
of its own, so whatever a model says around it is left out. The first line of the request
names the task in a fixed form: "Task: paraphrase", "Task: tone formal" or "Task: translation fr-CA". The
wording is in `prompts.toml`.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import english_name
from evenkeel.llm.observer import ObservedMessage
from evenkeel.metrics.judge.prompts import unforgeable_tag, wording_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.protocol import RewriteTask

VERSION: Final = 3
"""Version, raised with every change of wording. Texts written with older wording are not taken from the
cache."""

_WORDING: Final = wording_of(__package__)
TONES: Final[dict[str, str]] = _WORDING["tones"]
"""Description of each tone in the prompt."""

CONTRASTS: Final[dict[str, str]] = _WORDING["contrasts"]
"""Description of each contrast in the prompt: a change of the question that must change the answer."""

# At most this many passages to keep are listed; the general rule of the prompt covers the rest.
_KEEP_LISTED: Final = 40
# At most this many characters of a passage are listed; a longer one is cut.
_KEEP_CHARS: Final = 200
# Characters of a rejected text that are shown again.
_REJECTED_CHARS: Final = 8_000


@dataclass(frozen=True, slots=True)
class RejectedText:
    """Earlier attempt and its faults."""

    text: str
    """Text of the attempt, "" if there was none."""
    faults: tuple[str, ...]
    """Faults of the text, one sentence each."""


def request_for(
    task: RewriteTask, keep: Sequence[str], rejected: RejectedText | None = None
) -> tuple[ObservedMessage, ...]:
    """Return the messages that ask for one rewriting.

    Args:
        task: What is wanted.
        keep: Passages that must stand in the result exactly as they are.
        rejected: The previous attempt, if this one should mend its faults.

    Raises: ValueError for an unknown tone.
    """
    # Lone surrogates can come out of JSON and cannot be sent.
    text = _sendable(task.text)
    listed = _sendable(_listed(keep))
    parts = [text, listed]
    if rejected:
        before = _sendable(rejected.text[:_REJECTED_CHARS])
        faults = _sendable("\n".join(f"- {fault}" for fault in rejected.faults))
        parts += [before, faults]
    tag = unforgeable_tag(parts)
    blocks = [_WORDING["heads"][task.kind].format(**_words(task))]
    if task.kind == "contrast":
        blocks.append(_WORDING["rules_of_contrasts"])
    elif task.kind != "blocks":
        blocks.append(_WORDING["rules"])
    if listed:
        blocks += [_WORDING["keep"], _between("KEEP", tag, listed)]
    blocks.append(_between("TEXT", tag, text))
    if rejected:
        if before:
            blocks += [_WORDING["before"], _between("REJECTED", tag, before)]
        blocks += [_WORDING["faults"], _between("FAULTS", tag, faults)]
    blocks.append(_WORDING["end_of_blocks" if task.kind == "blocks" else "end"])
    role = _WORDING[{"blocks": "role_of_blocks", "contrast": "role_of_contrasts"}.get(task.kind, "role")]
    system = f"{role}\n\n{_WORDING['data_rule'].format(tag=tag)}"
    return (ObservedMessage("system", system), ObservedMessage("user", "\n\n".join(blocks)))


def cache_key(task: RewriteTask, models: str) -> str:
    """Return 64 hex digits that depend on the task, the wording of the prompt and the models."""
    content = json.dumps([VERSION, models, task.kind, task.target, task.text])
    return hashlib.sha256(content.encode()).hexdigest()


def rewritten_in(reply: str) -> str | None:
    """Return the text that a reply gives between its tags; None if it has none."""
    match = _REWRITTEN.search(reply)
    return (match[1].strip() or None) if match else None


_REWRITTEN: Final = re.compile(r"<rewritten>(.*)</rewritten>", re.DOTALL)


def _words(task: RewriteTask) -> dict[str, str]:
    match task.kind:
        case "paraphrase" | "blocks":
            return {}
        case "contrast":
            return {"target": task.target, "change": CONTRASTS[task.target]}
        case "tone":
            if task.target not in TONES:
                raise ValueError(f"unknown tone {task.target!r}: known are {', '.join(TONES)}")
            return {"target": task.target, "manner": TONES[task.target]}
        case "translation":
            return {"target": task.target, "language": english_name(task.target)}


def _listed(keep: Sequence[str]) -> str:
    shown = list(dict.fromkeys(keep))[:_KEEP_LISTED]
    cut = (example if len(example) <= _KEEP_CHARS else f"{example[:_KEEP_CHARS]} […]" for example in shown)
    # One line each, whatever is in it.
    return "\n".join(json.dumps(example, ensure_ascii=False) for example in cut)


def _between(label: str, tag: str, text: str) -> str:
    return f"<<<BEGIN {label} {tag}>>>\n{text}\n<<<END {label} {tag}>>>"


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()

"""What a metric means, in words a judge can go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from evenkeel.experiments.judge_audit.rows import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Rubric:
    """A metric's definition. The scale belongs to the ratings, not to the rubric."""

    metric: str
    definition: str
    """One to three sentences."""
    highest: str
    """What a text at the top of the scale is like, as the end of "… means that"."""
    lowest: str
    """The same for the bottom."""
    kind: str = "response"
    """What the rated text is."""
    context: str = "context"
    """What it was written for."""


def metric_key(name: str) -> str:
    """A metric's name as used throughout: lower case, "_" for spaces and hyphens."""
    return "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())


_SUMMARY = {"kind": "summary", "context": "source document"}
_REPLY = {"kind": "response", "context": "conversation so far"}

BUILTIN = (
    Rubric(
        "coherence",
        "Coherence is about the whole: do the sentences follow on from one another and add up to an ordered "
        "account of one topic, or are they a pile of loosely connected facts?",
        "each sentence builds on the one before, and the order makes sense",
        "the sentences do not hang together",
        **_SUMMARY,
    ),
    Rubric(
        "consistency",
        "Consistency is agreement on facts: everything that is stated must follow from the source. "
        "Whatever is invented, contradicted or distorted counts against it.",
        "every statement is backed by the source",
        "most statements are invented or contradict the source",
        **_SUMMARY,
    ),
    Rubric(
        "fluency",
        "Fluency is the quality of the single sentences: grammar, capital letters, punctuation and layout. "
        "Fragments, missing words and formatting debris make a text harder to read.",
        "every sentence is well formed and reads easily",
        "errors make the text hard to read",
        **_SUMMARY,
    ),
    Rubric(
        "relevance",
        "Relevance is choice of content: what matters in the source should be there, and nothing else. "
        "Repetition and side issues count against it.",
        "it holds what is important in the source and nothing that is not",
        "it misses what is important, or is full of what is not",
        **_SUMMARY,
    ),
    Rubric(
        "understandable",
        "Can the response be understood by somebody who has followed the conversation?",
        "its meaning is clear from the conversation",
        "it makes no sense after what was said before",
        **_REPLY,
    ),
    Rubric(
        "natural",
        "Would a person say this, in these words, at this point of a conversation?",
        "it sounds like something a person would say",
        "no person would put it that way",
        **_REPLY,
    ),
    Rubric(
        "maintains_context",
        "Does the response go on from what was said before, or does it ignore it?",
        "it is a fitting continuation of the conversation",
        "it has nothing to do with what was said before",
        **_REPLY,
    ),
    Rubric(
        "interesting",
        "Does the response bring something that makes one want to go on talking, or is it flat and generic?",
        "it is engaging",
        "it is dull",
        **_REPLY,
    ),
    Rubric(
        "uses_knowledge",
        "The speaker was given a fact to build on. Does the response make good use of that fact?",
        "it makes use of the fact",
        "it does not use the fact",
        **_REPLY,
    ),
    Rubric(
        "overall",
        "Taking clarity, fit to the conversation, naturalness, interest and use of facts together, how good "
        "is the response?",
        "it is a very good response in every respect",
        "it is a poor response",
        **_REPLY,
    ),
    Rubric(
        "faithfulness",
        "Faithfulness asks whether everything that is stated is supported by what the request says. What is "
        "left out does not matter here.",
        "every statement is supported",
        "it states invented or wrong things, or draws a wrong conclusion",
        context="request",
    ),
    Rubric(
        "completeness",
        "Completeness asks whether the facts, figures, names, steps and results that the reader needs have "
        "been carried over. Wrong statements do not matter here.",
        "all or nearly all key information is there",
        "little or none of the key information is there",
        context="request",
    ),
    Rubric(
        "helpfulness",
        "Helpfulness asks how far the response does what the request set out to get done.",
        "somebody with this request would need nothing more",
        "it does not help with the request at all",
        context="request",
    ),
    Rubric(
        "similarity",
        "Similarity asks whether the answer tells its reader the same as the first answer to that request "
        "did. Wording, order and layout do not matter; facts, figures, names, advice and conclusions do.",
        "both answers tell their reader the same",
        "the answer has another message, so that its reader would do or believe something else",
        kind="second answer",
        context="request and first answer",
    ),
    Rubric(
        "quality_change",
        "Quality change asks whether the second answer serves the request worse than the first answer, just "
        "as well, or better. A difference that is neither to the better nor to the worse is in the middle.",
        "it serves the request better than the first answer",
        "it serves the request worse than the first answer",
        kind="second answer",
        context="request and first answer",
    ),
)
"""Metrics that need no rubric file: those of the paper, a few of this project's own, and those of labels."""

_FIELDS = ("definition", "highest", "lowest", "kind", "context")


def rubrics(path: Path | None = None) -> Mapping[str, Rubric]:
    """Rubrics by metric: the built-in ones, and those of a YAML file, which win.

    The file maps each metric to `definition`, `highest`, `lowest` and, if wanted, `kind` ("summary")
    and `context` ("source document"). Raises: InputError naming file, metric and field.
    """
    known = {rubric.metric: rubric for rubric in BUILTIN}
    if path is not None:
        for name, value in _mapping(path).items():
            rubric = _rubric(f'{path.name}, metric "{name}"', metric_key(str(name)), value)
            known[rubric.metric] = rubric
    return known


def _mapping(path: Path) -> dict[Any, Any]:
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: is not YAML ({' '.join(str(error).split())})") from error
    if not isinstance(raw, dict):
        raise InputError(f"{path.name}: is not a mapping of metrics to definitions")
    return raw


def _rubric(where: str, metric: str, value: Any) -> Rubric:
    if not isinstance(value, dict):
        raise InputError(f"{where}: is not a mapping; it needs {', '.join(_FIELDS[:3])}")
    for name, text in value.items():
        if name not in _FIELDS:
            raise InputError(f'{where}, field "{name}": is not known{suggestion(str(name), _FIELDS)}')
        if not isinstance(text, str) or not text.strip():
            raise InputError(f'{where}, field "{name}": is not text')
    for name in _FIELDS[:3]:
        if name not in value:
            raise InputError(f'{where}: there is no field "{name}"')
    return Rubric(metric, **{name: " ".join(text.split()) for name, text in value.items()})

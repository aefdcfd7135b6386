"""Pairs of answers as rows of a file: read, scored, and written with what was found."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.languages import canonical_tag
from evenkeel.core.pair import AS_BEFORE, Answer, AnswerForm, Pair, ToolCall
from evenkeel.core.thoughts import without_thoughts
from evenkeel.core.verdict import stage_of
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.metrics.tasks import task_named

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from evenkeel.core.verdict import Judgement, QualityScore
    from evenkeel.metrics.scoring import TwoStageScorer

_FORMATS: Final = ("free", "json", "yaml", "xml", "html", "markdown")
_MEMBERS: Final = frozenset(("format", "language"))


class PairError(ValueError):
    """Row that is not a pair. The message names the field and says what belongs there."""


def read_pair(row: object) -> Pair:
    """Return the pair of a row.

    Args:
        row: A mapping with `reference` and `candidate`, each a text or `{text, tool_calls}`, and maybe
            `prompt`, `task` and `wanted` (`{format, language}`). Other fields are left alone.

    Raises: PairError.
    """
    if not isinstance(row, dict):
        raise PairError("is no object; a pair has `reference` and `candidate`")
    prompt = row.get("prompt")
    if prompt is not None and not isinstance(prompt, str):
        raise PairError("prompt: must be a text")
    reference, candidate = (_answer(row, side) for side in ("reference", "candidate"))
    return Pair(reference, candidate, prompt or "", _task(row.get("task")), _wanted(row.get("wanted")))


def _answer(row: Mapping[str, Any], side: str) -> Answer:
    answer = row.get(side)
    if isinstance(answer, str):
        return Answer(without_thoughts(answer))
    if not isinstance(answer, dict) or not isinstance(answer.get("text", ""), str):
        raise PairError(f"{side}: {'is missing' if side not in row else 'must be a text'}")
    calls = answer.get("tool_calls") or []
    try:
        return Answer(
            without_thoughts(answer.get("text", "")),
            tuple(map(_call, calls)),
        )
    except (TypeError, KeyError) as error:
        raise PairError(f"{side}.tool_calls: each has `name` and `arguments`: JSON or its text") from error


def _call(call: Any) -> ToolCall:
    """Return a tool call of a row. Raises: TypeError, KeyError."""
    arguments = call["arguments"]
    if not isinstance(arguments, str):
        # Files of people hold the object itself, where an API sends its text.
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(call["name"]), arguments)


def _task(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise PairError("task: must be a name")
    try:
        return task_named(value).value
    except ValueError as error:
        raise PairError(f"task: {error}") from error


def _wanted(value: object) -> AnswerForm:
    if value is None:
        return AS_BEFORE
    if not isinstance(value, dict) or not _MEMBERS.issuperset(value):
        raise PairError("wanted: has `format`, `language` or both")
    language = value.get("language")
    if value.get("format") not in (None, *_FORMATS):
        raise PairError(f"wanted.format: {value['format']!r} is none of {', '.join(_FORMATS)}")
    try:
        tag = None if language is None else canonical_tag(language)
    except (ValueError, AttributeError, TypeError) as error:
        raise PairError(f"wanted.language: {language!r} is no language tag") from error
    return AnswerForm(format=value.get("format"), language=tag)


def finding(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as values for JSON.

    Returns: `rating` (3, 2, 1 or None), `similarity` in [0, 1], `decided_by` ("equality", "empty", "judge",
        "unsure", "invalid" or "nobody"), `explanation`, `qualities`, `invalid`, and where something failed
        `failures`.
    """
    failed = judgement.rating is None and not judgement.unsure
    row: dict[str, Any] = {
        "rating": judgement.rating,
        "similarity": None if judgement.similarity is None else round(judgement.similarity, 4),
        "decided_by": "nobody" if failed else "invalid" if judgement.invalid else stage_of(judgement.details),
        "explanation": judgement.explanation or (judgement.failures[0].detail if failed else ""),
        "qualities": list(map(_quality, judgement.quality)),
        "invalid": list(judgement.invalid),
    }
    if judgement.failures:
        row["failures"] = [f"{failure.metric}: {failure.reason}" for failure in judgement.failures]
    return row


def _quality(score: QualityScore) -> dict[str, Any]:
    return {
        "metric": score.metric,
        "reference": score.reference,
        "candidate": score.candidate,
        "scale": score.scale,
        "changed": score.changed,
        "direction": score.direction,
    }


# Pairs rated at once: the judge's own limit is below.
_AT_ONCE: Final = 32


async def scored(pairs: Iterable[Pair], scorer: TwoStageScorer) -> AsyncIterator[Judgement]:
    """Return the judgement of each pair, in order; several are scored at once to keep a judge busy."""
    waiting = iter(pairs)
    under_way: list[asyncio.Task[Judgement]] = []
    try:
        while True:
            while len(under_way) < _AT_ONCE and (pair := next(waiting, None)) is not None:
                under_way.append(asyncio.create_task(scorer.score(pair)))
            if not under_way:
                return
            yield await under_way.pop(0)
    finally:
        for task in under_way:
            task.cancel()


def score_pairs(
    rows: Iterable[Mapping[str, Any]], scorer: TwoStageScorer | None = None
) -> list[dict[str, Any]]:
    """Return each row with the result of scoring its pair; see `read_pair` and `finding`.

    Args:
        rows: As a file of `evenkeel score` has them.
        scorer: Default: heuristics without an encoder, which identify languages.

    Raises: PairError with the number of the row, from 1.
    """
    listed = list(rows)
    pairs = []
    for number, row in enumerate(listed, start=1):
        try:
            pairs.append(read_pair(row))
        except PairError as error:
            raise PairError(f"row {number}: {error}") from error

    async def judged() -> list[Judgement]:
        return [judgement async for judgement in scored(pairs, scorer or without_judge())]

    scored_rows = []
    for row, judgement in zip(listed, asyncio.run(judged()), strict=True):
        scored_rows.append({**row, **finding(judgement)})
    return scored_rows


def without_judge() -> TwoStageScorer:
    """Return a scorer that rates what is identical or empty, and leaves the rest open."""
    from evenkeel.core.languages import language_of  # noqa: PLC0415 - loads a model, which few callers need

    return heuristic_scorer(language_of)

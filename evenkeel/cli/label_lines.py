"""Labels as the two files that `evenkeel judge-audit` reads: ratings by people, and by the judge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Evidence
    from evenkeel.stores.labels import Label, Quality

SIMILARITY: Final = "similarity"
QUALITY_CHANGE: Final = "quality_change"
METRICS: Final = (SIMILARITY, QUALITY_CHANGE)
"""Metrics of the rows: similarity of two answers, and which of them is better."""
SCALE: Final = "1-3"
_QUALITY_STEPS: Final[dict[Quality, int]] = {"worse": 1, "equal": 2, "better": 3}


def rating_lines(labels: Iterable[Label], texts: Callable[[str], Evidence | None]) -> Iterator[str]:
    """Yield the ratings that people gave, as a line of JSON per verdict and metric, without line ends.

    Each has `item` (the verdict's id), `metric`, `scale`, `ratings` by person, `text` (the answer to the
    changed prompt) and `context` (the request and the answer to the original), "" where they are not known.

    Args:
        labels: those that count.
        texts: prompts and answers by verdict.
    """
    for verdict_id, labels_of_verdict in _by_verdict(labels).items():
        evidence = texts(verdict_id)
        for metric in METRICS:
            ratings = {}
            for label in labels_of_verdict:
                rating = _said(label, metric)
                if rating is not None:
                    ratings[label.by] = rating
            if ratings:
                row = {
                    "item": verdict_id,
                    "metric": metric,
                    "scale": SCALE,
                    "ratings": ratings,
                    "text": _answer(evidence.candidate) if evidence else "",
                    "context": _context(evidence) if evidence else "",
                }
                yield json.dumps(row)


def judge_lines(labels: Iterable[Label]) -> Iterator[str]:
    """Yield the verdicts' ratings of the same items, for `--recorded`; a missing rating becomes a failure."""
    for verdict_id, labels_of_verdict in _by_verdict(labels).items():
        for metric in METRICS:
            if all(_said(label, metric) is None for label in labels_of_verdict):
                continue
            row: dict[str, Any] = {"item": verdict_id, "metric": metric}
            row |= {"strategy": "knowledge", "condition": "plain"}
            row["rating"] = _judge_said(labels_of_verdict[0], metric)
            if row["rating"] is None:
                row["failure"] = "not_rated"
            else:
                row["justification"] = labels_of_verdict[0].explanation
            yield json.dumps(row)


def _by_verdict(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Group labels by verdict; the verdict that was labelled first comes first."""
    grouped: dict[str, list[Label]] = {}
    for label in sorted(labels, key=lambda one: (one.at, one.verdict_id, one.by)):
        grouped.setdefault(label.verdict_id, []).append(label)
    return grouped


def _said(label: Label, metric: str) -> int | None:
    if metric == SIMILARITY:
        return label.rating
    return None if label.quality is None else _QUALITY_STEPS[label.quality]


def _judge_said(label: Label, metric: str) -> int | None:
    if metric == SIMILARITY:
        return label.judge_rating
    return None if label.judge_quality is None else _QUALITY_STEPS[label.judge_quality]


def _answer(answer: Answer | None) -> str:
    if answer is None:
        return ""
    calls = [f"{call.name}({call.arguments})" for call in answer.tool_calls]
    return "\n".join([answer.text, *calls] if answer.text else calls)


def _context(evidence: Evidence) -> str:
    return f"Request:\n{evidence.prompt}\n\nFirst answer:\n{_answer(evidence.reference)}"

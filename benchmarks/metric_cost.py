"""What the cheap metrics cost for a pair of some 200 tokens, cold and with the reading caches warm.

Run: python -m benchmarks.metric_cost
Processor time of one thread, the best of seven rounds. Cold means that neither answer was read before;
in service the reference usually was, by the pair before.
"""

from __future__ import annotations

import json
import time
import timeit
from typing import TYPE_CHECKING

from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.entity import read_schema
from evenkeel.metrics.registry import heuristics
from evenkeel.metrics.similarity import normalised, words
from evenkeel.metrics.similarity.details import read_details
from evenkeel.metrics.similarity.ngrams import read_ngrams, tokens
from evenkeel.metrics.structured import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.metrics.protocol import Metric

LEXICAL_AND_FORMAT = ("rouge_l", "bleu", "gleu", "edit", "json_rouge", "format_validity")
ROUNDS, CALLS = 7, 20

SENTENCE = (
    "The pump in hall four (model 5.2) stops every ten minutes; it can't be started again "
    "without a reset of the drive."
)


def changed(text: str) -> str:
    """Every ninth word another."""
    return " ".join("now" if index % 9 == 0 else word for index, word in enumerate(text.split(" ")))


def pairs() -> dict[str, Pair]:
    """A pair of some 200 tokens in prose, JSON and Markdown."""
    prose = " ".join([SENTENCE] * 8)
    record = {
        "summary": " ".join([SENTENCE] * 4),
        "root_cause": SENTENCE,
        "steps": [SENTENCE, "reset the drive", "read the log"],
        "priority": 2,
        "owner": {"name": "Kim Lee", "team": "hall"},
    }
    other = {
        **record,
        "summary": changed(prose)[:400],
        "steps": ["reset that drive", SENTENCE],
        "priority": 3,
    }
    page = "# Pump\n\n" + "\n".join(f"- **Point {i}:** {SENTENCE}" for i in range(7))
    texts = {
        "prose": (prose, changed(prose)),
        "json": (json.dumps(record, indent=1), json.dumps(other, indent=1)),
        "markdown": (page, page.replace("reset", "restart")),
    }
    return {name: Pair(Answer(left), Answer(right), prose) for name, (left, right) in texts.items()}


def forget() -> None:
    """Empty the caches in which texts are read once."""
    for cache in (read_ngrams, read_schema, read_details):
        cache.cache_clear()
    for module in (reading, normalised, words):
        module.forget()


def cost_ms(call: Callable[[], object]) -> float:
    """Processor time of one call, in milliseconds."""
    return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS, timer=time.thread_time)) / CALLS * 1e3


def score(metrics: Sequence[Metric], pair: Pair, *, cold: bool) -> None:
    """Score a pair by some metrics."""
    if cold:
        forget()
    for metric in metrics:
        metric.score(pair)


def main() -> None:
    """Print the table."""
    some = [metric for metric in heuristics() if metric.name in LEXICAL_AND_FORMAT]
    print(f"{'pair':10}{'tokens':>8}{'lexical+format cold':>22}{'warm':>8}{'all cold':>17}{'warm':>8}  (ms)")
    for name, pair in pairs().items():
        times = [
            cost_ms(lambda chosen=chosen, cold=cold: score(chosen, pair, cold=cold))  # noqa: B023 - called here
            for chosen in (some, heuristics())
            for cold in (True, False)
        ]
        cells = "".join(f"{one:{width}.2f}" for one, width in zip(times, (22, 8, 17, 8), strict=True))
        print(f"{name:10}{len(tokens(pair.reference.text)):8}{cells}")


if __name__ == "__main__":
    main()

"""What metrics cost in processor time: one pair by the heuristic rating, a batch by the encoders."""

from __future__ import annotations

import asyncio
import importlib
import random
import re
import statistics
import time
from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from benchmarks.kit import Cell, Table
from benchmarks.metrics.columns import FLOOR, now, pairs_of, readers
from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.similarity.embeddings import load_embeddings, packaged_minilm
from evenkeel.metrics.similarity.ngrams import tokens
from evenkeel.metrics.similarity.vectors import VectorCache
from tests.kit.recorded import Texts, gpt4o, pbss, rated, runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.metrics.columns import Models

TOKENS: Final = 200
"""Of each answer: words and marks."""
_SPACES: Final = re.compile(r"(\s+)")
_MICRO: Final = 1e6
_ROUNDS: Final = 5
_TRIALS: Final = 16
"""Of a worker, under way together."""
_LONG_WORDS: Final = 100
"""About 126 word pieces, below the length at which the encoder cuts texts off."""


def measure(models: Models | None, *, seed: int, most: int) -> tuple[Table, ...]:
    """Cost of each metric and of the rating, and of the encoders in batches beside the bare library.

    Processor time of one thread, so that other work on the machine counts little. Every text is new
    to every metric: no cache helps.

    Args:
        models: Of the extra `semantic`, if there.
        seed: Of the samples.
        most: Pairs at most.
    """
    kinds = _kinds(seed, most)
    singles = _singles(kinds)
    return (singles,) if models is None else (singles, _batches(models, seed, most))


def _kinds(seed: int, most: int) -> dict[str, list[Pair]]:
    rng = random.Random(f"{seed}.speed")
    answers = gpt4o(runs())
    found = {
        "GPT-4o, reruns": answers["rerun"],
        "GPT-4o, other questions": answers["other question"],
        "PBSS, reworded": _joined(pbss(rng)["reworded"]),
    }
    return {kind: pairs_of(long_pairs(texts, most, rng)) for kind, texts in found.items()}


def _joined(texts: Sequence[Texts]) -> list[Texts]:
    """Answers too short by themselves, three put together."""
    return [
        Texts(*("\n\n".join(sides) for sides in zip(*texts[start : start + 3], strict=True)))
        for start in range(0, len(texts), 3)
    ]


def long_pairs(texts: Sequence[Texts], most: int, rng: random.Random) -> list[tuple[str, str]]:
    """Pairs whose texts have the tokens, cut there; so many at most, drawn at random."""
    found: list[tuple[str, str]] = []
    for one in rng.sample(texts, len(texts)):
        if len(found) == most:
            break
        if all(len(tokens(text)) >= TOKENS for text in one):
            found.append((_cut(one.first), _cut(one.second)))
    return found


def _cut(text: str) -> str:
    """The longest beginning of whole words that has at most the tokens."""
    parts = _SPACES.split(text.strip())
    places = range(1, len(parts) + 1, 2)
    last = bisect_right(places, TOKENS, key=lambda place: len(tokens("".join(parts[:place]))))
    return "".join(parts[: places[max(0, last - 1)]])


def _salted(pair: Pair, salt: str) -> Pair:
    """The pair with a mark at the end of each text, which no cache has seen."""
    return replace(
        pair,
        reference=Answer(f"{pair.reference.text} {salt}"),
        candidate=Answer(f"{pair.candidate.text} {salt}"),
    )


def _singles(kinds: dict[str, list[Pair]]) -> Table:
    rater = HeuristicRater()
    calls: dict[str, Callable[[Pair], object]] = {"heuristic rating": rater.rate_now}
    calls |= {f"{one.name} (floor)" if one.name == FLOOR else one.name: one.score for one in readers()}
    rows: list[tuple[Cell, ...]] = [
        (name, *(figure for pairs in kinds.values() for figure in _microseconds(call, pairs, name)))
        for name, call in calls.items()
    ]
    again = "heuristic rating, reference read before"
    known = [
        figure
        for pairs in kinds.values()
        for figure in _microseconds(rater.rate_now, pairs, again, before=rater.rate_now)
    ]
    rows.insert(1, (again, *known))
    heads = [f"{kind}, {figure}" for kind in kinds for figure in ("median", "nine in ten")]
    counts = ", ".join(f"{kind} {len(pairs)}" for kind, pairs in kinds.items())
    return Table(
        "speed",
        ("microseconds a pair", *heads),
        tuple(rows),
        0,
        (f"Texts of {TOKENS} tokens (words and marks), each read for the first time. Pairs: {counts}.",),
    )


def _microseconds(
    call: Callable[[Pair], object],
    pairs: Sequence[Pair],
    salt: str,
    *,
    before: Callable[[Pair], object] | None = None,
) -> tuple[float, float]:
    """Median and ninth decile of one call; each pair's time is the quicker of two, both cold.

    What is called `before` meets the same reference beside another candidate, and is not timed.
    """
    spent: list[float] = []
    for number, pair in enumerate(pairs):
        times = []
        for turn in range(2):
            fresh = _salted(pair, f"{salt} {number} {turn}")
            if before is not None:
                before(
                    replace(fresh, candidate=Answer(f"{pair.candidate.text} {salt} {number} {turn} first"))
                )
            start = now()
            call(fresh)
            times.append(now() - start)
        spent.append(min(times) * _MICRO)
    return statistics.median(spent), statistics.quantiles(spent, n=10)[-1]


def _batches(models: Models, seed: int, most: int) -> Table:
    """Texts a second in batches: ours, the library alone, and one pair after the other."""
    library: Any = importlib.import_module("sentence_transformers")
    bare = library.SentenceTransformer(str(packaged_minilm()), device="cpu", local_files_only=True)
    # Nothing is kept, so that every round encodes every text.
    ours = load_embeddings(cache=VectorCache(0))
    rows: list[tuple[float | str, ...]] = []
    for name, pairs in _batch_texts(seed, most).items():
        texts = list(dict.fromkeys(side.text for pair in pairs for side in (pair.reference, pair.candidate)))
        ways: dict[str, Callable[[], object]] = {
            "library": lambda texts=texts: bare.encode(texts, show_progress_bar=False),
            "batch": lambda pairs=pairs: ours.score_all(pairs),
            "trials": lambda pairs=pairs: asyncio.run(_at_once(HeuristicRater(ours), pairs)),
            "single": lambda pairs=pairs: [ours.score(pair) for pair in pairs],
            "bert_score": lambda pairs=pairs: models.bert_score.score_all(pairs),
        }
        spent: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(_ROUNDS):
            for way, call in ways.items():
                if way in ("single", "bert_score") and spent[way]:
                    continue
                # Of the whole process: ratings are made in threads.
                start = time.process_time()
                call()
                spent[way].append(time.process_time() - start)
        # Of the same round, so that a slow minute hits both.
        ratios = [
            statistics.median(b / a for a, b in zip(spent["library"], spent[way], strict=True))
            for way in ("batch", "trials")
        ]
        rates = [len(texts) / statistics.median(spent[way]) for way in ways]
        rows.append((f"{name} ({len(texts)} texts)", *rates, *(f"{ratio:.2f}" for ratio in ratios)))
    return Table(
        "batches",
        (
            "texts a second, one thread",
            "library alone, batch",
            "embeddings, batch",
            f"heuristic rating, {_TRIALS} pairs at once",
            "embeddings, a pair at a time",
            "bert_score, batch",
            "cost of embeddings / library",
            "cost of rating / library",
        ),
        tuple(rows),
        1,
        (f"Medians of {_ROUNDS} rounds that take turns; the last two ways one round.",),
    )


async def _at_once(rater: HeuristicRater, pairs: Sequence[Pair]) -> None:
    """The ratings as a worker asks for them."""
    slots = asyncio.Semaphore(_TRIALS)

    async def rate(pair: Pair) -> None:
        async with slots:
            await rater.rate(pair)

    await asyncio.gather(*map(rate, pairs))


def _batch_texts(seed: int, most: int) -> dict[str, list[Pair]]:
    rng = random.Random(f"{seed}.batches")
    sentences = rng.sample(rated("en"), min(most, len(rated("en"))))
    cut = re.compile(rf"(?:\S+\s+){{{_LONG_WORDS - 1}}}\S+")
    answers = [text for one in pbss(rng)["reworded"] for text in one if cut.match(text)]
    found = list(dict.fromkeys(match[0] for text in answers if (match := cut.match(text))))
    half = min(most, len(found)) // 2
    return {
        "sentences": pairs_of((one.first, one.second) for one in sentences),
        f"answers of {_LONG_WORDS} words": pairs_of(zip(found[:half], found[half : 2 * half], strict=True)),
    }

"""Which metrics follow people: STS-B in eight languages, and LLMBar's better of two answers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.kit import Cell, Table
from benchmarks.metrics.columns import (
    FLOOR,
    SIMILARITY,
    SIMILARITY_WITH_MEANING,
    columns,
    fit,
    halves,
    held_out,
    mean_of_ranks,
    pairs_of,
    readers,
    scores,
    spearman,
    spearman_gain,
)
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.metrics.quality.stand_ins import CompletenessProxy, FaithfulnessProxy
from evenkeel.metrics.similarity.content_words import ContentWords
from evenkeel.metrics.similarity.sequence import RougeL
from tests.kit.public import LANGUAGES
from tests.kit.recorded import preferred, rated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.metrics.columns import Fit, Models
    from tests.kit.recorded import Rated


MOST_SIMILAR: Final = 5.0
"""People's highest similarity."""


class Combined(NamedTuple):
    """Metrics put together."""

    name: str
    metrics: tuple[str, ...]
    fitted: bool


SPELLING: Final = ("rouge_l", "edit", "content_words", "character_ngrams")
_EVERY: Final = (*SPELLING, "bleu", "gleu", "details", "embeddings", "bert_score")
COMBINED: Final = (
    Combined("mean of ranks: spelling", SPELLING, fitted=False),
    Combined("fit: spelling", SPELLING, fitted=True),
    Combined("mean of ranks: spelling + embeddings", (*SPELLING, "embeddings"), fitted=False),
    Combined("fit: spelling + embeddings", (*SPELLING, "embeddings"), fitted=True),
    Combined("mean of ranks: embeddings + bert_score", ("embeddings", "bert_score"), fitted=False),
    Combined("fit: every lexical and semantic metric", _EVERY, fitted=True),
)
"""`SPELLING` are four that see different things: order, letters, vocabulary, pieces of words."""

_Columns = dict[str, list[float]]


def measure_human(
    models: Models | None,
    *,
    seed: int,
    most: int | None = None,
    elsewhere: int | None = None,
    languages: Sequence[str] = LANGUAGES,
) -> tuple[Table, ...]:
    """Correlation of every lexical and semantic metric, and of combinations, a column a language.

    Args:
        models: Of the extra `semantic`, if there.
        seed: Of the samples and of the halves.
        most: English pairs at most; None = all of them.
        elsewhere: The same of every other language, the same sentences in each.
        languages: Tags of the data's files.
    """
    found: dict[str, _Columns] = {}
    truths: dict[str, list[float]] = {}
    for language in languages:
        rows = _drawn(rated(language), most if language == "en" else elsewhere, seed)
        truths[language] = [row.similarity for row in rows]
        pairs = pairs_of((row.first, row.second) for row in rows)
        found[language] = {
            name: scores(one) for name, one in columns(pairs, readers("lexical"), models).items()
        }
    single = _singles(found, truths)
    return single, _combinations(found, truths, seed)


def _drawn(rows: list[Rated], most: int | None, seed: int) -> list[Rated]:
    """A sample in order, by place, so that languages have the same sentences."""
    count = len(rows) if most is None else min(most, len(rows))
    places = random.Random(f"{seed}.pairs").sample(range(len(rows)), len(rows))[:count]
    return [rows[place] for place in sorted(places)]


def fitted(models: Models | None, *, seed: int, most: int | None) -> dict[str, tuple[Combined, Fit]]:
    """The fits on English pairs, to be told on other data, by what their rows are called."""
    rows = _drawn(rated("en"), most, seed)
    pairs = pairs_of((row.first, row.second) for row in rows)
    found = columns(pairs, readers("lexical"), models, ratings=False)
    return {
        f"{combined.name}, learnt on STS-B": (
            combined,
            fit(
                [scores(found[name]) for name in combined.metrics],
                [row.similarity / MOST_SIMILAR for row in rows],
            ),
        )
        for combined in COMBINED
        if combined.fitted and all(name in found for name in combined.metrics)
    }


def _singles(found: dict[str, _Columns], truths: dict[str, list[float]]) -> Table:
    first = next(iter(found.values()))
    rows = [
        (
            f"{name} (floor)" if name == FLOOR else name,
            *(spearman(found[language][name], truth) for language, truth in truths.items()),
        )
        for name in _last(first, (SIMILARITY, SIMILARITY_WITH_MEANING))
    ]
    counts = ", ".join(f"{language} {len(truth):,}" for language, truth in truths.items())
    return Table("human", ("metric", *truths), tuple(rows), 3, (f"Pairs: {counts}.",))


def _last(names: dict[str, list[float]], last: tuple[str, ...]) -> list[str]:
    return sorted(names, key=lambda name: name in last)


def _combinations(found: dict[str, _Columns], truths: dict[str, list[float]], seed: int) -> Table:
    rows: list[tuple[float | str | None, ...]] = []
    gain = ""
    for combined in COMBINED:
        if not all(name in next(iter(found.values())) for name in combined.metrics):
            continue
        cells: list[float | None] = []
        for language, truth in truths.items():
            both = _two_halves(combined, found[language], truth, seed)
            cells.append(_mean(both))
        rows.append((combined.name, *cells))
    if "embeddings" in next(iter(found.values())) and "en" in truths:
        gain = _gain(found["en"], truths["en"], seed)
    return Table(
        "combinations",
        ("combination", *truths),
        tuple(rows),
        3,
        (
            f"Spelling is {', '.join(SPELLING)}.",
            "A fit learns on one half of a language's pairs and is scored on the other, both ways round;",
            "the figure is the mean of the two halves, also where nothing was fitted.",
            gain,
        ),
    )


def _two_halves(
    combined: Combined, columns_of: _Columns, truth: Sequence[float], seed: int
) -> list[float | None]:
    """The correlation on each half, fitted on the other one."""
    used = [columns_of[name] for name in combined.metrics]
    one, other = halves(len(truth), random.Random(f"{seed}.halves"))
    wanted = [value / MOST_SIMILAR for value in truth]
    found: list[float | None] = []
    for fitted, told in ((one, other), (other, one)):
        if combined.fitted:
            expected = held_out(used, wanted, fitted, told)
        else:
            expected = mean_of_ranks([[column[place] for place in told] for column in used])
        found.append(spearman(expected, [truth[place] for place in told]))
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if len(there) == len(values) else None


def _gain(columns_of: _Columns, truth: list[float], seed: int) -> str:
    """How much the best fit adds to embeddings alone, on pairs it did not see."""
    best = COMBINED[-1]
    one, other = halves(len(truth), random.Random(f"{seed}.halves"))
    expected = held_out(
        [columns_of[name] for name in best.metrics], [value / MOST_SIMILAR for value in truth], one, other
    )
    alone = [columns_of["embeddings"][place] for place in other]
    told = [truth[place] for place in other]
    low, high = spearman_gain(expected, alone, told, random.Random(f"{seed}.gain"))
    return (
        f"English, on the half the fit did not see ({len(other)} pairs): all of them together have "
        f"{spearman(expected, told):.3f}, embeddings alone {spearman(alone, told):.3f}; "
        f"the difference is between {low:.3f} and {high:.3f} (95 %)."
    )


if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.metrics.columns import Models
    from tests.kit.recorded import Preferred

    Scorer = Callable[[Sequence[tuple[str, str]]], list[float]]
    """Scores of (instruction, answer) pairs; the higher one wins."""


def measure_preferences(models: Models | None, *, seed: int, most: int) -> tuple[Table, ...]:
    """Share of pairs in which the answer that a score prefers is the one that people prefer.

    Args:
        models: Of the extra `semantic`, if there.
        seed: Of the samples.
        most: Pairs of a part at most.
    """
    parts = {
        name: random.Random(f"{seed}.{name}").sample(rows, min(most, len(rows)))
        for name, rows in preferred().items()
    }
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(_accuracy(rows, scorer) for rows in parts.values()))
        for name, scorer in _scorers(models).items()
    )
    counts = ", ".join(f"{name} {len(rows)}" for name, rows in parts.items())
    return (Table("preferences", ("by", *parts), rows, 2, (f"Pairs: {counts}. Ties count half.",)),)


def _scorers(models: Models | None) -> dict[str, Scorer]:
    found: dict[str, Scorer] = {
        "the longer answer": lambda asked: [float(len(answer)) for _, answer in asked],
        "rouge_l with the instruction": _by(RougeL()),
        "content_words with the instruction": _by(ContentWords()),
        "completeness_proxy": _by_rating(CompletenessProxy()),
        "faithfulness_proxy": _by_rating(FaithfulnessProxy()),
    }
    if models is not None:
        embeddings = models.embeddings
        found["embeddings with the instruction"] = lambda asked: [
            _number(score) for score in embeddings.score_all(pairs_of(asked))
        ]
    return found


def _by(metric: RougeL | ContentWords) -> Scorer:
    return lambda asked: [_number(metric.score(pair)) for pair in pairs_of(asked)]


def _by_rating(metric: CompletenessProxy | FaithfulnessProxy) -> Scorer:
    return lambda asked: [
        _number(metric.rate_now(Answer(answer), instruction).outcome) for instruction, answer in asked
    ]


_LEAST: Final = -1.0
"""An answer that cannot be scored loses."""


def _number(score: float | Failure) -> float:
    return _LEAST if isinstance(score, Failure) else float(score)


def _accuracy(rows: Sequence[Preferred], scorer: Scorer) -> float:
    first = scorer([(row.instruction, row.first) for row in rows])
    second = scorer([(row.instruction, row.second) for row in rows])
    won = 0.0
    for row, one, other in zip(rows, first, second, strict=True):
        won += 0.5 if one == other else float((1 if one > other else 2) == row.better)
    return won / len(rows)

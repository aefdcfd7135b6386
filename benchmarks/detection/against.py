"""Decisions whether a model may replace another, on recorded answers of real models.

    python -m benchmarks.detection.against [--orders 20]

A question gives the incumbent's answer, its answer again, and the candidate's. Of `llm_stability` (eight
models on tasks with a choice or a number to give) an answer has moved if the last thing that it names is
another one. A model and itself are three of five identical runs of GPT-4o on seven tasks; later runs of the
eight models kept mostly questions that had been answered alike. Of `pbss` (three models, 50 intents in 15
wordings) no judge was asked: the similarity that is lost counts, of an answer to another wording.

Questions come in random orders and the decision is taken after every fifth, until it is made or there are no
more. It is wrong if all questions together say the opposite: "must not" without any difference, or "may" at
the margin and above. A model must not be told from itself.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.metrics.similarity.sequence import rouge_l
from evenkeel.monitor.detect.decision import SwitchMeasure, decide, paired_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DATA: Final = Path(__file__).parents[3] / "shared" / "data"
_MARGIN: Final = 0.1
_ERROR: Final = 0.05
_FEWEST: Final = 40
_MOST: Final = 200
_EVERY: Final = 5
_LAST_NAMED: Final = re.compile(
    r"\([A-Z]\)|\b(?:yes|no|true|false|valid|invalid)\b|-?\d[\d,.]*", re.IGNORECASE
)


class Comparison(NamedTuple):
    """Two models on one set of questions."""

    source: str
    same: bool
    """True if both are one model."""
    differences: tuple[float, ...]
    """By question, how much further the candidate's answer is from the incumbent's than its own again."""


class Line(NamedTuple):
    """Decisions on comparisons of one kind."""

    right: float
    wrong: float
    undecided: float
    calls: int


def stability() -> Iterator[Comparison]:
    """Yield every ordered pair of models on every task of llm_stability, and a model against itself."""
    for questions in _named("survivor_runs_8models.jsonl.gz").values():
        models = sorted({model for answers in questions.values() for model, _ in answers})
        for first, second in permutations(models, 2):
            found = _differences(questions.values(), ((first, 0), (first, 1), (second, 0)))
            if len(found) >= _FEWEST:
                yield Comparison("llm_stability", same=False, differences=found)
    for questions in _named("gpt4o_strict_json_7tasks_5runs.jsonl.gz").values():
        (model,) = {model for answers in questions.values() for model, _ in answers}
        for run in range(3):
            keys = ((model, run), (model, run + 1), (model, run + 2))
            yield Comparison("llm_stability", same=True, differences=_differences(questions.values(), keys))


def _named(name: str) -> dict[str, dict[str, dict[tuple[str, int], str]]]:
    """Return the last thing that each answer names, by task, question, and model and run."""
    said: dict[str, dict[str, dict[tuple[str, int], str]]] = defaultdict(lambda: defaultdict(dict))
    with gzip.open(DATA / "llm_stability" / name, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            named = _LAST_NAMED.findall(str(row["response"]))
            said[row["task"]][row["qid"]][row["model"], int(row["run"])] = named[-1].lower() if named else ""
    return said


def _differences(
    questions: Iterable[dict[tuple[str, int], str]], keys: tuple[tuple[str, int], ...]
) -> tuple[float, ...]:
    answer, again, candidate = keys
    return tuple(
        float(said[answer] != said[candidate]) - float(said[answer] != said[again])
        for said in questions
        if set(keys) <= said.keys()
    )


def wordings() -> Iterator[Comparison]:
    """Yield every ordered pair of models of pbss, and each model against itself."""
    said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((DATA / "pbss").glob("results_*.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["output"].strip():
                    said[row["model"]][row["origin"]].append(row["output"])
    rng = random.Random("pbss")
    for first, second in [*permutations(said, 2), *((model, model) for model in said)]:
        found = []
        for origin, answers in said[first].items():
            for _ in range(4):
                reference, control, other = rng.sample(answers, 3)
                candidate = other if first == second else rng.choice(said[second][origin])
                found.append(rouge_l(reference, control) - rouge_l(reference, candidate))
        yield Comparison("pbss", first == second, tuple(found))


def decided(comparison: Comparison, rng: random.Random) -> tuple[str, int]:
    """Return the decision on questions in a random order, and the calls until it was made."""
    order = rng.sample(comparison.differences, min(_MOST, len(comparison.differences)))
    counts: Counter[float] = Counter()
    for asked, difference in enumerate(order, start=1):
        counts[difference] += 1
        if asked % _EVERY == 0 or asked == len(order):
            mean = paired_mean(counts, alpha=_ERROR, beta=_ERROR, complete=asked == len(order))
            made = decide([SwitchMeasure("answers", mean, _MARGIN)])
            if made.answer != "not_yet":
                return made.answer, 3 * asked
    return "not_yet", 3 * len(order)


def line(comparisons: Sequence[Comparison], orders: int) -> Line:
    """Return how often decisions were right, wrong, and not made, and the median of the calls."""
    outcomes: Counter[str] = Counter()
    calls: list[int] = []
    for number, comparison in enumerate(comparisons):
        truth = sum(comparison.differences) / len(comparison.differences)
        for order in range(orders):
            answer, made = decided(comparison, random.Random(f"{number}/{order}"))
            wrong = (answer == "must_not" and truth <= 0) or (answer == "may_switch" and truth >= _MARGIN)
            if comparison.same:
                wrong = answer == "must_not"
            outcomes["undecided" if answer == "not_yet" else "wrong" if wrong else "right"] += 1
            calls.append(made)
    total = max(1, outcomes.total())
    shares = [outcomes[name] / total for name in ("right", "wrong", "undecided")]
    return Line(*shares, calls=sorted(calls)[len(calls) // 2])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=20)
    options = parser.parse_args()
    print("| answers | comparisons | right | wrong | undecided | calls, median |")
    print("|---|--:|--:|--:|--:|--:|")
    every = [*stability(), *wordings()]
    for source in ("llm_stability", "pbss"):
        for same, name in ((False, "two models"), (True, "a model and itself")):
            found = [one for one in every if (one.source, one.same) == (source, same)]
            made = line(found, options.orders)
            shares = " | ".join(f"{share:.1%}" for share in made[:3])
            print(f"| {source}, {name} | {len(found)} | {shares} | {made.calls:,} |", flush=True)


if __name__ == "__main__":
    main()

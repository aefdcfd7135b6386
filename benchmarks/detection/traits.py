"""Measure the test of traits on recorded upgrades, on reruns, and on traffic that only looks like one.

Run from the root of the repository: python -m benchmarks.detection.traits [--runs 200] [--write]

Reads ../shared/data beside the repository; says so and stops where it is absent. About four minutes of one
core. Every figure follows from the seeds 0, 1, 2, … of the runs.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import random
import re
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.kit import DOCS, Table, filled
from evenkeel.core.pair import Answer
from evenkeel.core.sightings import AnswerSeen
from evenkeel.monitor.detect.traits import TraitTest
from evenkeel.shadow.answer_traits import sketch_of, traits_of
from evenkeel.shadow.prompt import PromptView
from tests.kit.public import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evenkeel.monitor.detect.traits import TraitEvidence

PAGE: Final = DOCS / "research" / "detection.md"
LEVEL: Final = 1e7
BEFORE: Final = 600
AFTER: Final = 600
UPGRADES: Final = (
    ("gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613"),
    ("gpt-3.5-turbo-0613", "gpt-3.5-turbo-0301"),
    ("gpt-4-0314", "gpt-4-0613"),
    ("gpt-4-0613", "gpt-4-0314"),
    ("gpt-4-0314", "gpt-3.5-turbo-0613"),
)
ONE: Final = "gpt-4-0314"
OTHER: Final = "gpt-4-0613"
"""Models that traffic comes from in which nothing changes."""

_SENTENCE: Final = re.compile(r"(?<=[.!?:])\s+|(?<=\n)")
_NEW: Final = 0.40
"""Share of an answer's sentences that its rerun lacks: GPT-4o at temperature 0, answers of four sentences and
more, 425 pairs."""
_LONGER: Final = 0.54
"""The number of sentences changes by up to this share: by half of it on average, as theirs does."""
_HALF: Final = 2000
_VARIANTS: Final = 3
"""Noisy copies of an answer."""


class Draw(NamedTuple):
    """One request."""

    model: str
    task: str
    question: str


@dataclass(slots=True)
class Recorded:
    """Recorded answers, by model, task and question."""

    answers: dict[str, dict[str, dict[str, str]]]
    noise: bool = False
    _questions: dict[str, list[str]] = field(default_factory=dict)
    _vectors: dict[tuple[Draw, int], tuple[float, ...]] = field(default_factory=dict)
    _sketches: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """In alphabetical order."""
        return sorted(next(iter(self.answers.values())))

    def questions(self, task: str) -> list[str]:
        """Those that every model was asked, the shortest first."""
        if task not in self._questions:
            asked = set.intersection(*(set(tasks[task]) for tasks in self.answers.values()))
            self._questions[task] = sorted(asked, key=lambda one: (len(one), one))
        return self._questions[task]

    def seen(self, number: int, draw: Draw, variant: int) -> AnswerSeen:
        """A request as the monitor sees it; `variant` tells noisy copies apart."""
        place = (draw, variant % _VARIANTS if self.noise else 0)
        if place not in self._vectors:
            self._vectors[place] = traits_of(Answer(self._text(*place)))
        if draw.question not in self._sketches:
            body = {"messages": [{"role": "user", "content": draw.question}]}
            self._sketches[draw.question] = sketch_of(PromptView.parse(json.dumps(body).encode()))
        traits, sketch = self._vectors[place], self._sketches[draw.question]
        return AnswerSeen(f"{number}", float(number), "r", "m", "m", "", "", "", traits, sketch)

    def _text(self, draw: Draw, variant: int) -> str:
        text = self.answers[draw.model][draw.task][draw.question]
        if not self.noise:
            return text
        rng = random.Random(f"{draw}{variant}")
        return noisy(text, list(self.answers[draw.model][draw.task].values()), rng)


def noisy(text: str, others: Sequence[str], rng: random.Random) -> str:
    """An answer as a rerun could be: sentences of other answers of the task for some of its own.

    Answers of one sentence stay as they are, as those of the reruns mostly do.
    """
    sentences = _SENTENCE.split(text)
    if len(sentences) == 1:
        return text
    foreign = [rng.choice(_SENTENCE.split(rng.choice(others))) for _ in sentences]
    mixed = [
        other if rng.random() < _NEW else own
        for own, other in zip(sentences, foreign, strict=True)
    ]  # fmt: skip
    change = round(rng.uniform(-_LONGER, _LONGER) * len(sentences))
    for _ in range(abs(change)):
        place = rng.randrange(len(mixed))
        if change > 0:
            mixed.insert(place, rng.choice(foreign))
        elif len(mixed) > 1:
            del mixed[place]
    return " ".join(one.rstrip(" ") for one in mixed)


def drift(*, noise: bool = False) -> Recorded:
    """Five tasks asked of two versions of two models."""
    csv.field_size_limit(1 << 30)
    found: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for path in sorted((DATA / "llm_drift").glob("*.gz")):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                model = row["model"].rpartition("/")[2]
                found[model][path.name.partition("_")[0]][row["query"]] = row["answer"]
    return Recorded(found, noise)


def conditions() -> dict[str, dict[str, list[str]]]:
    """Ten ways to prompt GPT-4o: by condition and question the answers of reruns."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    path = DATA / "llm_stability" / "gpt4o_math_10_prompt_conditions.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            found[row["condition"]][row["qid"]].append(row["response"])
    return found


# --- Traffic in which nothing changes but what is asked


def _any(recorded: Recorded, rng: random.Random, model: str = ONE, task: str | None = None) -> Draw:
    chosen = task or rng.choice(recorded.tasks)
    return Draw(model, chosen, rng.choice(recorded.questions(chosen)))


def steady(recorded: Recorded, rng: random.Random, model: str = ONE) -> Iterator[Draw]:
    """The five tasks in equal parts."""
    while True:
        yield _any(recorded, rng, model)


def bursts(recorded: Recorded, rng: random.Random) -> Iterator[Draw]:
    """A fifth of the traffic is bursts of twenty equal requests."""
    while True:
        draw = _any(recorded, rng)
        yield from [draw] * (20 if rng.random() < 1 / 80 else 1)


def blocks(recorded: Recorded, rng: random.Random) -> Iterator[Draw]:
    """One task after the other, 300 requests each."""
    while True:
        for task in recorded.tasks:
            for _ in range(300):
                yield _any(recorded, rng, task=task)


def days(recorded: Recorded, rng: random.Random) -> Iterator[Draw]:
    """Each task has its time of a day of 1,000 requests."""
    number = 0
    while True:
        shares = [1 + 0.95 * math.sin(math.tau * (number / 1000 + place / 5)) for place in range(5)]
        yield _any(recorded, rng, task=rng.choices(recorded.tasks, shares)[0])
        number += 1


def new_tasks(recorded: Recorded, rng: random.Random) -> Iterator[Draw]:
    """Two tasks; every 1,000 requests another one is added."""
    number = 0
    while True:
        yield _any(recorded, rng, task=rng.choice(recorded.tasks[: 2 + number // 1000]))
        number += 1


def longer(recorded: Recorded, rng: random.Random) -> Iterator[Draw]:
    """Prompts of each task get longer between the 1,000th request and the 3,000th."""
    number = 0
    while True:
        task = rng.choice(recorded.tasks)
        grown = min(1.0, max(0.0, (number - 1000) / 2000))
        yield _ranked(recorded, rng, task, 0.15 + 0.7 * grown)
        number += 1


def other_questions(recorded: Recorded, rng: random.Random) -> Iterator[Draw]:
    """One task; from one request to the next its questions are long ones instead of short ones."""
    number = 0
    while True:
        yield _ranked(recorded, rng, "opinionqa", 0.1 if number < _HALF else 0.9)
        number += 1


def _ranked(recorded: Recorded, rng: random.Random, task: str, around: float) -> Draw:
    """A question of about this place among those of its task by length, in [0, 1]."""
    questions = recorded.questions(task)
    place = int(rng.gauss(around, 0.15) * len(questions))
    return Draw(ONE, task, questions[min(len(questions) - 1, max(0, place))])


def two_models(recorded: Recorded, rng: random.Random) -> Iterator[Draw]:
    """Two models answer in turn by lot, as behind a balancer."""
    while True:
        yield _any(recorded, rng, rng.choice((ONE, OTHER)))


TRAFFIC: Final = (bursts, blocks, days, new_tasks, longer, other_questions, two_models)


# --- Runs


class Run(NamedTuple):
    """What came of one run."""

    alarms: list[tuple[int, TraitEvidence]]
    """With the number of the request that raised each."""
    largest: float
    """Decimal logarithm of the evidence, the level at an alarm."""


def watched(seen: Iterable[AnswerSeen], requests: int) -> Run:
    """Let a test watch so many requests."""
    test = TraitTest(LEVEL)
    alarms = []
    largest = 0.0
    for number, one in enumerate(islice(seen, requests)):
        found = test.add(one)
        if found is not None:
            alarms.append((number, found))
            largest = max(largest, found.evidence_log10)
        largest = max(largest, test.evidence_log10)
    return Run(alarms, largest)


def _seen(recorded: Recorded, draws: Iterable[Draw], rng: random.Random) -> Iterator[AnswerSeen]:
    for number, draw in enumerate(draws):
        yield recorded.seen(number, draw, rng.randrange(_VARIANTS))


class Found(NamedTuple):
    """Runs in which something changed after 600 requests."""

    delays: list[int | None]
    """Requests from the change to the alarm; None without one."""
    since: list[float]
    """Requests from the change to the time stated for it."""
    false: int
    """Alarms before the change."""
    again: int
    """Further alarms after the one that found it."""


def found_in(runs: Iterable[Run]) -> Found:
    """Sum up such runs."""
    found = Found([], [], 0, 0)
    false = again = 0
    for run in runs:
        after = [(number, one) for number, one in run.alarms if number >= BEFORE]
        false += len(run.alarms) - len(after)
        again += max(0, len(after) - 1)
        found.delays.append(after[0][0] - BEFORE if after else None)
        found.since.extend(one.since - BEFORE for _, one in after[:1])
    return found._replace(false=false, again=again)


def upgrades_table(recorded: Sequence[Recorded], runs: int) -> Table:
    """Requests until an upgrade is suspected."""
    rows = []
    for before, after in UPGRADES:
        for records in recorded:
            name = f"{before} → {after}{', reruns planted' if records.noise else ''}"
            rows.append(_row(name, found_in(_upgrade(records, before, after, runs))))
    return Table("traits-upgrades", _FOUND, tuple(rows), digits=0, notes=(f"{runs} runs each.",))


_FOUND: Final = (
    "change after 600 requests",
    "found",
    "median requests",
    "most requests",
    "stated time, median requests off",
    "alarms before",
    "alarms again",
)


def _upgrade(recorded: Recorded, before: str, after: str, runs: int) -> Iterator[Run]:
    for seed in range(runs):
        rng = random.Random(seed)
        draws = [*islice(steady(recorded, rng, before), BEFORE), *islice(steady(recorded, rng, after), AFTER)]
        yield watched(_seen(recorded, draws, rng), BEFORE + AFTER)


def _row(name: str, found: Found) -> tuple[str | float | int | None, ...]:
    delays = [one for one in found.delays if one is not None]
    return (
        name,
        f"{len(delays)} of {len(found.delays)}",
        statistics.median(delays) if delays else None,
        max(delays, default=None),
        statistics.median(found.since) if found.since else None,
        found.false,
        found.again,
    )


def conditions_table(runs: int) -> Table:
    """Requests until another way to prompt is suspected, behind one and the same prompt as far as is seen."""
    reruns = conditions()
    names = sorted(reruns)
    rows = []
    for before, after in pairwise([*names, names[0]]):
        shared = sorted(set(reruns[before]) & set(reruns[after]), key=int)
        found = found_in(
            watched(_rerun(reruns, (before, after), shared, random.Random(seed)), BEFORE + AFTER)
            for seed in range(runs)
        )
        rows.append(_row(f"{before} → {after}", found))
    return Table("traits-conditions", _FOUND, tuple(rows), digits=0, notes=(f"{runs} runs each.",))


def _rerun(
    reruns: dict[str, dict[str, list[str]]], names: tuple[str, str], shared: list[str], rng: random.Random
) -> Iterator[AnswerSeen]:
    for number in range(BEFORE + AFTER):
        question = rng.choice(shared)
        text = rng.choice(reruns[names[number >= BEFORE]][question])
        sketch = _asked_of(question)
        yield AnswerSeen(f"{number}", float(number), "r", "m", "m", "", "", "", _traits(text), sketch)


@cache
def _traits(text: str) -> tuple[float, ...]:
    return traits_of(Answer(text))


@cache
def _asked_of(question: str) -> tuple[int, ...]:
    rows = _questions_asked()
    body = {"messages": [{"role": "user", "content": rows[question]}]}
    return sketch_of(PromptView.parse(json.dumps(body).encode()))


@cache
def _questions_asked() -> dict[str, str]:
    """The prompts of the plainest condition: the question is their last message."""
    path = DATA / "llm_stability" / "gpt4o_math_10_prompt_conditions.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        return {
            row["qid"]: row["prompt"][-1]["content"]
            for row in rows
            if row["condition"] == "0" and "prompt" in row
        }


def unchanged_table(recorded: Sequence[Recorded], runs: int, requests: int = 5000) -> Table:
    """Alarms and the largest evidence where nothing changes at all."""
    rows = []
    for records in recorded:
        models = sorted(records.answers)
        each = [
            watched(_seen(records, steady(records, rng, models[seed % len(models)]), rng), requests)
            for seed, rng in ((seed, random.Random(seed)) for seed in range(runs))
        ]
        rows.append(_quiet("the same model, reruns planted" if records.noise else "the same model", each))
    return Table(
        "traits-unchanged",
        ("traffic", "runs", "alarms", "largest evidence"),
        tuple(rows),
        digits=1,
        notes=(f"Of {requests:,} requests each; evidence as its decimal logarithm, alarms at 7.",),
    )


def traffic_table(recorded: Recorded, runs: int, requests: int = 4000) -> Table:
    """The same where only the traffic changes."""
    rows = []
    for traffic in TRAFFIC:
        each = [
            watched(_seen(recorded, traffic(recorded, rng), rng), requests)
            for rng in (random.Random(seed) for seed in range(runs))
        ]
        rows.append(_quiet(_first_line(traffic), each))
    return Table(
        "traits-traffic",
        ("traffic", "runs", "alarms", "largest evidence"),
        tuple(rows),
        digits=1,
        notes=(f"Of {requests:,} requests each.",),
    )


def _quiet(name: str, each: Sequence[Run]) -> tuple[str, int, int, float]:
    return name, len(each), sum(len(run.alarms) for run in each), max(run.largest for run in each)


def _first_line(traffic: Callable[..., Iterator[Draw]]) -> str:
    return str(traffic.__doc__).partition("\n")[0].rstrip(".")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200, help="runs without a change")
    parser.add_argument("--write", action="store_true", help="write the page in docs/")
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"the data are not there: {DATA}")
    measured = []
    for table in _tables(options.runs):
        print(f"## {table.name}\n\n{table.markdown()}", flush=True)
        print(f"{time.process_time():.0f} s of processor time", file=sys.stderr, flush=True)
        measured.append(table)
    if options.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
        print(f"written to {PAGE}", file=sys.stderr)


def _tables(runs: int) -> Iterator[Table]:
    """Every table as soon as it is measured."""
    recorded = drift(), drift(noise=True)
    yield upgrades_table(recorded, max(2, runs // 10))
    yield conditions_table(max(2, runs // 40))
    yield traffic_table(recorded[0], max(2, runs // 4))
    yield unchanged_table(recorded, runs // 2)


if __name__ == "__main__":
    main()

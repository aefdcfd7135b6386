"""Decisions of challengers, on recorded answers of real models and on planted candidates.

    python -m benchmarks.detection.challenger [--runs 3]

**Recorded**: every ordered pair of the eight models of `llm_stability` and of the four of `llm_drift` whose
answers can be checked. A request is a question drawn at random; the scripted judge prefers the right answer.
With planted noise of p an answer, whoever gives it, is right or wrong by the toss of a coin with probability
p. The truth is the mean over all questions: a candidate that loses less than the margin may switch.

Beside it, on the same pairs: a win rate after a fixed window of 100 pairs (switch if it wins at least as
often as it loses), and a t-test of the same differences looked at after every 100 pairs.

**Planted**: candidates of which the truth is known by construction, one trait each.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import permutations
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.challenge import Challenge, ChallengeAnswer, ChallengePair, ChallengeRewording
from evenkeel.release.challenge.differences import candidate_place, net_loss
from evenkeel.release.challenge.figures import challenge_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DATA: Final = Path(__file__).parents[3] / "shared" / "data"
NOISE: Final = (0.0, 0.1, 0.3, 0.5)
_CHALLENGE: Final = Challenge(route="recorded", model="candidate")
_MARGIN: Final = _CHALLENGE.worse / 100
_EVERY: Final = 100
_MOST: Final = 3_000
_FEWEST_QUESTIONS: Final = 40
_WINDOW: Final = 100
_SIGNIFICANT: Final = 1.96
_LAST_NAMED: Final = re.compile(
    r"\([A-Z]\)|\b(?:yes|no|true|false|valid|invalid)\b|-?\d[\d,.]*", re.IGNORECASE
)


class Rights(NamedTuple):
    """Whether the incumbent and the candidate answer each question of one task right."""

    source: str
    questions: tuple[tuple[bool, bool], ...]

    @property
    def truth(self) -> float:
        """Net losses of the candidate over all questions, in [−1, 1]."""
        return fmean(incumbent - candidate for incumbent, candidate in self.questions)


def stability() -> Iterator[Rights]:
    """Yield every ordered pair of models of llm_stability on every task."""
    said: dict[str, dict[str, dict[str, bool]]] = defaultdict(lambda: defaultdict(dict))
    with gzip.open(DATA / "llm_stability" / "survivor_runs_8models.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if int(row["run"]) == 0:
                right = _named(str(row["response"])) == _named(str(row["gt"]))
                said[row["task"]][row["model"]][row["qid"]] = right
    for models in said.values():
        yield from _ordered("llm_stability", models)


def drift() -> Iterator[Rights]:
    """Yield every ordered pair of the models of llm_drift on the tasks with a right answer."""
    csv.field_size_limit(10_000_000)
    for task in ("prime_full", "countahappynumber"):
        said: dict[str, dict[str, bool]] = defaultdict(dict)
        with gzip.open(
            DATA / "llm_drift" / f"{task}_eval.csv.gz", "rt", encoding="utf-8", newline=""
        ) as file:
            for row in csv.DictReader(file):
                right = _named(row["answer"]) == _named(row["ref_answer"])
                said[row["model"]][row["id"]] = right
        yield from _ordered("llm_drift", said)


def _ordered(source: str, models: dict[str, dict[str, bool]]) -> Iterator[Rights]:
    for first, second in permutations(sorted(models), 2):
        shared = sorted(models[first].keys() & models[second].keys())
        if len(shared) >= _FEWEST_QUESTIONS:
            yield Rights(source, tuple((models[first][name], models[second][name]) for name in shared))


def _named(text: str) -> str:
    found = _LAST_NAMED.findall(text)
    return found[-1].lower() if found else ""


def recorded_pair(rights: Rights, noise: float, number: int, rng: random.Random) -> ChallengePair:
    """Return the pair of one request, with noise on each of the three answers."""
    incumbent, candidate = rng.choice(rights.questions)
    served, again, other = (_noisy(right, noise, rng) for right in (incumbent, incumbent, candidate))
    return _pair(number, other - served, again - served)


def _noisy(right: bool, noise: float, rng: random.Random) -> int:  # noqa: FBT001 - a fact, not an option
    return rng.randrange(2) if rng.random() < noise else int(right)


def _pair(number: int, place: int, noise: int, **changes: object) -> ChallengePair:
    answer = ChallengeAnswer(characters=100, total_s=1.0)
    still = ChallengeRewording(
        perturbation="general.typos",
        incumbent_moved=False,
        incumbent_resend_moved=False,
        candidate_moved=False,
        candidate_resend_moved=False,
    )
    pair = ChallengePair(
        challenge=_CHALLENGE.id,
        exchange=str(number),
        time=float(number),
        served=answer,
        again=answer,
        candidate=answer,
        judged=True,
        rating=2 if place else 3,
        control_rating=2 if noise else 3,
        preference=place,
        control_preference=noise,
        rewording=still if number % 3 == 0 else None,
    )
    return replace(pair, **changes)  # type: ignore[arg-type]


class Outcome(NamedTuple):
    """Decision, and the pairs that it took."""

    answer: str
    pairs: int
    because: tuple[str, ...] = ()


def decided(draw: Callable[[int], ChallengePair], most: int = _MOST) -> tuple[Outcome, list[ChallengePair]]:
    """Return the first decision, looking after every hundred pairs, and the pairs until then."""
    pairs: list[ChallengePair] = []
    because: tuple[str, ...] = ()
    while len(pairs) < most:
        pairs += [draw(len(pairs) + place) for place in range(_EVERY)]
        decision = challenge_figures(_CHALLENGE, pairs).decision
        because = decision.because
        if decision.answer != "not_yet":
            return Outcome(decision.answer, len(pairs), because), pairs
    return Outcome("not_yet", len(pairs), because), pairs


def by_window(pairs: Sequence[ChallengePair]) -> str:
    """Return the decision by the win rate of a fixed window."""
    return "may_switch" if sum(map(_place, pairs[:_WINDOW])) >= 0 else "must_not"


def _place(pair: ChallengePair) -> int:
    return candidate_place(pair) or 0


def by_t_test(pairs: Sequence[ChallengePair]) -> str:
    """Return the decision of whoever tests the differences again and again until one is significant."""
    losses = [net_loss(pair) or 0.0 for pair in pairs]
    for count in range(_EVERY, len(losses) + 1, _EVERY):
        some = losses[:count]
        error = stdev(some) / sqrt(count)
        if error and abs(fmean(some)) / error > _SIGNIFICANT:
            return "must_not" if fmean(some) > 0 else "may_switch"
    return "may_switch"


def falsely(answer: str, truth: float) -> str:
    """Return "may" or "must" for a false decision; "" for a right one, and for none."""
    if answer == "may_switch" and truth >= _MARGIN:
        return "may"
    return "must" if answer == "must_not" and truth <= _MARGIN else ""


def recorded(runs: int) -> None:
    """Print how often decisions were right and false, by source and noise."""
    print(
        "| source | noise | challengers | may | must not | not yet | false may | false must | pairs, median |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    every = [*stability(), *drift()]
    others: dict[str, Counter[str]] = {"win rate of 100": Counter(), "t-test, repeated": Counter()}
    total = 0
    for source in ("llm_stability", "llm_drift"):
        for noise in NOISE:
            answers: Counter[str] = Counter()
            wrong: Counter[str] = Counter()
            counts: list[int] = []
            for place, rights in enumerate(rights for rights in every if rights.source == source):
                truth = rights.truth * (1 - noise)
                for run in range(runs):
                    rng = random.Random(f"{source}/{noise}/{place}/{run}")
                    outcome, pairs = decided(
                        lambda number, rights=rights, noise=noise, rng=rng: recorded_pair(
                            rights, noise, number, rng
                        )
                    )
                    answers[outcome.answer] += 1
                    wrong[falsely(outcome.answer, truth)] += 1
                    counts.append(outcome.pairs)
                    longer = pairs + [
                        recorded_pair(rights, noise, number, rng) for number in range(len(pairs), 1_000)
                    ]
                    others["win rate of 100"][falsely(by_window(longer), truth)] += 1
                    others["t-test, repeated"][falsely(by_t_test(longer[:1_000]), truth)] += 1
                    total += 1
            made = answers.total()
            shares = " | ".join(
                f"{count / made:.1%}"
                for count in (
                    answers["may_switch"],
                    answers["must_not"],
                    answers["not_yet"],
                    wrong["may"],
                    wrong["must"],
                )
            )
            middle = sorted(counts)[len(counts) // 2]
            print(f"| {source} | {noise:.0%} | {made} | {shares} | {middle:,} |", flush=True)
    print()
    print("| the same pairs, decided by | false may | false must |")
    print("|---|--:|--:|")
    for name, wrong in others.items():
        print(f"| {name} | {wrong['may'] / total:.1%} | {wrong['must'] / total:.1%} |")


NOISY: Final = 0.1
"""Share of the answers of a planted model that are bad by chance."""


def alike(number: int, rng: random.Random) -> ChallengePair:
    """Return a pair of one model with itself."""
    served, again, other = (rng.random() < NOISY for _ in range(3))
    return _pair(number, served - other, served - again)


def fragile(number: int, rng: random.Random) -> ChallengePair:
    """Return a pair of a candidate that is as good, and moved by a quarter of the rewordings."""
    pair = alike(number, rng)
    if pair.rewording is None:
        return pair
    return replace(pair, rewording=replace(pair.rewording, candidate_moved=rng.randrange(4) == 0))


def worse_for_a_tenth(number: int, rng: random.Random) -> ChallengePair:
    """Return a pair of a candidate that wins 15 % and loses half of the tenth that writes German."""
    if rng.randrange(10) == 0:
        return _pair(number, -rng.randrange(2), 0, language="de")
    return _pair(number, int(rng.randrange(20) < 3), 0, language="en")  # noqa: PLR2004 - 15 %


def slower(number: int, rng: random.Random) -> ChallengePair:
    """Return a pair of a candidate that takes three times as long."""
    pair = alike(number, rng)
    return replace(pair, candidate=replace(pair.candidate, total_s=3.0))


def longer(number: int, rng: random.Random) -> ChallengePair:
    """Return a pair of a candidate whose answers are longer, and a judge that does not care."""
    pair = alike(number, rng)
    return replace(pair, candidate=replace(pair.candidate, characters=180))


def length_judge(number: int, rng: random.Random) -> ChallengePair:
    """Return a pair that differs in wording, where the judge prefers the longer: always the candidate's."""
    characters = [rng.randrange(80, 120) for _ in range(2)]
    pair = _pair(number, 1, 1 if characters[1] > characters[0] else -1)
    return replace(
        pair,
        served=replace(pair.served, characters=characters[0]),
        again=replace(pair.again, characters=characters[1]),
        candidate=replace(pair.candidate, characters=180),
    )


def position_judge(number: int, rng: random.Random) -> ChallengePair:
    """Return a pair that differs in wording, where the judge prefers the first, and the order is drawn."""
    first = rng.choice((-1, 1))
    return _pair(number, first, rng.choice((-1, 1)), both_orders=(first, -first))


PLANTED: Final[dict[str, Callable[[int, random.Random], ChallengePair]]] = {
    "the same model": alike,
    "as good, but more fragile (+25 points)": fragile,
    "better on average, worse for a tenth": worse_for_a_tenth,
    "only slower": slower,
    "only longer": longer,
    "longer, and the judge prefers length": length_judge,
    "the judge prefers the first": position_judge,
}


def print_planted(runs: int) -> None:
    """Print what is decided about planted candidates."""
    print("| planted | may | must not | not yet | because | pairs, median |")
    print("|---|--:|--:|--:|---|--:|")
    for name, make in PLANTED.items():
        answers: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        counts: list[int] = []
        for run in range(runs):
            rng = random.Random(f"{name}/{run}")
            outcome, _ = decided(lambda number, make=make, rng=rng: make(number, rng), 6_000)
            answers[outcome.answer] += 1
            reasons.update(outcome.because)
            counts.append(outcome.pairs)
        said = ", ".join(reason for reason, _ in reasons.most_common(2))
        cells = " | ".join(
            f"{answers[answer] / runs:.0%}" for answer in ("may_switch", "must_not", "not_yet")
        )
        print(f"| {name} | {cells} | {said} | {sorted(counts)[runs // 2]:,} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    recorded(options.runs)
    print()
    print_planted(10 * options.runs)


if __name__ == "__main__":
    main()

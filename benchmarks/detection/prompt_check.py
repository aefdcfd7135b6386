"""Error rates of `evenkeel check`: planted fragility in one of four categories, simulated rounds.

    python -m benchmarks.detection.prompt_check --runs 200

Each round draws whether the answer to an identical resend moved (the noise) and whether the answer to each
rewording did (the noise plus the planted points, in one category only). No model and no judge is asked.

The second table checks four support questions with models that are made up: a constant answer, a cache that
serves the nearest of the four, a model that answers from the documents and never reads the question, and an
ordinary one, whose answer follows the question whatever its wording. Rewordings are those of the product, and
so are contrasts; the judge compares the texts.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Judgement
from evenkeel.release.check.prompts import read_prompts
from evenkeel.release.check.report import ignores_the_question
from evenkeel.release.check.rounds import RoundMaker, VariantMaker
from evenkeel.release.check.run import CheckOptions, run_check
from evenkeel.release.check.service import kinds_by_category
from evenkeel.release.check.trial import FIRST
from evenkeel.release.kit.cost import Costs
from tests.kit.check_rounds import CATEGORIES, FRAGILE, SimulatedRounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.shadow.perturbations import RewriteTask
    from evenkeel.shadow.prompt import PromptView


def row(noise: float, points: float, runs: int, rounds: int) -> str:
    """Return a line of the table: how often each standing came out, and the calls it took."""
    fragile: Counter[str] = Counter()
    others: Counter[str] = Counter()
    falsely_over = 0
    calls: list[int] = []
    for seed in range(runs):
        made = SimulatedRounds(noise, points, random.Random(f"{noise}/{points}/{seed}"))
        options = CheckOptions(
            models={FIRST: "simulated"}, categories=CATEGORIES, rounds=rounds, judge="planted"
        )
        outcome = asyncio.run(run_check(options, made, Costs()))  # type: ignore[arg-type]
        standings = {figures.category: figures.standing for figures in outcome.arms[FIRST]}
        fragile[standings[FRAGILE]] += 1
        others.update(standing for category, standing in standings.items() if category != FRAGILE)
        over = [category for category, standing in standings.items() if standing == "over"]
        falsely_over += any(category != FRAGILE or points <= options.limit for category in over)
        calls.append(made.calls)
    calls.sort()
    shares = (
        fragile["over"] / runs,
        fragile["within"] / runs,
        others["within"] / (len(CATEGORIES) - 1) / runs,
        falsely_over / runs,
    )
    said = " | ".join(f"{share:.1%}" for share in shares)
    return f"| {noise:.0%} | {100 * points:.0f} | {said} | {calls[runs // 2]:,} |"


QUESTIONS: Final = (
    "May I return a kettle that I have used 3 times within 30 days?",
    "Which of your ovens has a cable of at least 2 metres and a timer?",
    "How long does the delivery of a fridge to Austria take, and what does it cost?",
    "Does the warranty cover a coffee machine that was repaired by somebody else?",
)
DOCUMENT: Final = "Use the document below.\n\nDocument: Everything about returns.\n\nQuestion: {{question}}"
_OTHERS: Final = {"kettle": "toaster", "ovens": "mixers", "fridge": "lamp", "coffee machine": "radio"}
_ALIKE: Final = 0.75
"""Similarity of letters from which on a question is taken to be the same in other words."""


def _nearest(question: str) -> tuple[float, str]:
    return max((SequenceMatcher(None, question.lower(), known.lower()).ratio(), known) for known in QUESTIONS)


def _ordinary(question: str) -> str:
    near, known = _nearest(question)
    another = any(name in question.lower() for name in _OTHERS.values())
    same = near >= _ALIKE and not another and re.findall(r"\d+", question) == re.findall(r"\d+", known)
    return known if same else question


MODELS: Final[dict[str, Callable[[str], str]]] = {
    "constant": lambda _: "We are happy to help.",
    "cache by nearest prompt": lambda question: _nearest(question)[1],
    "ignores the question": lambda _: "Returns are possible.",
    "ordinary": _ordinary,
}


async def _another_text(task: RewriteTask) -> str:
    name = next(name for name in _OTHERS if name in task.text)
    return task.text.replace(name, _OTHERS[name])


async def _score(pairs: Sequence[Pair]) -> list[Judgement]:
    return [Judgement("judge", 3 if pair.reference.text == pair.candidate.text else 1) for pair in pairs]


def sensitivity_row(name: str, runs: int) -> str:
    """Return a line of the second table: how often a model was said to ignore the question."""
    answer_to = MODELS[name]

    async def ask(arm: str, view: PromptView, draw: str) -> Answer:
        del arm, draw
        return Answer(answer_to(view.typed[-1].text if view.typed else view.text))

    kinds = kinds_by_category(("general.spelling", "general.casing", "general.whitespace"), rewriter=True)
    views = read_prompts(DOCUMENT, [{"question": question} for question in QUESTIONS], "questions")
    over = ignored = 0
    shares: list[float] = []
    for seed in range(runs):
        maker = RoundMaker(
            ask, _score, VariantMaker(kinds, 0.13, seed, _another_text, QUESTIONS), {FIRST: views}, None
        )
        options = CheckOptions(models={FIRST: name}, categories=("general",), rounds=100, judge="planted")
        outcome = asyncio.run(run_check(options, maker, Costs()))
        sensitivity = outcome.sensitivity[FIRST]
        over += outcome.is_over
        ignored += ignores_the_question(outcome, FIRST)
        shares.append(sensitivity.value if sensitivity else 0.0)
    shares.sort()
    return f"| {name} | {over / runs:.0%} | {shares[runs // 2]:.0%} | {ignored / runs:.0%} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    print("| noise | planted points | over | within | others within | falsely over | calls, median |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for noise in (0.05, 0.2, 0.5):
        for points in (0.0, 0.1, 0.2, 0.4):
            print(row(noise, points, options.runs, options.rounds), flush=True)
    print("\n| model | over the limit | sensitivity, median | said to ignore the question |")
    print("|---|--:|--:|--:|")
    for name in MODELS:
        print(sensitivity_row(name, options.runs), flush=True)


if __name__ == "__main__":
    main()

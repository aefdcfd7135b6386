"""What the cascade saves, and what it must not decide: stages and heuristic ratings by kind of pair.

Run: python -m benchmarks.cascade [--most 300]

Reads ../shared/data beside the repository; says so and stops where it is absent. Beside the kinds of
`tests.kit.recorded` it makes pairs of which the right rating is known: answers misspelt by the product's
own slips (the same), answers in JSON written as YAML (the same), and answers of one model to one
question in two languages (not comparable in words). A 3 given to a kind that is another answer is a mistake
that no judge would see.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter
from typing import TYPE_CHECKING

import yaml

from evenkeel.core.languages import language_of
from evenkeel.core.pair import AS_BEFORE, Answer, Pair, Wanted
from evenkeel.core.verdict import Failure, stage_of
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.shadow.perturbations.spelling import Spelling
from evenkeel.shadow.prompt import PromptView
from tests.kit.recorded import DATA, every_kind, strict_json

if TYPE_CHECKING:
    from evenkeel.metrics.protocol import Rating

_LANGUAGES = ("de", "es", "fr", "it", "ja", "nl", "pt")
_SEVERITIES = (0.1, 0.3)


def answers(language: str) -> dict[int, str]:
    """GPT-4's first answers to the 80 questions in a language, by question."""
    with gzip.open(DATA / "mt_bench" / f"{language}_gpt-4_answer.jsonl.gz", "rt", encoding="utf-8") as file:
        read = map(json.loads, file)
        return {one["question_id"]: one["choices"][0]["turns"][0] for one in read}


def misspelt(text: str, severity: float, rng: random.Random) -> str | None:
    """The text as the product's perturbation would misspell it in a prompt."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    view = PromptView.parse(json.dumps(body).encode(), api="chat")
    changed = Spelling().apply(view, severity, rng)
    return changed.segments[0].text if isinstance(changed, PromptView) else None


def made() -> dict[str, list[Pair]]:
    """Pairs of which the right rating is known."""
    rng, kinds = random.Random(5), dict[str, list[Pair]]()
    spoken = {language: answers(language) for language in ("en", *_LANGUAGES)}
    for severity in _SEVERITIES:
        both = [
            (text, misspelt(text, severity, rng)) for language in spoken for text in spoken[language].values()
        ]
        kinds[f"misspelt at {severity}"] = [pair_of(text, slip) for text, slip in both if slip]
    for wanted in (True, False):
        kinds[f"two languages, {'asked for' if wanted else 'not asked for'}"] = [
            pair_of(text, spoken[language][number], Wanted(language=language if wanted else None))
            for language in _LANGUAGES
            for number, text in spoken["en"].items()
            if number in spoken[language]
            and {language_of(text), language_of(spoken[language][number])} == {"en", language}
        ]
    records = [_record(text) for texts in strict_json().values() for text in texts]
    found = [record for record in records if record]
    kinds["JSON written as YAML"] = [
        pair_of(json.dumps(record), yaml.safe_dump(record, allow_unicode=True), Wanted("yaml"))
        for record in found
    ]
    return kinds


def _record(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def pair_of(reference: str, candidate: str, wanted: Wanted = AS_BEFORE) -> Pair:
    """A pair without a prompt."""
    return Pair(Answer(reference), Answer(candidate), "", None, wanted)


def stage(rating: Rating) -> str:
    """Who would decide the pair, had the cascade a judge."""
    found = stage_of(rating.details)
    return found if found in ("equality", "heuristic") else "judge"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=300, help="pairs of each kind")
    most = parser.parse_args().most
    if not DATA.is_dir():
        sys.exit("bench/cascade: no data beside the repository (../shared/data); nothing measured")
    rng, rater = random.Random(20), HeuristicRater(language_of=language_of)
    kinds = {
        kind: [pair_of(*texts) for texts in pairs] for kind, pairs in every_kind(random.Random(20)).items()
    } | made()
    stages, outcomes = ("equality", "heuristic", "judge"), (3, 2, 1, None, "cross_language")
    print(f"{'kind of pair':34}{'n':>5}  {'  '.join(stages)}   heuristics: {', '.join(map(str, outcomes))}")
    for kind, every in kinds.items():
        ratings = [rater.rate_now(pair) for pair in rng.sample(every, min(most, len(every)))]
        decided = Counter(map(stage, ratings))
        given = Counter(
            one.outcome.reason if isinstance(one.outcome, Failure) else one.outcome for one in ratings
        )
        shares = "".join(f"{decided[name] / len(ratings):>9.2f}" for name in stages)
        rated = "".join(f"{given[name] / len(ratings):>7.2f}" for name in outcomes)
        print(f"{kind:34}{len(ratings):>5}{shares}  {rated}")


if __name__ == "__main__":
    main()

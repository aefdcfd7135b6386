"""What a judge reads and writes for one to six pairs of an exchange: each alone, and all in one call.

Run: python -m benchmarks.judge_calls

Real answers to rephrasings of one question (PBSS, three models) stand for the answers to variants; the first
is the original's. Prompts are those that are sent. Tokens are estimated at four characters each, and the
explanation of a rating at 120 characters. Reads ../shared/data/pbss beside the repository.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.kit import table
from evenkeel.llm.price import estimate_tokens
from evenkeel.metrics.judge.prompts import SIMILARITY
from tests.kit.public import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.metrics.judge.prompts import Question

_EXPLANATION: Final = "x" * 120
_MOST: Final = 6


class JudgeTokens(NamedTuple):
    """Estimated tokens of some calls."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion


def tokens_alone(reference: str, candidates: Sequence[str]) -> JudgeTokens:
    """What rating each pair in a call of its own takes."""
    prompts = [
        _read(SIMILARITY.fill({"REFERENCE ANSWER": reference, "CANDIDATE ANSWER": one})) for one in candidates
    ]
    said = estimate_tokens(json.dumps({"explanation": _EXPLANATION, "rating": 3}))
    return JudgeTokens(sum(prompts), said * len(candidates))


def tokens_together(reference: str, candidates: Sequence[str]) -> JudgeTokens:
    """What rating all pairs in one call takes; one pair is judged alone."""
    if len(candidates) == 1:
        return tokens_alone(reference, candidates)
    entries = [
        {"pair": place, "explanation": _EXPLANATION, "rating": 3} for place in range(1, len(candidates) + 1)
    ]
    said = estimate_tokens(json.dumps({"ratings": entries}))
    return JudgeTokens(_read(SIMILARITY.fill_group(reference, candidates)), said)


def _read(question: Question) -> int:
    return sum(estimate_tokens(one.content) for one in question.messages)


def recorded_answers() -> Iterator[list[str]]:
    """Answers of one model to rephrasings of one question, all different."""
    for path in sorted((DATA / "pbss").glob("results_*.csv.gz")):
        found: defaultdict[str, dict[str, None]] = defaultdict(dict)
        with gzip.open(path, "rt", newline="") as file:
            for row in csv.DictReader(file):
                found[f"{row['origin']}/{row['temperature']}"][row["output"].strip()] = None
        yield from (list(answers) for answers in found.values() if len(answers) > _MOST)


def main() -> None:
    """Print tokens of all calls and of one pair, by the number of pairs."""
    exchanges = list(recorded_answers())
    rows = []
    for pairs in range(1, _MOST + 1):
        alone = [tokens_alone(first, others[:pairs]) for first, *others in exchanges]
        together = [tokens_together(first, others[:pairs]) for first, *others in exchanges]
        single, grouped = (sum(one.total for one in calls) for calls in (alone, together))
        mean = [
            round(sum(column) / len(exchanges))
            for calls in (alone, together)
            for column in zip(*calls, strict=True)
        ]
        rows.append(
            [
                str(pairs),
                *map(str, mean),
                str(round(grouped / len(exchanges) / pairs)),
                f"{grouped / single:.2f}",
            ]
        )
    answer = sum(estimate_tokens(one) for answers in exchanges for one in answers) / sum(map(len, exchanges))
    columns = (
        "pairs",
        "alone: read",
        "written",
        "together: read",
        "written",
        "together: a pair",
        "share of alone",
    )
    print("\n".join(table(columns, rows)))
    print(f"\n{len(exchanges)} exchanges, answers of {answer:.0f} tokens on average.")


if __name__ == "__main__":
    main()

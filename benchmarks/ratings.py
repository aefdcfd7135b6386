"""How many pairs a rule, a judge and a local judge rate, how many of them rightly, and at what price.

Run by `python -m benchmarks.similarity`, which prints the table first. The scripted judge knows each pair's
label, so its column says what identity leaves over and what that costs, not how good a judge is.
"""

from __future__ import annotations

import asyncio
import csv
import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import SAME_CONTENT, stage_of
from evenkeel.llm.price import Prices
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.judge.local import CrossEncoderModel, LocalJudge
from evenkeel.metrics.judge.prompts import CANDIDATE, REFERENCE, SIMILARITY
from evenkeel.metrics.judge.rendering import render
from evenkeel.metrics.pairs import read_pair
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.scoring import heuristic_scorer, local_scorer
from tests.kit.public import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.metrics.protocol import Rater
    from evenkeel.metrics.scoring import TwoStageScorer

_CORPUS: Final = Path(__file__).parents[1] / "tests" / "corpus"
_MODEL: Final = "gpt-4.1-mini"
"""Model whose price is counted."""
_CHARS_PER_TOKEN: Final = 4
_REPLY_TOKENS: Final = 60
_SAME_SCORE, _OTHER_SCORE = 4.8, 3.0
"""People's scores of STS-B, from 0 to 5, from which and up to which a pair counts as the same or not."""
_MOST: Final = 300
"""Pairs that are read of a set."""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Pair of answers, and whether they say the same."""

    pair: Pair
    same: bool


def labelled_sets() -> dict[str, list[LabelledPair]]:
    """Return the sets of pairs by name; those of public data are empty where it is not there."""
    attacks = list(_rows("attacks.jsonl"))
    return {
        "reported in the issue": [_attack(row) for row in attacks if row["half"] == "issue"],
        "written against the rules": [_attack(row) for row in attacks if row["half"] != "issue"],
        "corpus": [LabelledPair(read_pair(row), row["equal"]) for row in _rows("pairs.jsonl")],
        "STS-B, eight languages": list(_stsb()),
        "MT-Bench, changed": list(_mt_bench()),
    }


def _rows(name: str) -> Iterator[dict[str, Any]]:
    with (_CORPUS / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _attack(row: dict[str, Any]) -> LabelledPair:
    return LabelledPair(read_pair(row), row["expect"] in {"same", "identical"})


def _stsb() -> Iterator[LabelledPair]:
    for path in sorted((DATA / "stsb_multi_mt").glob("stsb-*-test.csv.gz")):
        found = 0
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for first, second, score in csv.reader(file):
                if _OTHER_SCORE < float(score) < _SAME_SCORE or found == _MOST // 8:
                    continue
                found += 1
                yield LabelledPair(Pair(Answer(first), Answer(second), ""), float(score) >= _SAME_SCORE)


def _mt_bench() -> Iterator[LabelledPair]:
    """Yield each English answer with changes whose meaning is known: two that keep it and two that do not."""
    texts: list[str] = []
    for path in sorted((DATA / "mt_bench").glob("en_*answer*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["choices"][0]["turns"][0] for line in lines]
    for text in texts[: _MOST // 4]:
        number = re.search(r"\d", text)
        sentences = re.split(r"(?<=[.!?])\s+", text)
        changed = [
            (text.replace("\n", " \r\n"), True),
            ("Sure, here you go:\n\n" + text, True),
            (" ".join(sentences[:-2]), False),
        ]
        if number:
            other = str((int(number[0]) + 1) % 10)
            changed.append((text[: number.start()] + other + text[number.end() :], False))
        for candidate, same in changed:
            if candidate.strip():
                yield LabelledPair(Pair(Answer(text), Answer(candidate), ""), same)


class ScriptedJudge:
    """Rater that knows the labels, at the price of the judge's real prompt."""

    def __init__(self, labelled: Sequence[LabelledPair]) -> None:
        self._same = {(one.pair.reference, one.pair.candidate): one.same for one in labelled}
        self._prices = Prices()
        self.calls = 0
        self.usd = 0.0

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Return 3 for what says the same, else 2."""
        return [self._rating(pair) for pair in pairs]

    def _rating(self, pair: Pair) -> Rating:
        self.calls += 1
        question = SIMILARITY.fill({REFERENCE: render(pair.reference), CANDIDATE: render(pair.candidate)})
        tokens = question.chars // _CHARS_PER_TOKEN
        same = self._same[pair.reference, pair.candidate]
        usd = self._prices.usd(_MODEL, tokens, _REPLY_TOKENS)
        self.usd += usd
        return Rating(
            SAME_CONTENT if same else SAME_CONTENT - 1,
            "scripted",
            tokens=tokens + _REPLY_TOKENS,
            cost_usd=usd,
        )


class _CountedJudge:
    """Local judge that counts what it is asked."""

    def __init__(self, judge: Rater) -> None:
        self._judge = judge
        self.calls = 0

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        self.calls += len(pairs)
        return await self._judge.rate_all(pairs)


def rating_table(local: str | None) -> list[list[str]]:
    """Return the rows of the table: each set of pairs without a judge, with a scripted and with a local one.

    Args:
        local: Name or folder of an entailment model; None = "no weights" in its rows.
    """
    figures = ["rated", "right", "false 3", "false 1", "unsure"]
    rows = [["pairs", "same/other", "judge", *figures, "calls", "$ per 1,000"]]
    heuristic = HeuristicRater(language_of=language_of)
    model = LocalJudge(CrossEncoderModel(local)) if local else None
    for name, labelled in labelled_sets().items():
        if not labelled:
            continue
        same = sum(one.same for one in labelled)
        sides = f"{same}/{len(labelled) - same}"
        scripted = ScriptedJudge(labelled)
        rows.append([name, sides, "none", *_counts(labelled, heuristic_scorer(heuristic)), "0", "0.00"])
        found = _counts(labelled, local_scorer(scripted, heuristic))
        usd = 1000 * scripted.usd / len(labelled)
        rows.append([name, sides, "scripted", *found, str(scripted.calls), f"{usd:.2f}"])
        if model is None:
            rows.append([name, sides, "local", "no weights", *[""] * 6])
            continue
        counted = _CountedJudge(model)
        found = _counts(labelled, local_scorer(counted, heuristic))
        rows.append([name, sides, "local", *found, str(counted.calls), "0.00"])
    return rows


def _counts(labelled: Sequence[LabelledPair], scorer: TwoStageScorer) -> list[str]:
    """Return how many are rated, rated rightly, a false 3, a false 1 by a rule, and unsure."""
    judgements = asyncio.run(scorer.score_all([one.pair for one in labelled], qualities=False))
    rated = right = false_same = false_other = unsure = 0
    for labelled_pair, judgement in zip(labelled, judgements, strict=True):
        if judgement.rating is None:
            unsure += 1
            continue
        rated += 1
        right += (judgement.rating == SAME_CONTENT) is labelled_pair.same
        false_same += judgement.rating == SAME_CONTENT and not labelled_pair.same
        false_other += judgement.rating == 1 and labelled_pair.same and stage_of(judgement.details) != "judge"
    return [str(number) for number in (rated, right, false_same, false_other, unsure)]

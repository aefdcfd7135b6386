"""Recorded answers and human ratings out of the public data, and pairs whose right rating is known.

Pairs of texts from the public data beside the repository, with what is known of them.

Kinds of pairs of real answers whose right rating is roughly known, from the public data.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tests.kit.public import DATA

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence


FREE_TEXT: Final = ("0", "chomsky", "str_chomsky")
"""Prompts of GPT-4o that leave the form of the answer alone; the others ask for a letter or for JSON."""
FENCED: Final = "schema"
"""The prompt whose answers are JSON in a fence."""
_OPTION = re.compile(r"boxed\{\s*(?:\\text\{)?\(?([A-D])|\(([A-D])\)")
_WHERE_IT_ENDS: Final = 300


class Rated(NamedTuple):
    """Two sentences and how alike people find them."""

    first: str
    second: str
    similarity: float
    """0 to 5."""


class Run(NamedTuple):
    """One answer of GPT-4o at temperature 0."""

    condition: str
    question: str
    run: int
    text: str


class Texts(NamedTuple):
    """Two answers."""

    first: str
    second: str


class Preferred(NamedTuple):
    """Two answers to an instruction, and which of them people hold for the better one."""

    instruction: str
    first: str
    second: str
    better: Literal[1, 2]


def rows_of(path: str) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines, by its place in the public data."""
    with gzip.open(DATA / path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def rated(language: str) -> list[Rated]:
    """The 1,379 sentence pairs of the STS benchmark's test part in one language."""
    path = DATA / "stsb_multi_mt" / f"stsb-{language}-test.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [Rated(first, second, float(score)) for first, second, score in csv.reader(file)]


def runs() -> list[Run]:
    """GPT-4o's answers to 100 questions of mathematics under ten prompts; the first two runs.

    Later runs are left out: they were kept only where earlier ones agreed.
    """
    path = "llm_stability/gpt4o_math_10_prompt_conditions.jsonl.gz"
    return [
        Run(row["condition"], row["qid"], int(row["run"]), row["response"])
        for row in rows_of(path)
        if int(row["run"]) < 2
    ]


def strict_json() -> dict[tuple[str, str], list[str]]:
    """GPT-4o's answers in strict JSON, five identical runs, by task and question."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows_of("llm_stability/gpt4o_strict_json_7tasks_5runs.jsonl.gz"):
        found[row["task"], row["qid"]].append(row["response"])
    return dict(found)


def conclusion(text: str) -> str | None:
    """The option that a multiple-choice answer ends with; None if it names none near its end."""
    found = _OPTION.findall(text[-_WHERE_IT_ENDS:])
    return (found[-1][0] or found[-1][1]) if found else None


def gpt4o(found: Sequence[Run]) -> dict[str, list[Texts]]:
    """Pairs of free answers by kind: a rerun, a reworded prompt, and how the two conclude."""
    texts = {(one.condition, one.question, one.run): one.text for one in found if one.condition in FREE_TEXT}
    kinds: dict[str, list[Texts]] = {
        kind: [] for kind in ("rerun", "reworded", "same conclusion", "other conclusion")
    }
    plain = [text for (condition, _, run), text in texts.items() if (condition, run) == (FREE_TEXT[0], 0)]
    kinds["other question"] = [Texts(*both) for both in zip(plain, [*plain[1:], plain[0]], strict=True)]
    for (condition, question, run), text in texts.items():
        if run:
            continue
        again = texts.get((condition, question, 1))
        after = FREE_TEXT[FREE_TEXT.index(condition) + 1 :]
        others = [texts[other, question, 0] for other in after if (other, question, 0) in texts]
        kinds["rerun"] += [Texts(text, again)] if again else []
        kinds["reworded"] += [Texts(text, other) for other in others]
        for second in ([again] if again else []) + others:
            ends = conclusion(text), conclusion(second)
            if all(ends):
                kinds["same conclusion" if ends[0] == ends[1] else "other conclusion"].append(
                    Texts(text, second)
                )
    return kinds


def pbss(rng: random.Random) -> dict[str, list[Texts]]:
    """Three models' answers: the same prompt again, a reworded one, and another intent.

    Every prompt was answered once at a low and once at a high temperature. A pair always has one
    of each, so that the temperature does not tell the kinds apart.
    """
    kinds: dict[str, list[Texts]] = {kind: [] for kind in ("rerun", "reworded", "other intent")}
    for path in sorted((DATA / "pbss").glob("results_*.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["output"].strip()]
        low, high = sorted({row["temperature"] for row in rows}, key=float)
        answers: dict[str, dict[str, dict[str, str]]] = {row["origin"]: {low: {}, high: {}} for row in rows}
        for row in rows:
            answers[row["origin"]][row["temperature"]][row["variant_id"]] = row["output"]
        intents = list(answers.values())
        for intent, other in zip(intents, [*intents[1:], intents[0]], strict=True):
            both = sorted(intent[low].keys() & intent[high].keys())
            for variant in rng.sample(both, min(2, len(both))):
                first = intent[low][variant]
                reworded = rng.choice([one for one in both if one != variant])
                kinds["rerun"].append(Texts(first, intent[high][variant]))
                kinds["reworded"].append(Texts(first, intent[high][reworded]))
                kinds["other intent"].append(Texts(first, rng.choice(list(other[high].values()))))
    return kinds


def preferred() -> dict[str, list[Preferred]]:
    """LLMBar's pairs of answers by part."""
    found: dict[str, list[Preferred]] = {}
    for path in sorted((DATA / "llmbar").glob("*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = json.load(file)
        found[path.name.removesuffix(".json.gz").replace("_", " ")] = [
            Preferred(row["input"], row["output_1"], row["output_2"], row["label"]) for row in rows
        ]
    return found


_PLAIN: Final = "0"
"""GPT-4o's prompt without any instruction on how to answer."""
_CLOSE, _FAR = 4.5, 2.0
"""Human similarity, of 5, from which sentences count as the same and below which as different."""

Kinds = dict[str, list[tuple[str, str]]]


def gpt4o_kinds() -> Kinds:
    """GPT-4o at temperature 0 on mathematics, under ten prompts: reruns, other prompts, other questions."""
    texts = {(one.condition, one.question, one.run): one.text for one in runs()}
    kinds: Kinds = defaultdict(list)
    for (condition, question, run), text in texts.items():
        if run:
            continue
        end, again = conclusion(text), texts.get((condition, question, 1), "")
        if end and (other := conclusion(again)):
            kinds[f"rerun, {'same' if end == other else 'other'} conclusion"].append((text, again))
        original = texts.get((_PLAIN, question, 0), "")
        if condition != _PLAIN and end and end == conclusion(original):
            kinds["other prompt, same conclusion"].append((original, text))
    plain = [text for (condition, _, run), text in texts.items() if condition == _PLAIN and not run]
    kinds["other question"] = list(zip(plain, [*plain[1:], plain[0]], strict=True))
    return kinds


def sentences() -> Kinds:
    """English sentences that people find the same, and others that they find different (STS-B)."""
    every = rated("en")
    return {
        "STS-B, people say same": [(one.first, one.second) for one in every if one.similarity >= _CLOSE],
        "STS-B, people say different": [(one.first, one.second) for one in every if one.similarity < _FAR],
    }


def every_kind(rng: random.Random) -> Kinds:
    """The kinds above, and answers of three models to the same, a reworded and another prompt (PBSS)."""
    said: Kinds = {f"PBSS, {kind}": [*pairs] for kind, pairs in pbss(rng).items()}
    return gpt4o_kinds() | said | sentences()

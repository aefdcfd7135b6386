"""Recorded answers of GPT-4o out of the public data, and pairs of them whose right rating is known."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

from tests.kit.public import rows_of

FREE_TEXT = ("0", "chomsky", "str_chomsky")
"""Prompts of GPT-4o that leave the form of the answer alone; the others ask for a letter or for JSON."""
_PLAIN = "0"
"""The prompt without any instruction on how to answer."""
_OPTION = re.compile(r"boxed\{\s*(?:\\text\{)?\(?([A-D])|\(([A-D])\)")
_WHERE_IT_ENDS = 300


class Run(NamedTuple):
    """An answer of GPT-4o at temperature 0."""

    condition: str
    question: str
    run: int
    text: str


def runs():
    """GPT-4o's answers to 100 questions of mathematics under ten prompts; the first two runs.

    Later runs are left out: they were kept only where earlier ones agreed.
    """
    path = "llm_stability/gpt4o_math_10_prompt_conditions.jsonl.gz"
    return [
        Run(row["condition"], row["qid"], int(row["run"]), row["response"])
        for row in rows_of(path)
        if int(row["run"]) < 2
    ]


def conclusion(text):
    """The option that a multiple-choice answer ends with; None if it names none near its end."""
    found = _OPTION.findall(text[-_WHERE_IT_ENDS:])
    return (found[-1][0] or found[-1][1]) if found else None


def gpt4o_kinds():
    """GPT-4o at temperature 0 on mathematics, under ten prompts: reruns, other prompts, other questions."""
    texts = {(run.condition, run.question, run.run): run.text for run in runs()}
    kinds = defaultdict(list)
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

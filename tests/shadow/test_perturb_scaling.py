"""Runs of varying length of a mark cost time in proportion: at this size anything else would never end."""

from __future__ import annotations

import json
import random

import pytest

from evenkeel.shadow.perturbations import attempt, by_name
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import TemplateLearner

CHARACTERS = 60_000
KINDS = by_name(["general.punctuation", "general.tone", "format.free", "format.xml", "positional.mixed"])


@pytest.mark.parametrize(("mark", "behind"), [
    ("`", ""), ("`", '{"a":1}'), ("~", '{"a":1}'), ("#", ""), ("<a>", '{"a":1}'), ("{", ""),
    ("=> ", '{"a":1}'),    ("x: ", ""), ("JSON ", ""), ("Doc 1: a\n\n", '{"a":1}'), ("\u2028", ""),
])  # fmt: skip
def test_every_reader_is_linear_in_runs_of_marks(mark, behind) -> None:
    """Fences, tags, brackets, labels and line ends, each run of another length than the one before."""
    runs = range(CHARACTERS // (4 * len(mark) + len(behind)))
    text = "".join(mark * (1 + number % 7) + behind for number in runs)
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    view = PromptView.parse(body, TemplateLearner().classifier(""))
    for kind in KINDS:
        assert attempt(kind, view, 0.07 if kind.graded else 1.0, random.Random(1)) is not None

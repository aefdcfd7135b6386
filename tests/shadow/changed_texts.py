"""What tests of the kinds that change texts share: a case, pieces of any text, and one variant."""

from __future__ import annotations

import json
import random

from hypothesis import strategies as st

from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.prompt import PromptView

SEVERITIES = (0.1, 0.3, 0.5, 1.0)

CASE = """\
Hello team, our customer Maria reports that the export fails since May 3, 2024. I don't know why!

Ticket INC-48213 was opened by jane@example.com; see https://status.example.com/i/42?x=1 for more.
- She restarted the laptop - no change, no error
- She wrote "it just stops" and ran `export --all`

    total = price * 1.19
The answer was {"ok": false, "code": 500}, which is odd. Please summarise the case, and say what to do"""


def view_of(text: str, *more: dict[str, str]) -> PromptView:
    """A chat request with one user message."""
    return PromptView.parse(json.dumps({"messages": [*more, {"role": "user", "content": text}]}).encode())


def variant(name: str, text: str, severity: float = 0.5, seed: int = 1) -> str:
    """The text after one perturbation; it must apply."""
    (perturbation,) = by_name([name])
    result = perturbation.apply(view_of(text), severity, random.Random(seed))
    assert isinstance(result, PromptView)
    return result.input_text


FRAGMENTS = st.sampled_from([
    "word ", "Please ", "stop. ", "why? ", "\n", "\n\n", " - ", ", and ", "`a b` ", '"as is" ', '{"a": 1} ',
    "<b>hi</b> ", "$4.50 ", "3.5 kg ", "http://a.b/c. ", "a@b.co, ", "x_y ", "aBc ", "été ", "。",
    "東京都", "it's ", "MEGAPHONE ", "\t", "  ", "- item\n", "## Head\n", "¿Qué ", "Straße ",
    "İstanbul ", "\u0149n ", "\r\n",
])  # fmt: skip

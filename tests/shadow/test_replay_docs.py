"""The page about replays names every reason for which a request is not replayed."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from evenkeel.shadow.prompt import refusals as replay

PAGE = Path(__file__).parents[2] / "docs" / "replays.md"


def test_every_reason_of_a_refusal_has_its_line() -> None:
    """The reasons in the code are those of the table, besides that of an unknown API."""
    in_code = set(re.findall(r'Refusal\(\s*"(\w+)"', inspect.getsource(replay)))
    table = PAGE.read_text(encoding="utf-8").partition("## What is never replayed")[2].partition("\n## ")[0]
    on_page = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert on_page == in_code | {"api_unsupported"}

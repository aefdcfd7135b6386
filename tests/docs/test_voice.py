"""The words of the house."""

from __future__ import annotations

import pytest

from tests.house import ROOT
from tests.voice import EXEMPT, RULES, found_in, places


def test_nothing_that_a_person_reads_breaks_a_rule():
    """`python -m tests.voice` prints nothing."""
    assert not [str(place) for place in places()]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.example)
def test_each_rule_finds_its_example_also_across_lines(rule):
    """A planted wording is found in prose with what to say instead; code between backticks is left alone."""
    for text in (rule.example, rule.example.replace(" ", "\n")):
        assert rule.say in {found.instead for found in found_in(ROOT / "docs/planted.md", text, prose=True)}
    assert not list(found_in(ROOT / "docs/planted.md", f"`{rule.example}`", prose=True))


@pytest.mark.parametrize(("name", "text"), EXEMPT)
def test_each_exemption_is_needed(name, text):
    """A place that no longer uses the word loses its exemption."""
    assert text in (ROOT / name).read_text(encoding="utf-8").casefold()

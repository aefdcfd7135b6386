"""Where a cell can't see any change, the console says so and what to do, and never "Steady"."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.console.status import blind_notices
from evenkeel.core import figures
from evenkeel.core.cells import CellKey, Estimate, WindowEstimates
from tests.kit.cells import cell_report, with_figures

SEEING = cell_report(
    CellKey("chat", "m", "general.spelling"),
    "judge",
    trials=200,
    effective=200,
    noise_floor=Estimate(0.84, 0.8, 0.88, 200),
    excess=Estimate(0.0, -0.1, 0.1, 200),
    content_delta=Estimate(0.84, 0.8, 0.88, 200),
)
BLIND = with_figures(SEEING, blind=("content",))


def test_a_blind_cell_is_said_with_its_floor_and_what_to_do():
    """One sentence for a route and model."""
    (said,) = blind_notices([BLIND, SEEING])
    assert said == (
        f"m on chat is blind under misspellings: at a noise floor of {figures.percent(0.84)} even answers to "
        "another question would raise no alert. Lower the temperature, use a judge, or watch similarity."
    )
    assert blind_notices([SEEING]) == []


@pytest.mark.parametrize(
    ("blind", "similarity", "expected"),
    [
        (("content",), None, True),
        (("content",), Estimate(0.5, 0.4, 0.6, 200), False),
        (("content", "similarity"), Estimate(0.02, 0.0, 0.1, 200), True),
        ((), None, False),
    ],
)
def test_a_cell_is_blind_if_neither_content_nor_similarity_sees(blind, similarity, expected):
    """Similarity counts only where it is measured."""
    assert with_figures(SEEING, blind=blind, control_similarity=similarity).is_blind is expected


def test_figures_are_those_since_the_last_change_where_there_are_enough():
    """An estimate that the window lacks is that of all trials."""
    lately = Estimate(0.3, 0.2, 0.4, 50)
    windows = {"since_change": WindowEstimates(50, lately, None, None)}
    current = replace(SEEING, windows=windows).current
    assert (current.trials, current.content_delta, current.excess) == (50, lately, SEEING.estimates.excess)

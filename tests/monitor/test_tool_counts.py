"""Counts of changed tool calls, beside those of the controls of the same exchanges."""

import msgspec
import pytest

from evenkeel.core.verdict import Control, Selection, ToolStep
from evenkeel.monitor.estimate.tool_counts import ARGUMENTS, CHOICE, ToolCounts
from evenkeel.monitor.notify.tool_words import largest_change, step_words, tool_changes
from tests.monitor.planted_verdicts import VERDICT

REFUND = ToolStep("tool", "lookup", "refund")
SWAP = ToolStep("arguments", "move", "move", (".from", ".to"))
SAME = ToolStep()


def trial(step, control=SAME):
    return msgspec.structs.replace(VERDICT, tools=step, control=Control(3, tools=control))


def counted(*trials):
    counts = ToolCounts()
    for verdict in trials:
        counts.add(verdict)
    return counts


def test_shares_and_words_beside_the_control():
    """14 of 60 trials call another tool, one control as well; texts and requests without tools are none."""
    counts = counted(
        *[trial(REFUND)] * 13,
        trial(REFUND, REFUND),
        *[trial(SAME)] * 43,
        trial(ToolStep("text")),
        trial(ToolStep("called", "", "lookup")),
        trial(SWAP, None),
        trial(None, None),
        msgspec.structs.replace(trial(REFUND), selection=Selection(split_of="group")),
    )
    choice = counts.share(CHOICE, alpha=0.05, min_trials=20)
    noise = counts.control_share(CHOICE, alpha=0.05, min_trials=20)
    arguments = counts.share(ARGUMENTS, alpha=0.05, min_trials=20)
    assert choice is not None
    assert noise is not None
    assert arguments is not None
    assert (choice.value, choice.n) == (pytest.approx(15 / 60), 60)
    assert (noise.value, noise.n) == (pytest.approx(1 / 59), 59)
    assert arguments.value == pytest.approx(1 / 60)
    report = counts.report()
    assert report is not None
    assert tool_changes(report) == ["calls `refund` where it called `lookup`: 14 of 60, control 1 of 59"]
    assert largest_change([report]) == tool_changes(report)[0]


def test_a_change_that_chance_makes_as_often_is_not_named():
    """The controls do the same."""
    report = counted(*[trial(REFUND, REFUND)] * 9, *[trial(SAME)] * 9).report()
    assert report is not None
    assert tool_changes(report) == []
    assert largest_change([report]) == ""


def test_unknown_tools_do_not_grow_the_counts():
    """Only the first of many changes are counted by name, and shares go on."""
    counts = counted(*(trial(ToolStep("tool", "lookup", f"tool {number}")) for number in range(500)))
    assert len(counts.changes) == 64
    assert counts.changed == {"tool": 500}


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (SAME, ""),
        (ToolStep("text"), ""),
        (ToolStep("called", "", "lookup"), "calls `lookup` where it called no tool"),
        (ToolStep("called", "lookup", ""), "calls no tool where it called `lookup`"),
        (ToolStep("order", "find", "check"), "calls `check` before `find`"),
        (SWAP, "calls `move` with another `from, to`"),
        (ToolStep("arguments", "say", "say", ("",)), "calls `say` with other arguments"),
    ],
)
def test_words_of_one_step(step, words):
    """Each difference in words, without numbers."""
    assert step_words(step) == words

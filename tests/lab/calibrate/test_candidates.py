"""Which goldens a calibration is made on."""

import pytest

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.lab.calibrate.candidates import UnfitGoldensError, choose
from evenkeel.stores.goldens import Golden

STEPS = "1. Fill the kettle.\n2. Wait.\n3. Pour."


def golden(name, text=STEPS, *, task="workflow", **more):
    return Golden(id=name, answer=Answer(text), task=task, **more)


def test_the_newest_version_counts_unless_it_is_retired():
    """An old answer does not come back when its successor goes."""
    chosen = choose(
        [
            golden("a", version=2, note="new"),
            golden("a", version=1, note="old"),
            golden("b"),
            golden("b", version=2, retired_at=1.0),
            golden("c"),
        ]
    )
    assert [(each.id, each.note) for each in chosen.goldens] == [("a", "new"), ("c", "")]
    with pytest.raises(UnfitGoldensError, match="all 1 goldens are retired"):
        choose([golden("b", version=2, retired_at=1.0), golden("b")])


def test_only_workflows_of_enough_steps_are_taken():
    """Named so by the task, drawn as nodes and edges, or two tool calls; the others are counted."""
    calls = Answer("", (ToolCall("find", "{}"), ToolCall("open", "{}")))
    goldens = [
        golden("a"),
        golden("b", "Node:\n1: Open.\n2: Close.\n3: Lock.\nEdge: (START,1) (1,2) (2,3) (3,END)", task=None),
        Golden(id="c", answer=calls),
        golden("d", task=None),
        golden("e", "", task="workflow"),
        Golden(id="f", answer=Answer("", calls.tool_calls[:1])),
    ]
    assert ([each.id for each in choose(goldens).goldens], choose(goldens).others) == (["a", "b", "c"], 3)
    assert [each.id for each in choose(goldens, least_steps=3).goldens] == ["a", "b"]
    with pytest.raises(UnfitGoldensError, match="0 of 6 goldens are workflows of 4 steps or more"):
        choose(goldens, least_steps=4)

"""Pairs that are taken for prose are those whose structure would say nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics import heuristic
from evenkeel.metrics.heuristic import are_prose, read_content

LONG = "the pump in hall four was reset by the night shift"
LINES = st.lists(
    st.sampled_from(
        [
            "# Report",
            "Cause",
            "---",
            "===",
            "- idle",
            "1. reset the pump",
            f"- {LONG}",
            f"* **Cause:** {LONG}",
            "**Owner:** Kim",
            "- Owner: Kim Lee",
            "state: open",
            "due: monday",
            f"{LONG}.",
            f"Note: {LONG}",
            "> idle",
            "  - a bit deeper",
            "    four spaces in",
            "**Key**",
            "__Owner__ - Kim",
            "",
            "* * *",
            "2) ",
            "#",
        ]
    ),
    max_size=9,
).map("\n".join)


def pair_of(reference: str, candidate: str) -> Pair:
    return Pair(Answer(reference), Answer(candidate), "")


@settings(max_examples=400, deadline=None)
@given(LINES, LINES)
@example("- a\n- b\n- c", "- a\n- b\n- c")
@example("# A\n# B\n# C", "# A\n# B\n# C")
@example("**Owner:** Kim\n**Due:** today\n**State:** open", "Owner: Kim\nDue: today\nState: open")
def test_prose_reads_the_same_as_with_its_structure(reference: str, candidate: str) -> None:
    """Texts, what is read value by value, and slots are those that the readers of structure find."""
    quick = read_content(pair_of(reference, candidate))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heuristic, "are_prose", lambda *_: False)
        whole = read_content(pair_of(reference, candidate))
    assert (quick.reference, quick.candidate, quick.is_data) == (
        whole.reference,
        whole.candidate,
        whole.is_data,
    )
    assert (quick.slots, quick.json_rouge) == (whole.slots, whole.json_rouge)


@pytest.mark.parametrize(
    ("reference", "candidate", "prose"),
    [
        (LONG, "Nothing of the kind happened.", True),
        (f"# Report\n\n{LONG}\n- {LONG}", f"* {LONG}\n* {LONG}", True),
        ("- idle\n- reset\n- open", "- idle\n- reset\n- shut", False),
        ("- idle\n- reset\n- open", LONG, True),
        (LONG, '{"state": "open"}', False),
        (LONG, "<p>open</p>", False),
        ("state: open\ndue: monday", LONG, False),
        ("| a | b |\n|---|---|\n| 1 | 2 |", LONG, False),
    ],
)
def test_data_tables_and_records_are_no_prose(reference: str, candidate: str, prose: bool) -> None:  # noqa: FBT001 - a table
    """Headings and bullets around sentences are; three short values on both sides may be a record."""
    assert are_prose(reference, candidate) is prose

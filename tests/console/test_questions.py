"""Questions without their template."""

from __future__ import annotations

import pytest

from evenkeel.console.trial import question, reworded_question

HEAD = "system: You answer for the shop.\n\nuser: Answer the customer below.\n\nMessage: "
PROMPT = f"{HEAD}Where is my order 4711?\n\nWrite three sentences at most."


@pytest.mark.parametrize(
    ("prompt", "asked", "found"),
    [
        (PROMPT, [(len(HEAD), len(HEAD) + 23)], "Where is my order 4711?"),
        ("no turns at all", (), "no turns at all"),
        (
            "system: Be brief.\n\nuser: Hello there\n\nassistant: Hi.\n\nuser: Where is my\n\norder?",
            (),
            "Where is my\n\norder?",
        ),
        ("user: Case 17 of the north office", [(6, 13), (21, 33)], "Case 17 … north office"),
        ("user: Where is order 4711?", ((90, 200), (3, 1), (-4, 2)), "Where is order 4711?"),
        ("user: Where is order 4711?", ((21, 25),), "Where is order 4711?"),
    ],
)
def test_the_question_is_what_the_user_put_in(prompt, asked, found):
    """The question is what was learned or, where that is too little, the user's last turn."""
    assert question(prompt, asked) == found


def test_a_rewording_is_shown_within_the_question_where_it_lies_there():
    """The whole prompt shows it otherwise, so that it is never left out."""
    asked = [(len(HEAD), len(HEAD) + 23)]
    before, after = reworded_question(PROMPT, PROMPT.replace("order", "oredr"), asked)
    assert (before, after) == ("Where is my order 4711?", "Where is my oredr 4711?")
    outside = PROMPT.replace("three", "two")
    assert reworded_question(PROMPT, outside, asked) == (PROMPT, outside)

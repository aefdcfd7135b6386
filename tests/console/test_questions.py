"""Questions without their template."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.console import diffs
from evenkeel.console.questions import question_runs, question_spans

HEAD = (
    "system: You answer for the shop.\n\nuser: Answer the customer below, and keep every number.\n\nMessage: "
)
TAIL = "\n\nWrite three sentences at most and sign as the shop team."
ASKED = "Where is my order 4711?"
PROMPT = f"{HEAD}{ASKED}{TAIL}"


def cut(prompt, asked=()):
    return [prompt[start:end] for start, end in question_spans(prompt, asked)]


def text(runs):
    return "".join(run.text for run in runs)


def test_the_last_turn_of_the_user_is_the_question_where_nothing_else_is_known():
    """Instructions and earlier turns are left out, a blank line within the turn is not."""
    earlier = "system: Be brief.\n\nuser: Hello there\n\nassistant: Hi.\n\n"
    assert cut(f"{earlier}user: Where is my\n\norder 4711 of last Monday?") == [
        "Where is my\n\norder 4711 of last Monday?"
    ]
    assert cut("no turns at all") == ["no turns at all"]


def test_learned_stretches_are_taken_and_close_ones_joined():
    """Few words between two stretches are shown; a long template between them is not."""
    prompt = (
        "user: Case 17 of the north office, printer model LX. "
        + "t " * 60
        + "It prints nothing since Monday."
    )
    end = prompt.index("It prints")
    spans = question_spans(prompt, ((6, 13), (21, 50), (end, len(prompt))))
    assert [prompt[start:stop][:12] for start, stop in spans] == ["Case 17 of t", "It prints no"]


def test_spans_of_another_prompt_do_no_harm():
    """Stretches that do not fit are not believed."""
    assert cut("user: Where is order 4711 of mine?", ((90, 200), (3, 1), (-4, 2))) == [
        "Where is order 4711 of mine?"
    ]


def test_the_rewording_is_marked_and_never_left_out():
    """Also where it lies in the template."""
    spans = question_spans(PROMPT, [(len(HEAD), len(HEAD) + len(ASKED))])
    runs = question_runs(PROMPT, PROMPT.replace("order", "oredr"), spans, max_chars=300)
    assert [(run.kind, run.text) for run in runs] == [
        ("same", "Where is my "),
        ("removed", "order"),
        ("added", "oredr"),
        ("same", " 4711?"),
    ]
    runs = question_runs(PROMPT, PROMPT.replace("three", "two"), spans, max_chars=300)
    assert [run.text for run in runs if run.kind in {"removed", "added"}] == ["three", "two"]
    assert text(runs).startswith("Where is my order 4711?")


def test_what_was_moved_shows_at_both_places():
    """Of a long block its beginning and its end."""
    block, rest = (
        " ".join(f"{letter}{number}" for number in range(n)) for letter, n in (("m", 60), ("r", 90))
    )
    one, two = f"user: {block} {rest} ", f"user: {rest} {block} "
    runs = question_runs(one, two, question_spans(one, ()), max_chars=300)
    for kind in ("removed", "added"):
        marked = "".join(run.text for run in runs if run.kind == kind)
        assert "m0 m1 m2" in marked
        assert "m58 m59" in marked


words = st.text(alphabet="ab .,\n", max_size=60)


@given(head=words, asked=words, other=words, tail=words)
def test_every_rewording_shows_a_mark(head, asked, other, tail):
    """Whatever stands around it; an unchanged question shows none."""
    one, two = f"user: {head}{asked}{tail}", f"user: {head}{other}{tail}"
    runs = question_runs(one, two, question_spans(one, ()), max_chars=10_000)
    assert any(run.kind in {"removed", "added"} for run in runs) == (one != two)


def test_an_excerpt_begins_near_the_first_difference():
    """What both share is left out, also between two differences."""
    same = " ".join(f"w{number}" for number in range(100))
    found = diffs.excerpt(f"{same} Monday {same} yes", f"{same} Friday {same} no", max_chars=200)
    assert text(found.left) == (
        "… w91 w92 w93 w94 w95 w96 w97 w98 w99 Monday w0 w1 w2 w3 w4  … w95 w96 w97 w98 w99 yes"
    )
    assert [run.text for run in found.right if run.kind == "added"] == ["Friday ", "no"]


@given(left=words, right=words)
def test_an_excerpt_marks_a_difference_exactly_if_there_is_one(left, right):
    """Between words; white space apart."""
    found = diffs.excerpt(left, right, max_chars=1_000)
    marked = any(run.kind in {"removed", "added"} for run in (*found.left, *found.right))
    assert marked == (left.split() != right.split())


def test_shown_text_cannot_turn_the_direction_of_writing():
    """Overrides, NUL and half a character are shown as U+FFFD."""
    one, two = "user: a\u202eb\x00 c\ud83d", "user: a\u202eb\x00 d\ud83d"
    runs = question_runs(one, two, question_spans(one, ()), max_chars=99)
    assert not set("\u202e\x00\ud83d") & set(text(runs))
    assert "\ufffd" in text(runs)

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.console import diffs
from evenkeel.console.diffs import DiffRun

_TEXTS = st.text(alphabet="ab .,\n'é", max_size=60)


def _text(runs, *kinds):
    return "".join(run.text for run in runs if run.kind in kinds)


def test_inline_pairs_each_changed_word_with_its_original():
    """Words changed one for one stand beside their originals, not in two blocks."""
    runs = diffs.inline("the old printer", "the odl pritner", context_words=3, max_chars=1000)
    assert runs == (
        DiffRun("same", "the "),
        DiffRun("removed", "old"),
        DiffRun("added", "odl"),
        DiffRun("same", " "),
        DiffRun("removed", "printer"),
        DiffRun("added", "pritner"),
    )


def test_inline_makes_changed_white_space_visible():
    """A doubled space and a lost line break can be seen."""
    runs = diffs.inline("a b\nc", "a  b c", context_words=3, max_chars=1000)
    assert runs == (
        DiffRun("same", "a"),
        DiffRun("removed", "·"),
        DiffRun("added", "··"),
        DiffRun("same", "b"),
        DiffRun("removed", "↵\n"),
        DiffRun("added", "·"),
        DiffRun("same", "c"),
    )


def test_inline_leaves_out_long_unchanged_stretches():
    """Only the words around a change are kept, and the gaps are marked."""
    words = [f"w{place}" for place in range(40)]
    before = " ".join(words)
    after = " ".join([*words[:20], "new", *words[21:]])
    runs = diffs.inline(before, after, context_words=2, max_chars=1000)
    assert runs == (
        DiffRun("gap", "… "),
        DiffRun("same", "w18 w19 "),
        DiffRun("removed", "w20"),
        DiffRun("added", "new"),
        DiffRun("same", " w21 w22"),
        DiffRun("gap", " …"),
    )


def test_long_texts_are_cut_and_say_so():
    """Ten characters over the cap are counted in a gap."""
    found = diffs.side_by_side("x" * 110, "", max_chars=100)
    assert found.left == (DiffRun("removed", "x" * 100), DiffRun("gap", " … 10 more characters"))
    assert found.right == ()


def test_words_beyond_the_cap_are_shown_unmarked():
    """A text too long to compare is still shown, and a difference at its start still found."""
    tail = " ".join(f"t{place}" for place in range(diffs.MAX_WORDS + 500))
    found = diffs.side_by_side(f"old {tail} end", f"new {tail} END", max_chars=10**6)
    assert _text(found.left, "removed") == "old"
    assert _text(found.right, "added") == "new"
    assert _text(found.left, "same", "removed") == f"old {tail} end"


@given(left=_TEXTS, right=_TEXTS)
def test_side_by_side_loses_no_text(left, right):
    found = diffs.side_by_side(left, right, max_chars=10_000)
    assert _text(found.left, "same", "removed") == left
    assert _text(found.right, "same", "added") == right
    assert all(run.kind != "added" for run in found.left)
    assert all(run.kind != "removed" for run in found.right)


@given(before=_TEXTS, after=_TEXTS)
def test_inline_marks_a_change_exactly_if_there_is_one(before, after):
    """Prompts that differ in any character show a mark, equal ones none."""
    runs = diffs.inline(before, after, context_words=10_000, max_chars=10_000)
    assert any(run.kind in {"removed", "added"} for run in runs) == (before != after)


def test_a_prompt_that_carries_a_file_is_not_read_to_its_end():
    """A change at the start of five million characters is found; the rest is one word."""
    tail = "word " * 1_000_000
    runs = diffs.inline(f"old {tail}", f"new {tail}", context_words=3, max_chars=500)
    assert runs[:2] == (DiffRun("removed", "old"), DiffRun("added", "new"))
    assert sum(len(run.text) for run in runs) < 600


def test_other_line_breaks_are_no_difference_side_by_side():
    for other in ("one,\ntwo three", "one,two three"):
        found = diffs.side_by_side("one, two three", other, max_chars=100)
        assert {run.kind for run in (*found.left, *found.right)} == {"same"}

"""Prose and lists: how they are divided, put together again, and degraded."""

from __future__ import annotations

import contextlib
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.degrade import NotDegradableError, degradations, units_touched
from evenkeel.lab.calibrate.degrade.engine import out_of_order
from evenkeel.lab.calibrate.degrade.sentences import read_items, read_sentences, read_units
from evenkeel.lab.calibrate.degrade.wording import reworded, shortened
from tests.lab.calibrate.degrade.damage import applied, done, refused

STEPS = """Please do this:

1. Open the valve, if it is closed.
2. Check the meter:
   - once before noon
   - once after it

3. Close the valve.
4. Write down the value for the crew.

Thank you."""


def whole(text, form):
    read = read_units(text, form)
    return read.written([[unit] for unit in read.units])


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It is 3.5 km. Go on!", ["It is 3.5 km.", "Go on!"]),
        ("Dr. Weiss met J. Brown. Was it so?", ["Dr. Weiss met J. Brown.", "Was it so?"]),
        ("It is open, e.g. on Mondays. So go.", ["It is open, e.g. on Mondays.", "So go."]),
        ("Wait... maybe not. So what?! Fine.", ["Wait... maybe not.", "So what?!", "Fine."]),
        ('He said "Stop. Now." Then they left.', ['He said "Stop. Now."', "Then they left."]),
        ("Am 3. Mai kam er z.B. mit. Danach nicht.", ["Am 3. Mai kam er z.B. mit.", "Danach nicht."]),
        ("It began in 2024. The end was near.", ["It began in 2024.", "The end was near."]),
        ("今日は晴れ。明日は雨\uff1fはい。", ["今日は晴れ。", "明日は雨\uff1f", "はい。"]),
        ("هل وصلت؟ نعم.", ["هل وصلت؟", "نعم."]),
        ("Use `a. B` here. Then `c`.", ["Use `a. B` here.", "Then `c`."]),
        ("As shown.[2] More follows.", ["As shown.[2]", "More follows."]),
        ("Done. 🎉", ["Done. 🎉"]),
        ("a line that\nruns on. Next", ["a line that\nruns on.", "Next"]),
        ("One line\nAnother line", ["One line", "Another line"]),
        ("1. Open it. 2. Close it.", ["Open it.", "2. Close it."]),
        ("```\na. B\n```\nText.", ["```\na. B\n```", "Text."]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", ["| 1 | 2 |"]),
        ("# Title\n\n**Bold title**\n\n---\nText.", ["Text."]),
        ("", []),
        ("!!! ...", []),
    ],
)  # fmt: skip
def test_sentences(text, sentences) -> None:
    """Abbreviations, decimals, ordinals, quotations and code end none; headings and rules are none."""
    assert list(read_sentences(text).units) == sentences


def test_items_keep_what_is_nested_and_fenced() -> None:
    """Items of the least level with two; text that is not indented ends a list."""
    assert read_items(STEPS).units == (
        "Open the valve, if it is closed.",
        "Check the meter:\n   - once before noon\n   - once after it",
        "Close the valve.",
        "Write down the value for the crew.",
    )
    assert read_items("- only one\n  - a\n  - b").units == ("a", "b")
    assert read_items("- a\n  ```\n- no item\n  ```\n- b").units == ("a\n  ```\n- no item\n  ```", "b")
    assert read_items("- [x] done\n- [ ] to do").units == ("done", "to do")
    assert read_items("* an item that\nruns on\n* b\nEnd.").units == ("an item that\nruns on", "b")
    with pytest.raises(NotDegradableError) as caught:
        read_items("no list")
    assert caught.value.reason == "no_list"


def test_numbers_follow_each_other_again() -> None:
    """Without the second of four the third is the second; a count that restarts starts again."""
    read = read_items(STEPS)
    kept = read.written([[read.units[0]], [], [read.units[2]], ["x", "y"]])
    assert kept == (
        "Please do this:\n\n1. Open the valve, if it is closed.\n\n2. Close the valve.\n3. x\n4. y\n\n"
        "Thank you."
    )
    two = read_items("A\n\n1. a\n2. b\n\nB\n\n1. c\n2. d\n")
    assert two.written([[], ["b"], [], ["d"]]) == "A\n\n1. b\n\nB\n\n1. d\n"
    on = read_items("A\n\n1. a\n2. b\n\nB\n\n3. c\n")
    assert on.written([["a"], [], ["c"]]) == "A\n\n1. a\n\nB\n\n2. c\n"
    same = read_items("1. a\n1. b\n1. c")
    assert same.written([["a"], [], ["c"]]) == "1. a\n1. c"


MARKDOWN = st.text(
    st.sampled_from('aB é。\uff1f \n\n\t.!?-*#>|`"“”0123():,[]~•1\r\u2028\ud800🎉'), max_size=120
)  # fmt: skip


@given(MARKDOWN)
def test_the_parts_are_the_text(text) -> None:
    """Whatever it is, nothing is lost between its units."""
    for form in ("prose", "list"):
        with contextlib.suppress(NotDegradableError):
            assert whole(text, form) == text


UNIT = st.sampled_from([
    "The pump starts at six because the tariff is low.", "Der Behälter ist voll, aber niemand merkt es.",
    "水箱已经满了\uff0c请关闭阀门。", "Check the meter for leaks.", "Is the valve closed?", "Ja!",
    "Check 12.5 and 7.",
])  # fmt: skip


@st.composite
def texts(draw):
    units = draw(st.lists(UNIT, min_size=1, max_size=12))
    if draw(st.booleans()):
        mark = draw(st.sampled_from(["- ", "{}. "]))
        return "list", "\n".join(mark.format(n) + unit for n, unit in enumerate(units, 1))
    gaps = draw(st.lists(st.sampled_from([" ", "\n\n", "\n"]), min_size=len(units), max_size=len(units)))
    return "prose", "".join(a + b for a, b in zip(units, gaps, strict=True)).strip()


@given(texts(), st.sampled_from([0.1, 0.3, 0.5, 1.0]), st.integers(0, 99))
def test_every_degradation_changes_exactly_as_much_as_it_says(made, severity, seed) -> None:
    """Units gone, new and moved; the rest in its order; the same seed gives the same bytes."""
    form, text = made
    before = read_units(text, form).units
    touched = units_touched(len(before), severity)
    for each in degradations(form):
        found = done(each, text, severity, seed)
        if isinstance(found, list):
            assert found[0] in ("too_few_units", "not_reworded", "no_order")
            continue
        after = read_units(found, form).units
        gone, new = (Counter(before) - Counter(after)).total(), (Counter(after) - Counter(before)).total()
        match each.mode:
            case FailureMode.MISSING:
                assert (gone, new) == (touched, 0)
                rest = iter(before)
                assert all(unit in rest for unit in after)
            case FailureMode.COMPRESSED:
                assert len(before) - len(after) == touched
            case FailureMode.REWORDED:
                assert len(before) == len(after)
                assert sum(a != b for a, b in zip(before, after, strict=True)) == touched
            case FailureMode.REORDERED:
                assert (gone, new) == (0, 0)
                assert before != after
            case _:
                assert (gone, new) == (0, touched)


@given(st.integers(1, 60), st.data())
def test_exactly_so_many_are_out_of_order(size, data) -> None:
    """The longest part still in order (by the quadratic textbook method) is that of the others."""
    moved = data.draw(st.integers(0, size - 1))
    places = out_of_order(size, moved, random.Random(data.draw(st.integers(0, 99))))
    assert sorted(places) == list(range(size))
    longest = [1] * size
    for i in range(size):
        longest[i] = 1 + max((longest[j] for j in range(i) if places[j] < places[i]), default=0)
    assert max(longest) == size - moved


def test_what_is_compressed_says_less() -> None:
    """Neighbours become one sentence; brackets, conditions and side clauses of the second go."""
    assert applied(
        "compressed_sentences", "It stops at six. It runs for two hours (weekdays only).", 0.1
    ) == ("It stops at six and it runs for two hours.")
    assert applied("compressed_items", "1. Open it now.\n2. Close it, as it is hot.\n   - slowly\n", 0.1) == (
        "1. Open it now and close it, as it is hot.\n   - slowly\n"
    )
    assert applied("compressed_sentences", "Der Tank ist voll. Er läuft bald über, sagt Jo.", 0.1) == (
        "Der Tank ist voll; Er läuft bald über."
    )
    assert applied("compressed_sentences", "水箱已经满了。请马上关闭阀门\uff0c否则会溢出。", 0.1) == (
        "水箱已经满了\uff0c请马上关闭阀门。"
    )


@pytest.mark.parametrize(
    ("sentence", "shorter"),
    [
        ("The pump stops (at last).", "The pump stops."),
        ("If it rings twice, call the office.", "Call the office."),
        ("The pump stopped because it was hot.", "The pump stopped."),
        ("They meet the crew on Mondays.", "They meet the crew."),
        ("It costs 1,000 euros now.", "It costs 1,000 euros now."),
        ("Stop, now!", "Stop, now!"),
        ('She says "yes, of course, my dear" twice.', 'She says "yes, of course, my dear" twice.'),
        ("", ""),
    ],
)
def test_shortening(sentence, shorter) -> None:
    """Three words stay; a quotation is not cut open; a comma within a number is none."""
    assert shortened(sentence) == shorter


def test_rewording_keeps_what_must_stay() -> None:
    """Quotations, code, addresses and labels; the article fits; other languages are left alone."""
    rng = random.Random(1)
    assert reworded("It stops because it is hot.", random.Random(2)) in (
        "It stops since it is hot.", "It stops as it is hot.",
    )  # fmt: skip
    assert reworded('He said "however it is" and `do not`.', rng).endswith(
        'e said "however it is" and `do not`.'
    )
    assert reworded("**Note:** However, it is not open.", random.Random(3)).startswith("**Note:** ")
    assert reworded("Check the meter.", rng, orders=True) in ("Verify the meter.", "Inspect the meter.")
    framed = reworded("The tank was full at noon.", rng)
    assert framed is not None
    assert framed.endswith(", the tank was full at noon.")
    assert reworded("Der Tank war um zwölf voll.", rng) is None
    assert reworded("Anna", rng) is None


def test_what_cannot_be_degraded_so_is_refused() -> None:
    """One unit cannot go missing, code cannot be merged, equal units cannot change places."""
    for name, text, reason in (
        ("missing_sentences", "Only one.", "too_few_units"),
        ("missing_sentences", "", "empty"),
        ("missing_items", "No list.", "no_list"),
        ("compressed_sentences", "```\na\n```\n\n```\nb\n```", "too_few_units"),
        ("reordered_items", "- same\n- same", "no_order"),
        ("reworded_sentences", "Der Tank ist voll. Er läuft über.", "not_reworded"),
    ):
        assert refused(name, text) == reason, name

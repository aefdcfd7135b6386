"""Details: found by spelling, kept or lost."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.similarity import details as detail_kinds
from evenkeel.metrics.similarity.details import Detail, Details, detail_overlap, read_details


def found(text: str) -> set[tuple[str, str]]:
    return {tuple(detail) for detail in read_details(text).details}


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("It cost 1,000.50 and -3 more", {("number", "1000.5"), ("number", "-3")}),
        ("007 of 1.0", {("number", "7"), ("number", "1")}),
        ("three outages", {("number", "3")}),
        ("the 21st floor", {("number", "21")}),
        ("on 5 March 2024", {("date", "2024-03-05")}),
        ("on March 5th, 2024", {("date", "2024-03-05")}),
        ("since 2024-3-5", {("date", "2024-03-05")}),
        ("on 3 Oct", {("date", "--10-03")}),
        ("at 10:30", {("time", "10:30")}),
        ("at 3 pm", {("time", "15:00")}),
        ("for EUR 4,000", {("number", "4000 EUR")}),
        ("ticket INC00469 on v2.3.1", {("identifier", "inc00469"), ("identifier", "v2.3.1")}),
        ("from 10.0.0.1", {("identifier", "10.0.0.1")}),
        ("error 0x80070005 in max_retries", {("identifier", "0x80070005"), ("identifier", "max_retries")}),
        ("see /etc/hosts", {("identifier", "/etc/hosts")}),
        ("see https://Example.org/a/.", {("url", "https://example.org/a")}),
        ("ask help@example.org", {("email", "help@example.org")}),
        ('it says "disk full"', {("quoted", "disk full")}),
        ("the answer is (B)", {("choice", "b")}),
        ("we asked Maria Lopez of Contoso", {("name", "maria lopez of contoso")}),
        ("VPN fails", {("name", "vpn")}),
        ("1. first\n2. second", set()),
        ("Restart the server. Then wait.", set()),
        ("## Main Problem\n**Key Events**\nResolution: done", set()),
        ("THE WHOLE TEXT IS IN CAPITALS", set()),
        ("the whole text is in lower case", set()),
        ("", set()),
    ],
)
def test_details_are_read_in_one_spelling(text: str, details: set[tuple[str, str]]) -> None:
    """Each kind is found, normalised and counted once; list numbers, headings and styled capitals are not."""
    assert found(text) == details


def test_short_json_values_are_details_and_keys_are_not() -> None:
    """A filled slot counts as a whole; prose values are read like prose."""
    text = '{"Answer": "blue screen", "Ok": true, "Why": "The Contoso driver crashed at 10:30 says the log"}'
    assert found(text) == {
        ("value", "blue screen"),
        ("value", "true"),
        ("name", "contoso"),
        ("time", "10:30"),
    }


def test_overlap_of_a_hand_worked_pair() -> None:
    """Three details against two, two shared: (2 + 2) / 5."""
    reference, candidate = (
        read_details("INC001 hit 12 users on 2024-03-05"),
        read_details("INC001 hit 12 users"),
    )
    assert detail_overlap(reference, candidate) == pytest.approx(4 / 5)


@pytest.mark.parametrize(
    ("first", "second", "score"),
    [
        ("nothing special", "really nothing", 1.0),
        ("12 users", "some users", 0.0),
        ("1,000 users", "1000 users", 1.0),
        ("12 users", "13 users", 0.0),
    ],
)
def test_overlap_at_its_ends(first: str, second: str, score: float) -> None:
    """No details on both sides is agreement; a lost or changed number is none."""
    assert Details().score(Pair(Answer(first), Answer(second), "")) == score


def test_names_are_kept_without_capitals_marks_or_perfect_spelling() -> None:
    """A casing change or a typo in the other answer does not lose a name or a quoted message."""
    reference = read_details('we told Maria Lopez that it says "disk full"')
    for other in ("WE TOLD MARIA LOPEZ ABOUT DISK FULL", "we told maria lopze about disk full"):
        assert detail_overlap(reference, read_details(other)) == 1.0
    assert detail_overlap(reference, read_details("we told maria chen about the disk")) == 0.0


def test_a_detail_of_any_kind_can_be_mentioned_in_words() -> None:
    """Support by a context only asks whether the piece occurs there."""
    context = read_details("office-hours are 10:30 to 12")
    assert context.mentions(Detail("number", "10"))
    assert not context.mentions(Detail("number", "11"))


CHARACTERS = "(){}AbC19_/\\:.-'\"`@~ \n,\u017f\u00e9\u0662"
PARTS = ("boxed{", "http://", "www.", "10:30", "mar", "Oct.", "th", "of", "2024", "and", " 5")
PIECES = st.lists(st.sampled_from((*CHARACTERS, *PARTS)), max_size=14).map("".join)


@given(PIECES)
@example("5TH of May")
@example("see ~/a or C:\\b")
@example("v..2")
@example("2024/1/3")
def test_no_kind_is_passed_over_in_a_text_that_holds_it(text: str) -> None:
    """Whatever an expression finds, the quick look at the text before it has not ruled out."""
    for _, pattern, may_hold in detail_kinds._KINDS:
        assert may_hold(text) or not pattern.search(text)


def test_a_month_with_a_long_s_is_a_month() -> None:
    """Letters that fold to a month's are read as it, as the expression does."""
    assert found("on 5 \u017fep 2024") == {("date", "2024-09-05")}

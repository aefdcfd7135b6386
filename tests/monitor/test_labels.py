"""Labels: what can be said, how far judge and people agree, and the files that an audit reads."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from evenkeel.cli.feedback import METRICS, judge_lines, rating_lines
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Evidence, Failure, QualityScore
from evenkeel.lab.judge_audit.judgements import read_recorded
from evenkeel.lab.judge_audit.questions import rubrics
from evenkeel.lab.judge_audit.ratings import read_ratings
from evenkeel.monitor.labels import LabelCollector, drawn_labels, human_agreement, people_say
from evenkeel.stores.labels import LabelError, LabelStatement, LabelStore, label_of
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT as JUDGED

VERDICT = altered(JUDGED, route="desk", details={"decided_by": 2.0}, judge_model="j", rated_by="similarity@1")


def label(verdict=VERDICT, by="ann", at=1.0, **what):
    return label_of(verdict, LabelStatement(by, **(what or {"rating": 3})), at=at)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (LabelStatement("  ", 3), "give your name"),
        (LabelStatement("a\nb", 3), "is no name"),
        (LabelStatement("\u202eann", 3), "is no name"),
        (LabelStatement("a" * 201, 3), "is no name"),
        (LabelStatement("ann"), "say how alike"),
        (LabelStatement("ann", 4), "none of 1, 2, 3"),
        (LabelStatement("ann", quality="mixed"), "none of worse, equal, better"),
        (LabelStatement("ann", 3, note="n" * 2001), "2,001 characters"),
    ],
)
def test_what_cannot_be_said_is_refused(said, why):
    with pytest.raises(LabelError, match=why):
        label_of(VERDICT, said, at=1.0)


@pytest.mark.parametrize(
    ("changes", "decided_by", "quality"),
    [
        ({}, "judge", "equal"),
        ({"details": {"decided_by": 1.0}}, "empty", "equal"),
        ({"details": {"decided_by": 0.0}}, "equality", "equal"),
        ({"scorer": "metrics"}, "metrics", "equal"),
        ({"rating": 2}, "judge", None),
        ({"rating": 2, "quality": (QualityScore("f", 1, 3, 3),)}, "judge", "equal"),
        ({"rating": 2, "quality": (QualityScore("f", 1, 3, 1),)}, "judge", "worse"),
        ({"rating": 1, "quality": (QualityScore("f", 1, 1, 3),)}, "judge", "better"),
        ({"rating": 1, "quality": (QualityScore("f", 1, 1, 3), QualityScore("c", 1, 3, 1))}, "judge", None),
        ({"rating": None, "failure": Failure("judge", 1, "timeout")}, "judge", None),
    ],
)
def test_a_label_knows_who_decided_and_what_was_said_of_quality(changes, decided_by, quality):
    """A verdict of 3 is as good by definition; one that is mixed or was not looked at says nothing."""
    made = label(altered(VERDICT, **changes))
    assert (made.decided_by, made.judge_quality) == (decided_by, quality)


def test_agreement_is_counted_by_verdict():
    """Of four verdicts rated 3 people say 3, 3 (two of three), 1, and are split on one.

    Worked by hand: 2 of 3 agree; Wilson at 95 %: centre (2/3 + 3.8415/6) / (1 + 3.8415/3) = 0.5731, reach
    0.3654, so [0.2077, 0.9385].
    """
    first, second, third, fourth = (altered(VERDICT, id=name) for name in "abcd")
    labels = [
        label(first, rating=3),
        *(label(second, by, rating=rating) for by, rating in (("ann", 3), ("bob", 3), ("eve", 1))),
        label(third, rating=1),
        *(label(fourth, by, rating=rating) for by, rating in (("ann", 3), ("bob", 2))),
    ]
    (found,) = human_agreement(labels)
    assert (found.judge, found.decided_by, found.source) == ("j", "judge", "chosen")
    assert (found.n, found.agreed, found.split, found.too_high) == (3, 2, 1, 1)
    assert found.value == pytest.approx(2 / 3)
    assert (found.lower, found.upper) == pytest.approx((0.2077, 0.9385), abs=1e-4)


def test_judges_stages_and_drawn_verdicts_are_apart():
    """People's own choice says nothing about how often a judge is right; a blind label outweighs others."""
    chosen = altered(VERDICT, id="a")
    drawn = altered(VERDICT, id="b")
    cheap = altered(VERDICT, id="c", scorer="metrics", judge_model="")
    labels = [
        label(chosen, rating=1),
        label(drawn, rating=3, drawn=True),
        label(drawn, "bob", rating=1),
        label(drawn, "eve", rating=1),
        label(cheap, rating=3),
    ]
    found = {
        (agreement.judge, agreement.decided_by, agreement.source): agreement.value
        for agreement in human_agreement(labels)
    }
    assert found == {
        ("", "metrics", "chosen"): 1.0,
        ("j", "judge", "chosen"): 0.0,
        ("j", "judge", "drawn"): 1.0,
    }


def test_what_says_nothing_about_ratings_is_left_out():
    """Labels of quality alone, withdrawn ones, verdicts without a rating."""
    failed = altered(VERDICT, id="f", rating=None, failure=Failure("judge", 1, "timeout"))
    labels = [label(quality="worse"), altered(label(by="bob"), withdrawn_at=2.0), label(failed, rating=1)]
    assert human_agreement(labels) == ()
    assert people_say(labels[:2]) is None
    assert people_say([label(rating=2), label(by="bob", rating=2), label(by="eve", rating=1)]) == 2


def test_the_gauge_follows_what_people_say(documents):
    """The figure has an interval and the number of verdicts, and is absent without labels."""
    store = LabelStore(documents)
    registry = CollectorRegistry()
    registry.register(LabelCollector(store))
    assert "judge_human_agreement{" not in generate_latest(registry).decode()
    store.put(label(rating=3), None)
    labels = '{decided_by="judge",judge="j",source="chosen"}'
    page = generate_latest(registry).decode()
    assert f"evenkeel_judge_human_agreement_ratio{labels} 1.0" in page
    assert f"evenkeel_judge_human_agreement_upper_ratio{labels} 1.0" in page
    assert f"evenkeel_judge_human_agreement_observations{labels} 1.0" in page
    assert f"evenkeel_judge_human_agreement_lower_ratio{labels} 0.206" in page  # 1 / (1 + 1.96²)
    store.withdraw("v", "ann", at=2.0)
    assert "judge_human_agreement{" not in generate_latest(registry).decode()


TEXTS = Evidence("How long?", "How lnog?", Answer("Four days."), Answer("", (ToolCall("ask", '{"a": 1}'),)))


def test_the_audit_reads_what_labels_write(tmp_path):
    """People's ratings and the judge's, of both metrics, with texts; a name may be a word for nothing."""
    worse = altered(VERDICT, id="w", rating=2, quality=(QualityScore("f", 1, 3, 1),), explanation="No date.")
    failed = altered(VERDICT, id="f", rating=None, failure=Failure("judge", 1, "timeout"))
    labels = [
        label(worse, rating=1, quality="worse", at=1.0),
        label(worse, "n/a", rating=2, at=2.0),
        label(failed, rating=3, at=3.0),
    ]
    people, judge = tmp_path / "labels.jsonl", tmp_path / "judge.jsonl"
    texts = {"w": TEXTS}
    people.write_text("\n".join(rating_lines(labels, texts.get)))
    judge.write_text("\n".join(judge_lines(labels)))
    ratings = read_ratings(people)
    assert ratings.raters == ("ann", "n/a")
    assert ratings.unused == ()
    assert {(item.id, item.metric): item.ratings for item in ratings.items} == {
        ("w", "similarity"): (1, 2),
        ("w", "quality_change"): (1, None),
        ("f", "similarity"): (3, None),
    }
    shown = ratings.items[0]
    assert shown.text == '→ ask({"a": 1})'
    assert shown.context == "Request:\nHow long?\n\nFirst answer:\nFour days."
    recorded = {(slot.item, slot.metric): said for slot, said in read_recorded(judge, ratings).items()}
    assert recorded["w", "similarity"].rating == 2
    assert recorded["w", "similarity"].justification == "No date."
    assert recorded["w", "quality_change"].rating == 1
    assert recorded["f", "similarity"].reason == "not_rated"
    assert len(recorded) == 3


def test_a_judge_can_be_asked_about_every_metric_of_labels():
    assert set(METRICS) <= set(rubrics())


def test_the_response_to_drawn_verdicts_and_the_corrected_share():
    """The judge calls 20 of 100 shifted. People rate all of these, agree with 15, and find 2 of 20 others.

    The other 60 are skipped: 0.2 · 15/20 + 0.8 · 2/20 = 0.23, where the labels alone say 17 of 40.
    """
    drawn = [altered(VERDICT, id=f"v{number}", rating=1 if number < 20 else 3) for number in range(100)]
    said = [
        label_of(
            drawn[number],
            LabelStatement("ann", 1 if number < 15 or number in {20, 21} else 3, drawn=True),
            at=1.0,
        )
        for number in range(40)
    ]
    found = drawn_labels(said, drawn)
    assert (found.shifted.count, found.shifted.n) == (20, 20)
    assert (found.unshifted.count, found.unshifted.n) == (20, 80)
    assert found.depends
    assert (found.judged.value, found.corrected.n) == (0.2, 40)
    assert found.corrected.value == pytest.approx(0.23)
    assert found.corrected.lower < 0.23 < found.corrected.upper


def test_people_who_answer_alike_raise_no_warning():
    """Half of each kind is rated; without ratings of both kinds there is no corrected share."""
    drawn = [altered(VERDICT, id=f"v{number}", rating=1 if number < 20 else 3) for number in range(100)]
    half = [label(verdict, rating=verdict.rating, drawn=True) for verdict in drawn[::2]]
    found = drawn_labels(half, drawn)
    assert (found.depends, found.corrected.value) == (False, pytest.approx(0.2))
    assert drawn_labels(half[10:], drawn).corrected.value is None

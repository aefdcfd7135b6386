"""The heuristic rating: what is proven, what is plainly another answer, and what is unsure."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair, ToolCall, Wanted
from evenkeel.core.verdict import Failure, stage_of
from evenkeel.metrics.heuristic import MEANING_WEIGHT, HeuristicRater, nearer_by_meaning
from evenkeel.metrics.similarity.embeddings import Embeddings
from evenkeel.metrics.tool_calls import ToolCalls

if TYPE_CHECKING:
    from collections.abc import Sequence

REFERENCE = (
    "The VPN client on host BER-12 stopped connecting at 09:40 after update 4.2.1. Support rolled the "
    "update back, and 35 users could work again by noon."
)
Outcome = int | Failure | None


def rate(reference: Answer | str, candidate: Answer | str, rater: HeuristicRater | None = None) -> Outcome:
    sides = [Answer(side) if isinstance(side, str) else side for side in (reference, candidate)]
    return (rater or HeuristicRater(language_of=language_of)).rate_now(Pair(*sides, context="")).outcome


def call(name: str, arguments: str, text: str = "") -> Answer:
    return Answer(text, (ToolCall(name, arguments),))


@pytest.mark.parametrize(
    ("candidate", "rating"),
    [
        (REFERENCE.upper(), 3),
        (f"**Summary**\n\n{REFERENCE}", None),
        (f"Sure! {REFERENCE} I hope this helps!", 3),
        (REFERENCE.replace("35", "350"), 2),
        (REFERENCE.replace("could work", "could not work"), 2),
        (REFERENCE.replace("Support", "The vendor"), None),
        (REFERENCE.replace(", and 35 users could work again by noon", ""), None),
        ("The printer on the third floor was out of paper; a colleague refilled it.", None),
        ("I'm sorry, but I can't help with that.", 1),
        ("", 1),
        ("N/A", 1),
    ],
)
def test_a_rating_rests_on_a_proof(candidate: str, rating: int | None) -> None:
    """Layout and courtesy keep a 3, a value or a negation proves a 2, a refusal a 1; the rest is unsure."""
    assert rate(REFERENCE, candidate) == rating


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("Sie müssen den Vertrag kündigen.", "Sie müssen den Vertrag nicht kündigen."),
        ("当日キャンセルできます。", "当日キャンセルできません。"),
        ("Alice pays Bob.", "Bob pays Alice."),
        ("1. Unplug it. 2. Open it.", "1. Open it. 2. Unplug it."),
        ("Sales increased in May.", "Sales declined in May."),
        ("first = items[:n]", "first = items[n:]"),
        ("x = -3", "x = 3"),
        ("if a < b:\n    run()", "if a > b:\n    run()"),
        ("for x in y:\n    a()\n    b()", "for x in y:\n    a()\nb()"),
        ("git branch -d old", "git branch -D old"),
        ("Haben Sie Fragen? Dann rufen Sie an.", "Haben Sie Fragen? Dann rufen sie an."),
        ("The disk holds 5 MB now.", "The disk holds 5 Mb now."),
        ("Is it safe?", "Is it safe"),
        ("Take one pill. Do not drink.", "Take one pill."),
        ("def f(*names): return names", "def f(names): return names"),
        ("5! = 120", "5 = 120"),
        ("> 0.05", "0.05"),
        ("It needs Python 3.10 now.", "It needs Python 3.1 now."),
    ],
)
def test_one_thing_that_differs_is_never_the_same(reference: str, candidate: str) -> None:
    """A word, a mark or a place that turns the meaning keeps two answers from a 3, in either order."""
    assert rate(reference, candidate) != 3
    assert rate(candidate, reference) != 3


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("D. Prescreening", "The correct answer is D. Prescreening."),
        ("5 March 2024 at 3 pm", "2024-03-05 at 15:00"),
        ("Canberra", "**Answer:** Canberra"),
        ("42", "The answer is \\boxed{42}."),
        ("Die Antwort ist 42.", "42"),
        ("答えは42です。", "42"),
        ("It can't be restored, it's gone.", "It cannot be restored, it is gone."),
        ("- apples\n- pears", "* Apples\n* Pears"),
        ("The colour is organised.", "The color is organized."),
        ("def area(w,h):\n    return w*h", "def area(w, h):\n\n    return w * h"),
        ("`git fetch`", "```bash\ngit fetch\n```"),
        ("red, green, and blue", "red, green and blue"),
        ("１０００円", "1000円"),
    ],
)
def test_equal_answers_in_another_dress_are_proven_equal(reference: str, candidate: str) -> None:
    """Frames, layout, contractions, spelling and the writing of values say nothing, in either order."""
    assert rate(reference, candidate) == 3
    assert rate(candidate, reference) == 3


def test_two_long_answers_without_a_common_word_are_about_something_else() -> None:
    """The same holds of no short answer: other words may say the same."""
    one = (
        "Descale the coffee machine every three months with citric acid, rinse the tank twice, wipe the "
        "nozzle, replace the filter cartridge, empty the drip tray, and let the pump run dry until steam "
        "leaves the outlet beside the grinder."
    )
    other = (
        "Parliament adopted a budget after midnight: ministers promised railway subsidies, opposition "
        "speakers criticised pension cuts, economists expected slower growth, unions announced strikes, "
        "mayors demanded housing grants, journalists published leaked protocols."
    )
    assert rate(one, other) == 1
    assert rate(one[:60], other[:60]) is None
    assert rate(one, other, HeuristicRater()) is None


def test_json_answers_are_compared_with_their_types() -> None:
    """Order of keys is nothing; another value or type, a lost key and another order of items are."""
    same = '{"site": "Berlin", "count": 4, "open": true}'
    assert rate(same, '```json\n{"open": true, "count": 4, "site": "berlin"}\n```') == 3
    for candidate in (
        '{"site": "Berlin", "count": 5, "open": true}',
        '{"site": "Berlin", "count": 4}',
        '{"site": "Berlin", "count": 4, "open": 1}',
    ):
        assert rate(same, candidate) in {2, None}
    assert rate('{"a": null}', '{"a": "null"}') is None
    assert rate('{"a": [1, 2]}', '{"a": [2, 1]}') != 3


def test_the_same_data_is_the_same_in_another_format() -> None:
    """YAML and XML write no types: the values under their keys count."""
    reference = '{"site": "Berlin", "count": 4, "open": true}'
    for candidate, wanted in (
        ("count: 4\nopen: true\nsite: Berlin\n", "yaml"),
        ("<r><site>Berlin</site><count>4</count><open>true</open></r>", "xml"),
    ):
        pair = Pair(Answer(reference), Answer(candidate), "", None, Wanted(format=wanted))
        assert HeuristicRater().rate_now(pair).outcome == 3
        other = Pair(Answer(reference), Answer(candidate.replace("4", "5")), "", None, Wanted(format=wanted))
        assert HeuristicRater().rate_now(other).outcome is None


def test_tool_calls_are_compared_one_by_one() -> None:
    """Equal calls 3, another argument, tool or order 2, acting against talking 2."""
    reference = call("close", '{"id": 7, "note": "done"}')
    assert rate(reference, call("close", '{"note":"Done.","id":7}')) == 3
    assert rate(reference, call("close", '{"note":"done","id":7}', "Closing it now.")) == 3
    assert rate(reference, call("close", '{"id": 7, "note": "finished"}')) is None
    assert rate(reference, call("open", '{"id": 7, "note": "done"}')) == 2
    assert rate(reference, "I closed ticket 7.") == 2
    both = ToolCall("a", "{}"), ToolCall("b", "{}")
    assert rate(Answer("", both), Answer("", both[::-1])) == 2
    assert rate(call("close", '{"id": 7}', REFERENCE), call("close", '{"id": 7}', "The printer.")) is None


def test_tool_call_score_of_a_hand_worked_pair() -> None:
    """Names and two arguments each, one argument differs: 2 * 2 / 6."""
    pair = Pair(call("f", '{"a": 1, "b": "x"}'), call("f", '{"a": 1, "b": "y"}'), "")
    assert ToolCalls().score(pair) == pytest.approx(4 / 6)


def test_nothing_on_both_sides_is_a_failure() -> None:
    """Two empty answers give no rating, under the rater's own name; two blank ones are unsure."""
    outcome = rate("", " ")
    assert isinstance(outcome, Failure)
    assert (outcome.metric, outcome.reason) == ("heuristic_rater", "no_text")
    assert rate("…", "N/A") is None


def test_a_refusal_that_repeats_the_answer_is_unsure() -> None:
    """What begins like a refusal may say the same in other words."""
    assert rate("We cannot provide refunds after 30 days.", "Refunds after 30 days are not possible.") is None


def test_the_rating_shows_its_reasons() -> None:
    """What differs, who decided, and how near the answers are."""
    rating = HeuristicRater().rate_now(Pair(Answer(REFERENCE), Answer(REFERENCE.replace("35", "99")), ""))
    assert rating.outcome == 2
    assert "35 against 99" in rating.explanation
    assert stage_of(rating.details) == "difference"
    assert rating.similarity == rating.details["likeness"]
    assert 0.85 < rating.similarity < 1
    assert HeuristicRater().rate_now(Pair(Answer("a b"), Answer("A b."), "")).similarity == 1


class PlantedEncoder:
    """Vectors by first word, so that meaning is whatever the test says."""

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> list[tuple[float, float]]:
        """The planted vector of each text."""
        return [self.vectors[text.split()[0]] for text in texts]


def test_meaning_counts_in_the_similarity_and_proves_nothing() -> None:
    """Cosine 1 without a common word: up by its weight, and still unsure."""
    rater = HeuristicRater(Embeddings(PlantedEncoder({"Automobiles": (1, 0), "Cars": (1, 0)})))
    pair = Pair(Answer("Automobiles need petrol"), Answer("Cars consume fuel"), "")
    with_meaning, without = rater.rate_now(pair), HeuristicRater().rate_now(pair)
    assert (with_meaning.outcome, without.outcome) == (None, None)
    assert without.similarity is not None
    assert with_meaning.similarity == pytest.approx(
        without.similarity + (1 - without.similarity) * MEANING_WEIGHT
    )


def test_a_high_cosine_counts_far_more_than_a_middling_one() -> None:
    """From 0.4 in words, a cosine of 1 takes 15 % of the 0.6 to 1 away, one of a half a sixteenth of that."""
    assert nearer_by_meaning(0.4, 1) == pytest.approx(0.49)
    assert nearer_by_meaning(0.4, 0.5) == pytest.approx(0.405625)
    assert (nearer_by_meaning(0.4, 0), nearer_by_meaning(1, 0.3)) == (0.4, 1)


def test_an_encoder_that_fails_leaves_likeness_alone() -> None:
    """A broken model costs its score, not the similarity."""
    counted: list[Failure] = []
    rater = HeuristicRater(Embeddings(PlantedEncoder({})), count=counted.append)
    rating = rater.rate_now(Pair(Answer(REFERENCE), Answer(REFERENCE + " Indeed."), ""))
    assert rating.similarity == rating.details["likeness"]
    assert [failure.reason for failure in counted] == ["encoder_failed"]


GERMAN = (
    "Der VPN-Client auf BER-12 verbindet sich seit dem Update nicht mehr; die Kollegen haben es entfernt."
)


def known_language(text: str) -> str | None:
    return "de" if " sich " in text else "en" if " the " in text.lower() else None


@pytest.mark.parametrize(
    ("reference", "candidate", "wanted", "expected"),
    [
        (REFERENCE, GERMAN, "de", "cross_language"),
        (REFERENCE, GERMAN, None, "cross_language"),
        (GERMAN, GERMAN + " Danke.", "de", None),
        ("Yes, restarted.", "Ja, neu gestartet.", "de", "cross_language"),
        ("Yes, restarted.", "Printer jam upstairs.", None, None),
        ("42 %", "43 %", "de", 2),
        (REFERENCE, REFERENCE, "de", 3),
    ],
)
def test_two_languages_get_no_rating(
    reference: str, candidate: str, wanted: str | None, expected: int | str | None
) -> None:
    """Texts in two languages, or that may be: a failure; numbers alone and an ignored wish are comparable."""
    pair = Pair(Answer(reference), Answer(candidate), "", None, Wanted(language=wanted))
    outcome = HeuristicRater(language_of=known_language).rate_now(pair).outcome
    assert (outcome.reason if isinstance(outcome, Failure) else outcome) == expected


def test_a_language_that_is_mistaken_for_another_does_not_cost_the_comparison() -> None:
    """Answers that share their words are in one language, whatever the identifier says of one of them."""
    rater = HeuristicRater(language_of=lambda text: "nl" if text.endswith("!") else "en")
    assert rate(REFERENCE, REFERENCE + " Indeed!", rater) is None


def test_what_is_asked_in_a_thread_is_what_is_rated_here() -> None:
    """With and without a wait."""
    pair = Pair(Answer(REFERENCE), Answer(REFERENCE.replace("35", "99")), "")
    assert asyncio.run(HeuristicRater().rate(pair)) == HeuristicRater().rate_now(pair)

"""The heuristic rating: 3, 2 or 1 from evenkeel.metrics alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenkeel.core.pair import Answer, Pair, ToolCall, Wanted
from evenkeel.core.verdict import Failure
from evenkeel.metrics.heuristic import Cutoffs, HeuristicRater
from evenkeel.metrics.similarity import (
    words as turned,
)
from evenkeel.metrics.similarity.embeddings import Embeddings
from evenkeel.metrics.tool_calls import ToolCalls

if TYPE_CHECKING:
    from collections.abc import Sequence

REFERENCE = (
    "The VPN client on host BER-12 stopped connecting at 09:40 after update 4.2.1. Support rolled the "
    "update back, and 35 users could work again by noon."
)


def rate(
    reference: Answer | str, candidate: Answer | str, rater: HeuristicRater | None = None
) -> int | Failure:
    sides = [Answer(side) if isinstance(side, str) else side for side in (reference, candidate)]
    return (rater or HeuristicRater()).rate_now(Pair(*sides, context="")).outcome


def call(name: str, arguments: str, text: str = "") -> Answer:
    return Answer(text, (ToolCall(name, arguments),))


@pytest.mark.parametrize(
    ("candidate", "rating"),
    [
        (REFERENCE.upper(), 3),
        (
            REFERENCE.replace("stopped", "stoped")
            .replace("connecting", "conecting")
            .replace("users", "usesr"),
            3,
        ),
        (REFERENCE.replace("stopped connecting", "stoppedconnecting").replace("rolled the", "rolledthe"), 3),
        (
            (
                "At 09:40, after update 4.2.1, the VPN client on host BER-12 stopped to connect. By noon, "
                "support had rolled back the update and 35 users were working again."
            ),
            3,
        ),
        (REFERENCE.replace("35", "350"), 2),
        (REFERENCE.replace("BER-12", "BER-21"), 2),
        (REFERENCE.replace(", and 35 users could work again by noon", ""), 2),
        (REFERENCE.replace("could work", "could not work"), 2),
        ("Some people have trouble with their computers and nobody knows why.", 1),
        ("The printer on the third floor was out of paper; a colleague refilled it.", 1),
        ("", 1),
    ],
)
def test_ratings_follow_the_rubric(candidate: str, rating: int) -> None:
    """Spelling, case and order keep a 3; a changed specific or a negation makes a 2; another story a 1."""
    assert rate(REFERENCE, candidate) == rating


def test_json_answers_are_rated_by_their_values() -> None:
    """Shared keys are no shared content: another value is another answer, order of keys is nothing."""
    assert rate('{"answer": "B"}', '{"answer": "C"}') == 1
    assert rate('{"answer": "B", "unit": "days"}', '{"unit": "days", "answer": "b"}') == 3
    assert rate('{"site": "Berlin", "team": "network"}', '{"site": "Berlin", "team": "storage"}') == 2


def test_tool_calls_decide_where_text_is_missing() -> None:
    """Equal calls 3, other arguments 2, other tools 1, acting against talking 1."""
    reference = call("close", '{"id": 7, "note": "done"}')
    assert rate(reference, call("close", '{"note":"Done.","id":7}')) == 3
    assert rate(reference, call("close", '{"id": 8, "note": "done"}')) == 2
    assert rate(reference, call("open", '{"id": 7, "note": "done"}')) == 1
    assert rate(reference, "I closed ticket 7.") == 1
    assert rate(reference, call("close", '{"id": 7, "note": "done"}', "Closing it now.")) == 3


def test_of_text_and_tool_calls_the_worse_counts() -> None:
    """Equal talk does not excuse another action, nor an equal action another story."""
    reference = call("close", '{"id": 7}', REFERENCE)
    assert rate(reference, call("close", '{"id": 8}', REFERENCE)) == 2
    assert rate(reference, call("close", '{"id": 7}', "The printer was out of paper.")) == 1


def test_tool_call_score_of_a_hand_worked_pair() -> None:
    """Names and two arguments each, one argument differs: 2 * 2 / 6."""
    pair = Pair(call("f", '{"a": 1, "b": "x"}'), call("f", '{"a": 1, "b": "y"}'), "")
    assert ToolCalls().score(pair) == pytest.approx(4 / 6)


def test_tool_arguments_need_not_be_json_objects() -> None:
    """Arguments cut short, empty, nested or bare are compared as what they are."""
    for arguments in ('{"a": [1, {"b": []}], "c": {}}', '{"a": 1', "", "{}", "7"):
        assert rate(call("f", arguments), call("f", arguments + " ", "Calling f.")) == 3
    assert rate(call("f", '{"a": 1'), call("f", '{"a": 2')) == 2
    assert rate(call("f", '{"a": [1, 2]}'), call("f", '{"a": [2, 1]}')) == 2


def test_nothing_on_both_sides_is_a_failure() -> None:
    """Two empty answers give no rating, under the rater's own name."""
    outcome = rate("", " ")
    assert isinstance(outcome, Failure)
    assert (outcome.metric, outcome.reason) == ("cheap_rater", "no_text")


def test_symbols_alone_are_no_agreement() -> None:
    """Answers without words are the same only if they are equal."""
    assert rate("\U0001f44d", "\U0001f44e") == 1
    assert rate("\U0001f44d", "\U0001f44d") == 3


def test_the_rating_shows_its_reasons() -> None:
    """Every score is reported by name, and the explanation names what was lost and added."""
    rating = asyncio.run(
        HeuristicRater().rate(Pair(Answer(REFERENCE), Answer(REFERENCE.replace("35", "99")), ""))
    )
    assert rating.outcome == 2
    assert set(rating.details) == {"rouge_l", "edit", "content_words", "details"}
    assert "lost 35" in rating.explanation
    assert "added 99" in rating.explanation


class PlantedEncoder:
    """Vectors by first word, so that meaning is whatever the test says."""

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> list[tuple[float, float]]:
        """The planted vector of each text."""
        return [self.vectors[text.split()[0]] for text in texts]


def test_embeddings_recognise_a_rewording_and_a_change_of_subject() -> None:
    """Close in meaning counts as close without shared words; far in meaning as far with some."""
    rater = HeuristicRater(
        Embeddings(PlantedEncoder({"Automobiles": (1, 0), "Cars": (0.99, 0.1), "Automatic": (0, 1)}))
    )
    assert rate("Automobiles need petrol", "Cars consume fuel") == 1
    assert rate("Automobiles need petrol", "Cars consume fuel", rater) == 3
    assert rate("Automobiles need petrol sometimes", "Automatic doors need oil sometimes") == 2
    assert rate("Automobiles need petrol sometimes", "Automatic doors need oil sometimes", rater) == 1


def test_an_encoder_that_fails_leaves_the_other_metrics_to_decide() -> None:
    """A broken model costs its score, not the rating."""
    rater = HeuristicRater(Embeddings(PlantedEncoder({})))
    rating = rater.rate_now(Pair(Answer(REFERENCE), Answer(REFERENCE.upper() + " Indeed."), ""))
    assert rating.outcome == 3
    assert "embeddings" not in rating.details


_STORY_TEXT = (
    "garden window copper lantern pebble mountain violin harvest sailor blanket "
    "pepper thunder cushion orchard whistle basket chimney marble feather gallop"
)
_OTHER_TEXT = (
    "zinc yodel jumbo quartz kiosk hyphen igloo umbra vortex nymph oxide rhubarb dwarf ebony fjord "
    "lagoon mosaic sphinx tulip wizard"
)
_STORY, _OTHER = _STORY_TEXT.split(), _OTHER_TEXT.split()


@pytest.mark.parametrize(("shared", "rating"), [(20, 3), (13, 3), (12, 2), (7, 2), (6, 1), (0, 1)])
def test_the_share_of_common_words_sets_the_rating(shared: int, rating: int) -> None:
    """Of twenty words in another order, thirteen in common (0.65) make a 3 and seven (0.35) a 2."""
    candidate = [*_OTHER[: 20 - shared], *_STORY[:shared][::-1]]
    assert rate(" ".join(_STORY), " ".join(candidate)) == rating


def test_cutoffs_can_be_set() -> None:
    """A stricter cut-off moves a 3 to a 2."""
    rewritten = (
        "VPN client stopped connecting on host BER-12, 09:40, update 4.2.1. Rolled back; 35 users work again."
    )
    assert rate(REFERENCE, rewritten) == 3
    assert (
        rate(REFERENCE, rewritten, HeuristicRater(cutoffs=Cutoffs(same_words=0.99, same_letters=0.99))) == 2
    )


FORMS = {
    "json": (
        '{"site": "Berlin", "ticket": "INC00469", "summary": "The VPN client stopped connecting.", '
        '"tags": ["vpn", "update"], "staff": [{"name": "Ana Ruiz", "role": "admin"}, '
        '{"name": "Bo Lind", "role": "user"}]}'
    ),
    "yaml": (
        "summary: The VPN client stopped connecting.\nsite: Berlin\nticket: INC00469\ntags: [vpn, update]\n"
        "staff:\n- {name: Ana Ruiz, role: admin}\n- {name: Bo Lind, role: user}\n"
    ),
    "xml": (
        "<case><site>Berlin</site><ticket>INC00469</ticket><summary>The VPN client stopped connecting."
        "</summary><tags><tag>vpn</tag><tag>update</tag></tags><staff><person><name>Ana Ruiz</name><role>"
        "admin</role></person><person><name>Bo Lind</name><role>user</role></person></staff></case>"
    ),
    "html": (
        "<ul><li>Site: Berlin</li><li>Ticket: INC00469</li><li>Summary: The VPN client stopped connecting."
        "</li></ul><h2>Tags</h2><ul><li>vpn</li><li>update</li></ul><h2>Staff</h2><table><tr><th>Name</th>"
        "<th>Role</th></tr><tr><td>Ana Ruiz</td><td>admin</td></tr><tr><td>Bo Lind</td><td>user</td></tr>"
        "</table>"
    ),
    "markdown": (
        "- **Site:** Berlin\n- **Ticket:** INC00469\n- **Summary:** The VPN client stopped connecting.\n\n"
        "## Tags\n\n- vpn\n- update\n\n## Staff\n\n| Name | Role |\n|---|---|\n| Ana Ruiz | admin |\n"
        "| Bo Lind | user |\n"
    ),
    "free": (
        "In Berlin (ticket INC00469) the VPN client stopped connecting. Tags are vpn and update. Staff: Ana "
        "Ruiz as admin, and Bo Lind as user."
    ),
}


def converted(reference: str, candidate: str, change: dict[str, str]) -> int | Failure:
    text = FORMS[candidate]
    for old, new in change.items():
        text = text.replace(old, new)
    pair = Pair(Answer(FORMS[reference]), Answer(text), "", None, Wanted(format=candidate))
    return HeuristicRater().rate_now(pair).outcome


@pytest.mark.parametrize("reference", FORMS)
@pytest.mark.parametrize("candidate", FORMS)
def test_the_same_content_is_the_same_in_every_format(reference: str, candidate: str) -> None:
    """Every format against every other: a 3 as it is, a 2 with another name or ticket in it."""
    assert converted(reference, candidate, {}) == 3
    assert converted(reference, candidate, {"Bo Lind": "Cy Dorn", "INC00469": "INC00470"}) == 2


@pytest.mark.parametrize("reference", [form for form in FORMS if form != "free"])
@pytest.mark.parametrize("candidate", [form for form in FORMS if form != "free"])
def test_values_in_each_others_places_are_another_record(reference: str, candidate: str) -> None:
    """The same words with the roles of two people exchanged are no 3, whatever the format."""
    swap = {"admin": "visitor", "user": "admin", "visitor": "user"}
    assert converted(reference, candidate, swap) == 2


def test_a_text_that_quotes_html_stays_a_text() -> None:
    """Misspelt or not, prose around a piece of code is compared as prose."""
    code = "```html\n<h1>Jokes</h1>\n<p>Press the button.</p>\n```"
    around = f"This page shows a joke to whoever presses the button, and nothing else:\n\n{code}\n\nEnjoy it!"
    assert rate(around, around.replace("presses", "preses").replace("<h1>", "<h2>")) == 3


@pytest.mark.parametrize(
    ("change", "rating"),
    [
        (("not", "nto"), 3),
        (("without", "withuot"), 3),
        (("four", "foru"), 3),
        (("Berlin", "Berlni"), 3),
        (("not", "now"), 2),
        (("without", "with"), 2),
        (("four", "five"), 2),
        (("available", "unavailable"), 2),
        (("accepted", "rejected"), 2),
        (("increase", "decrease"), 2),
    ],
)
def test_a_slip_is_no_shift_and_an_opposite_is_one(change: tuple[str, str], rating: int) -> None:
    """Mistyped negations, numbers and names are themselves; turned statements are not excused as slips."""
    text = (
        "The service in Berlin was not restarted, so four jobs ran without a lock and the increase in errors "
        "was accepted until the backup became available."
    )
    assert rate(text, text.replace(*change)) == rating


def test_opposites_are_pairs_of_different_words() -> None:
    """No pair of the list has become one word by stemming, which would make a word its own opposite."""
    assert all(len(both) == 2 for both in turned._OPPOSED)
    assert not turned.is_turned(REFERENCE, REFERENCE)


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
        (GERMAN, GERMAN + " Danke.", "de", 3),
        (REFERENCE, REFERENCE + " Thanks.", "de-AT", 3),
        ("Yes, restarted.", "Ja, neu gestartet.", "de", "cross_language"),
        ("Yes, restarted.", "Printer jam upstairs.", None, 1),
        ("42 %", "43 %", "de", 1),
        (REFERENCE, REFERENCE, "de", 3),
    ],
)
def test_two_languages_get_no_rating(
    reference: str, candidate: str, wanted: str | None, expected: int | str
) -> None:
    """Texts in two languages, or that may be: a failure; numbers alone and an ignored wish are comparable."""
    pair = Pair(Answer(reference), Answer(candidate), "", None, Wanted(language=wanted))
    outcome = HeuristicRater(language_of=known_language).rate_now(pair).outcome
    assert (outcome.reason if isinstance(outcome, Failure) else outcome) == expected


def test_who_cannot_tell_languages_believes_the_wish() -> None:
    """Without identification a variant in another language is not compared in words."""
    rating = HeuristicRater().rate_now(
        Pair(Answer(REFERENCE), Answer(GERMAN), "", None, Wanted(language="de"))
    )
    assert isinstance(rating.outcome, Failure)
    assert (rating.outcome.metric, rating.outcome.reason) == ("cheap_rater", "cross_language")
    assert "content_words" in rating.details


def test_a_language_that_is_mistaken_for_another_does_not_cost_the_rating() -> None:
    """Answers that share their words are in one language, whatever the identifier says of one of them."""
    rater = HeuristicRater(language_of=lambda text: "nl" if text.endswith("!") else "en")
    assert rate(REFERENCE, REFERENCE + " Indeed!", rater) == 3


def test_tool_arguments_in_another_language_get_no_rating() -> None:
    """Other arguments under a wish for another language may be the same ones; other tools never are."""
    reference = call("close", '{"note": "done"}')
    for name, expected in (("close", "cross_language"), ("open", 1)):
        pair = Pair(reference, call(name, '{"note": "fertig"}'), "", None, Wanted(language="de"))
        outcome = HeuristicRater().rate_now(pair).outcome
        assert (outcome.reason if isinstance(outcome, Failure) else outcome) == expected

"""The simulated judge: answers evenkeel's judge prompts with the planted truth.

It is no language model. It reads the material out of the prompt by its markers and recognises the simulated
model's answers, whatever their format and language; other answers are rated by coarse rules. With noise, a
share of its ratings is flipped by chance, so that a drifting judge can be distinguished from a drifting
model.
"""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.simulate.content import Condition
from evenkeel.simulate.phrases import LANGUAGES
from evenkeel.simulate.recognition import Details, find_topic, read_details
from evenkeel.simulate.rewriter import contrast, is_rewriting, marked_texts
from evenkeel.simulate.topics import TOPICS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from evenkeel.simulate.model import PromptMessage


class RecognisedAnswer(NamedTuple):
    """An answer of the simulated model."""

    condition: Condition
    topic: str
    """Name of the topic; "" if it answers a prompt that has none, and quotes from it."""
    details: Details
    """The identifiers that it quotes."""


_NAMES: Final = "|".join(re.escape(topic.name) for topic in TOPICS)
_QUOTING: Final = {
    Condition.GOOD: re.compile(r"\byou wrote: "),
    Condition.DIFFERENT: re.compile(
        r"\byour text of \d+ words ends like this: |\bin its own words, backwards, the request is: "
        r"|\bplease send some text first"
    ),
    Condition.WORSE: re.compile(r"\bsomebody seems unhappy about (?:something else|nothing)\b"),
}


def recognise(text: str) -> RecognisedAnswer | None:
    """The simulated model's answer in a text of any format and language; None if it is not one.

    A text that tells both sides of an incident is a case, not an answer to one.
    """
    plain = " ".join(text.lower().split())
    conditions = set(_told(plain))
    if not conditions:
        for condition, pattern in _QUOTING.items():
            if pattern.search(plain):
                conditions.add(("", condition))
    # Without a condition it is a text of somebody else, with two a case that tells both sides.
    if len(conditions) != 1:
        return None
    topic, condition = conditions.pop()
    return RecognisedAnswer(condition, topic, read_details(text))


def _told(plain: str) -> Iterator[tuple[str, Condition]]:
    for topic in TOPICS:
        for side, condition in ((topic.first, Condition.GOOD), (topic.second, Condition.DIFFERENT)):
            for clause in side:
                if clause in plain:
                    yield topic.name, condition
    for condition, pattern in _STOCK:
        for match in pattern.finditer(plain):
            yield match["topic"], condition


def _stock_patterns() -> Iterator[tuple[Condition, re.Pattern[str]]]:
    for language in LANGUAGES:
        for condition, triple in (
            (Condition.GOOD, language.good),
            (Condition.DIFFERENT, language.different),
            (Condition.WORSE, language.worse),
        ):
            if triple is not None:
                around = []
                for part in triple.problem.split("{topic}"):
                    around.append(re.escape(" ".join(part.lower().split())))
                # Where a template is cut, the space beside the topic went with it.
                yield condition, re.compile(rf"{around[0]}\s?(?P<topic>{_NAMES})\s?{around[1]}")


_STOCK: Final = tuple(_stock_patterns())


class SimulatedRuling(NamedTuple):
    """A rating and what decided it."""

    rating: int
    """3, 2 or 1."""
    reason: str


_WORD: Final = re.compile(r"\w+")
_ALL: Final = 1.0
_MOST: Final = 0.8
_HALF: Final = 0.5
# Likeness in characters from which two quotations of a prompt are the same but for its spelling.
_QUOTED_ALIKE: Final = 0.6


def rate_similarity(reference: str, candidate: str) -> SimulatedRuling:
    """Rate how far two answers say the same.

    Of the simulated model's answers: 3 = the same state on the same topic with the same identifiers,
    2 = good against different (two sides of one incident) or other identifiers, 1 = anything else.
    Format, language and wording do not count. Others: `_compare`.
    """
    # The simulated model's answers differ in layout between formats, which is no difference of content.
    if " ".join(reference.split()) == " ".join(candidate.split()):
        return SimulatedRuling(3, "the texts are equal")
    left, right = recognise(reference), recognise(candidate)
    if left is None or right is None:
        return _compare(reference, candidate)
    return _rate_known(left, right, alike=bool(left.topic) or _quote_alike(reference, candidate))


def _rate_known(left: RecognisedAnswer, right: RecognisedAnswer, *, alike: bool) -> SimulatedRuling:
    if left.topic != right.topic:
        return SimulatedRuling(1, "the answers are about different topics")
    if left.condition is not right.condition:
        rating = 1 if Condition.WORSE in (left.condition, right.condition) else 2
        return SimulatedRuling(rating, f"one answer is {left.condition}, the other {right.condition}")
    if left.topic and left.details != right.details:
        return SimulatedRuling(2, f"both answers are {left.condition}, with other identifiers")
    return SimulatedRuling(
        3 if alike else 2, f"both answers are {left.condition}{'' if alike else ', of other texts'}"
    )


def rate_quality(request: str, answer: str, *, complete: bool) -> SimulatedRuling:
    """Rate how faithful or how complete an answer is.

    Of the simulated model's answers: 1 for a worse one, or one on another topic than the request's; 3 for
    the others. Any other answer is complete with half of the request's numbers, and faithful if all of its
    own are the request's; without numbers its words count.
    """
    recognised = recognise(answer)
    if recognised is None:
        asked, answer_words = _words(request), _words(answer)
        numbers = set()
        for word in asked if complete else answer_words:
            if word[0].isdigit():
                numbers.add(word)
        counted = numbers or answer_words
        shared = len(counted & asked & answer_words) / max(1, len(counted))
        ruling = _step(shared, _ALL if numbers and not complete else _HALF)
        return SimulatedRuling(ruling, f"{shared:.0%} of what counts is in both")
    if recognised.condition is Condition.WORSE:
        return SimulatedRuling(1, "the answer is worse")
    if not _fits(recognised, request):
        return SimulatedRuling(1, "the answer is about another topic than the request")
    return SimulatedRuling(3, f"the answer is {recognised.condition}")


def rate_preference(request: str, first: str, second: str) -> SimulatedRuling:
    """Rate which of two answers is better: 3 the second, 1 the first, 2 neither.

    The better one is the more faithful one, else the more complete one.
    """
    for complete in (False, True):
        ratings = []
        for answer in (first, second):
            ratings.append(rate_quality(request, answer, complete=complete))
        if ratings[0].rating != ratings[1].rating:
            better = ratings[1].rating > ratings[0].rating
            return SimulatedRuling(3 if better else 1, ratings[0 if better else 1].reason)
    return SimulatedRuling(2, "both answers are as good")


def _compare(reference: str, candidate: str) -> SimulatedRuling:
    """Two texts of which one at least is not the simulated model's.

    3 = one is what the simulated rewriter makes of the other, or they have the same topic of the catalogue
    and the same identifiers, or the same numbers and four fifths of the words; 2 = half of the words;
    1 = less.
    """
    topics = find_topic(reference), find_topic(candidate)
    if (
        topics[0] is not None
        and topics[0] is topics[1]
        and read_details(reference) == read_details(candidate)
    ):
        return SimulatedRuling(3, "same topic and identifiers")
    if is_rewriting(reference, candidate) or is_rewriting(candidate, reference):
        return SimulatedRuling(3, "one is a simulated rewriting of the other")
    left, right = _words(reference), _words(candidate)
    shared = len(left & right) / max(1, len(left | right))
    numbers_differ = any(word[0].isdigit() for word in left ^ right)
    return SimulatedRuling(
        _step(shared, _ALL if numbers_differ else _MOST), f"{shared:.0%} of the words are shared"
    )


def _rate_rewriting(original: str, text: str) -> SimulatedRuling:
    """Rate whether a rewriting means the same: all of the simulated rewriter's do, but its contrasts.

    Its translations are stock words, which nobody could compare with the original.
    """
    shared = _words(text) & _words(contrast(original))
    if len(shared) > _HALF * len(_words(text)):
        return SimulatedRuling(1, "it asks another question")
    return SimulatedRuling(3, "it is a simulated rewriting of the original")


def _fits(recognised: RecognisedAnswer, request: str) -> bool:
    topic = find_topic(request)
    return topic is None or not recognised.topic or recognised.topic == topic.name


def _quote_alike(reference: str, candidate: str) -> bool:
    left, right = reference.lower().split(), candidate.lower().split()
    return SequenceMatcher(None, " ".join(left), " ".join(right), autojunk=False).ratio() >= _QUOTED_ALIKE


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _step(share: float, three: float) -> int:
    """3 from a share on, 2 from half of it on, else 1."""
    return 3 if share >= three else 2 if share >= three / 2 else 1


JUDGE_MODEL: Final = "simulated-judge"
"""The name under which it is served."""

_FLIPPED: Final = {3: 1, 2: 3, 1: 3}
_PAIR: Final = 2
_EXAMPLE: Final = "EXAMPLE "
# Labels of several texts, each to be compared with the one that has no number.
_NUMBERED: Final = re.compile(r"(?:CANDIDATE|REFERENCE) ANSWER \d+")
# Request of a prompt of the judge audit, and the ends of its scale.
_AUDITED: Final = re.compile(r'"rating": <whole number from (-?\d+) to (-?\d+)>')
# Words of evenkeel's prompts about completeness, whatever the task.
_COMPLETENESS: Final = re.compile(r"carries over what|holds (?:everything in|what its reader)")


def judge(messages: Sequence[PromptMessage], rng: random.Random, noise: float = 0.0) -> str:
    """The reply to a judge's prompt: a JSON object with `explanation` and `rating`.

    A prompt with a REQUEST and an ANSWER asks for quality, any other with two texts for similarity. A
    prompt without material gets a sentence instead. One of the judge audit gets the rating on its own
    scale (the top for 3, the bottom for 1), and the top for a text that stands alone.

    Args:
        messages: The prompt.
        rng: Decides which ratings are flipped.
        noise: Share of ratings that are flipped: 3 becomes 1, and 2 and 1 become 3.
    """
    prompt = "\n\n".join(message.text for message in messages if message.role == "user")
    # Few-shot prompts show rated examples before the text to rate.
    texts: dict[str, str] = {}
    many: list[str] = []
    for label, text in marked_texts(prompt).items():
        if _NUMBERED.fullmatch(label):
            many.append(text)
        elif not label.startswith(_EXAMPLE):
            texts[label] = text
    if many:
        reference = next(iter(texts.values()))
        ratings: list[dict[str, str | int]] = []
        for number, text in enumerate(many, start=1):
            ratings.append({"pair": number, **_said(rate_similarity(reference, text), rng, noise)})
        return json.dumps({"ratings": ratings})
    ruling = _rule(texts, "\n".join(message.text for message in messages))
    audited = _AUDITED.search(prompt)
    if ruling is None and audited and texts:
        ruling = SimulatedRuling(3, "there is nothing to compare the text with")
    if ruling is None:
        return "The simulated judge takes judge prompts of evenkeel only."
    ruling_words = _said(ruling, rng, noise)
    if audited:
        low, high = int(audited[1]), int(audited[2])
        ruling_words["rating"] = low + (int(ruling_words["rating"]) - 1) * (high - low) // 2
    return json.dumps(ruling_words)


def _said(ruling: SimulatedRuling, rng: random.Random, noise: float) -> dict[str, str | int]:
    # Drawn for each rating, so that pairs judged together do not flip together.
    rating, reason = ruling
    if noise and rng.random() < noise:
        rating, reason = _FLIPPED[rating], f"{reason}; flipped by chance"
    return {"explanation": f"Simulated judge: {reason}.", "rating": rating}


def _rule(texts: dict[str, str], prompt: str) -> SimulatedRuling | None:
    if "REQUEST" in texts and "ANSWER" in texts:
        complete = _COMPLETENESS.search(prompt) is not None
        return rate_quality(texts["REQUEST"], texts["ANSWER"], complete=complete)
    if "REQUEST" in texts and {"FIRST ANSWER", "SECOND ANSWER"} <= texts.keys():
        return rate_preference(texts["REQUEST"], texts["FIRST ANSWER"], texts["SECOND ANSWER"])
    if {"ORIGINAL TEXT", "REWRITTEN TEXT"} == texts.keys():
        return _rate_rewriting(texts["ORIGINAL TEXT"], texts["REWRITTEN TEXT"])
    if len(texts) == _PAIR:
        return rate_similarity(*texts.values())
    return None

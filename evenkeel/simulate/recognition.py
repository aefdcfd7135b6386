"""Recognition of a prompt by the simulated model: topic, identifiers, language of the answer.

A topic is found by its name in quotation marks, or by a weighted vote of character trigrams: one votes for
the few topics whose clauses it occurs in. Typing errors, upper case and odd spacing leave most of a text's
trigrams standing, so a perturbed case is still recognised. A simulated translation has none of them: it
carries the topic's name.

Identifiers are found by their shape alone (ticket numbers, hosts, versions, hexadecimal codes, dates,
times, plain numbers), which a perturbation must leave alone. Where one occurs several times, the smallest
is the first: order in the text does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.simulate.phrases import ENGLISH, LANGUAGES, Phrases, phrases_for
from evenkeel.simulate.topics import TOPICS

if TYPE_CHECKING:
    from evenkeel.simulate.topics import Topic


MAX_OWNERS: Final = 3
"""A trigram of more topics than this says nothing."""
BALLOT: Final = 6
"""Votes a trigram shares out evenly among its owners; divisible by every number up to `MAX_OWNERS`."""
MIN_VOTES: Final = 120
"""Votes a topic needs: twenty trigrams that are its alone."""
MIN_LEAD: Final = 1.5
"""Times as many votes as the runner-up that a topic needs."""

_QUOTED: Final = re.compile(
    rf"[“„\"«「']\s*({'|'.join(re.escape(topic.name) for topic in TOPICS)})\s*[“”\"»」']", re.IGNORECASE
)
_BY_NAME: Final = {topic.name: topic for topic in TOPICS}
_NOT_LETTERS: Final = re.compile(r"[^a-z]+")


def trigrams(text: str) -> set[str]:
    """The distinct trigrams of a text in lower case, every run of other characters being one space."""
    letters = _NOT_LETTERS.sub(" ", f" {text} ".lower())
    trigrams = set()
    for start in range(len(letters) - 2):
        trigrams.add(letters[start : start + 3])
    return trigrams


def _voters() -> dict[str, tuple[int, ...]]:
    """The places of a trigram's topics, for trigrams that say something."""
    owners: dict[str, list[int]] = {}
    for number, topic in enumerate(TOPICS):
        for trigram in trigrams(" . ".join((topic.name, *topic.first, *topic.second))):
            owners.setdefault(trigram, []).append(number)
    voters = {}
    for trigram, numbers in owners.items():
        if len(numbers) <= MAX_OWNERS:
            voters[trigram] = tuple(numbers)
    return voters


_VOTERS: Final = _voters()


def find_topic(text: str) -> Topic | None:
    """The catalogue's topic of a prompt in any language.

    None if it names several, or if none wins the vote clearly (`MIN_VOTES`, `MIN_LEAD`).
    """
    named = set()
    for match in _QUOTED.finditer(text):
        named.add(match[1].lower())
    if named:
        return _BY_NAME[named.pop()] if len(named) == 1 else None
    votes = Counter(dict.fromkeys(range(len(TOPICS)), 0))
    for trigram in trigrams(text) & _VOTERS.keys():
        owners = _VOTERS[trigram]
        # A trigram that three topics share says a third about each.
        for number in owners:
            votes[number] += BALLOT // len(owners)
    (first, most), (_, second) = votes.most_common(2)
    return TOPICS[first] if most >= max(MIN_VOTES, MIN_LEAD * second) else None


_SHAPES: Final = re.compile(
    # The lookahead passes over words without a digit at once; the alternatives are in order of precedence.
    r"""
    \b (?= [A-Za-z_.-]{0,16} [0-9] ) (?:
        (?P<host>    [A-Z]{3} - [A-Z]{2,4} - [0-9]{2} \b )
      | (?P<ticket>  INC-[0-9]{3,8} \b )
      | (?P<change>  CHG-[0-9]{3,8} \b )
      | (?P<article> KB[0-9]{4,9} \b )
      | (?P<code>    0x[0-9A-Fa-f]{4,16} \b )
      | (?P<date>    [0-9]{4}-[0-9]{2}-[0-9]{2} \b )
      | (?P<time>    [0-9]{2}:[0-9]{2} \b )
      | (?P<version> [0-9]{1,4} \. [0-9]{1,4} \. [0-9]{1,4} \b )
      | (?P<other>   (?: [A-Za-z]+ [-_.]? [0-9] | [0-9]+ (?: [-_.:/] [A-Za-z0-9] | [A-Za-z] ) ) [\w.:/-]* )
      | (?P<people>  [0-9]{1,4} \b )
    )
    """,
    re.VERBOSE | re.ASCII,
)


# "Doc 1", "Document [2]", and the numbers of list items: they name a place in the prompt, not a fact.
_PLACES: Final = re.compile(
    r"\b(?:Doc|Document|Source)[ ]?\[?[0-9]{1,3}\b | ^[ \t]*[0-9]{1,2}[.)][ \t]",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


class SideDetails(NamedTuple):
    """The details that belong to one side of an incident; "" where the prompt has none."""

    host: str
    version: str
    code: str
    time: str
    people: str
    date: str


class Details(NamedTuple):
    """All identifiers that an answer can quote; "" where the prompt has none."""

    ticket: str
    change: str
    article: str
    first: SideDetails
    second: SideDetails
    """Empty fields where the prompt holds only one value of a kind."""


def read_details(text: str) -> Details:
    """The identifiers in a text, in any order and with anything between them.

    Plain numbers are ordered by value, versions by their parts, everything else as text. The first side
    gets the smallest value of each kind and the second side the largest, if there are two.
    """
    details: dict[str, set[str]] = {}
    # Labels of documents and list items would be taken for numbers of people.
    for match in _SHAPES.finditer(_PLACES.sub(" ", text)):
        kind = match.lastgroup
        assert kind is not None
        details.setdefault(kind, set()).add(match.group())
    low: list[str] = []
    high: list[str] = []
    for kind in SideDetails._fields:
        values = sorted(details.get(kind, ()), key=_order)
        low.append(values[0] if values else "")
        high.append(values[-1] if len(values) > 1 else "")
    return Details(
        ticket=min(details.get("ticket", ()), default=""),
        change=min(details.get("change", ()), default=""),
        article=min(details.get("article", ()), default=""),
        first=SideDetails(*low),
        second=SideDetails(*high),
    )


def _order(value: str) -> tuple[tuple[int, ...], str]:
    """Sort key: numbers and versions by value, the rest as text."""
    numeric = value.replace(".", "").isdecimal()
    return tuple(map(int, value.split("."))) if numeric else (), value


_LANGUAGE_NAMES: Final[dict[str, Phrases]] = {}
for _language in LANGUAGES:
    _LANGUAGE_NAMES.update(dict.fromkeys(_language.names, _language))
_WORD: Final = re.compile(r"[^\W\d_]+")
_KANA: Final = re.compile(r"[\u3040-\u30ff]")
# Share of kana among the letters from which a text is Japanese.
_JAPANESE_SHARE: Final = 0.1
# Function words that a text must have in a language other than English to be taken for it.
_MIN_WORDS: Final = 5
# Times as many function words as English has there: most words are names and English identifiers.
_LEAD: Final = 1.2


def wanted_language(text: str) -> Phrases:
    """The language in which a prompt wants its answer, as far as the simulation speaks it.

    Counting function words is coarse, but typing errors and capitals don't move it.
    """
    lowered = text.lower()
    named: list[tuple[int, int, str]] = []
    for name in _LANGUAGE_NAMES:
        if name in lowered:
            for match in _whole(name).finditer(lowered):
                named.append((match.end(), len(name), name))
    # The last to end, and of those the longest: "Canadian French" is not French.
    return _LANGUAGE_NAMES[max(named)[2]] if named else written_language(text)


def written_language(text: str) -> Phrases:
    """The language that a text is written in; English if none is clear. Regional forms are not told apart."""
    words = _WORD.findall(text.lower())
    letters = sum(map(len, words))
    if letters and len(_KANA.findall(text)) / letters > _JAPANESE_SHARE:
        japanese = phrases_for("ja")
        assert japanese is not None
        return japanese
    often = Counter(words)
    counts = []
    for language in LANGUAGES:
        counts.append((sum(often[word] for word in language.function_words), language))
    english = counts[0][0]
    # The first of equals, so French goes before its Canadian form.
    most, language = max(counts, key=lambda count: count[0])
    return language if most >= _MIN_WORDS and most > _LEAD * english else ENGLISH


@cache
def _whole(name: str) -> re.Pattern[str]:
    """Matches a name as a word of its own; where words have no spaces between them it needs no end."""
    pattern = re.escape(name)
    return re.compile(rf"(?<![^\W_]){pattern}(?![^\W_])" if name < "\u3000" else pattern)

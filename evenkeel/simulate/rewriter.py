"""The simulated rewriter: paraphrase, tone and translation by rule, for evenkeel's own prompts.

It is no language model. What it returns keeps what the validity gate asks for, is written in the wanted
language, and lets the simulated model recognise the topic. It means nothing beyond that.

In a translation each stretch of words is replaced by stock words of the target language, about as many;
protected passages, labels, marks and line breaks stay where they are. Of the meaning only the topic's name
survives, as a proper noun in quotation marks.

Material stands in a prompt between `<<<BEGIN label tag>>>` and `<<<END label tag>>>`, where the tag occurs
nowhere in the material. The first marker comes before all material, so its tag is the true one, whatever
the material imitates.
"""

from __future__ import annotations

import json
import re
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.protected_spans import protected_spans
from evenkeel.simulate.phrases import LANGUAGES, Tones, phrases_for
from evenkeel.simulate.recognition import find_topic, written_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.simulate.model import PromptMessage, Subjects
    from evenkeel.simulate.phrases import Phrases


class Piece(NamedTuple):
    """A part of a text."""

    text: str
    kept: bool
    """True if it must survive as it is."""


# Labels of documents, and names of formats: the same in every language, and no rule of protection
# knows them.
_NAMES: Final = re.compile(
    r"\b(?:Doc(?:ument)?|Source)[ ]?\[?[0-9]{1,3}\]?:? | \b(?:JSON|YAML|XML|HTML|Markdown)\b", re.VERBOSE
)
_WORD: Final = re.compile(r"[^\W\d_]")


def pieces_of(text: str) -> Iterator[Piece]:
    """The text cut into what is kept and what lies between; joined, they are the text."""
    spans = []
    for span in protected_spans(text):
        spans.append((span.start, span.end))
    spans += [match.span() for match in _NAMES.finditer(text)]
    at = 0
    for start, end in sorted(spans):
        if end <= at:
            continue
        # A passage that begins inside another one goes on where that ends.
        begin = max(start, at)
        if begin > at:
            yield Piece(text[at:begin], kept=False)
        yield Piece(text[begin:end], kept=True)
        at = end
    if at < len(text):
        yield Piece(text[at:], kept=False)


def rewrite_prose(text: str, change: Callable[[str], str]) -> str:
    """The text with every part that need not be kept put through `change`."""
    return "".join(piece.text if piece.kept else change(piece.text) for piece in pieces_of(text))


def open_with(text: str, opening: str) -> str:
    """The text with an opening before its first word; unchanged if all of it must be kept."""
    done = ""
    for piece in pieces_of(text):
        first = None if piece.kept else _WORD.search(piece.text)
        if first is not None:
            rest = text[len(done) + first.start() :]
            return f"{done}{piece.text[: first.start()]}{opening}{rest}"
        done += piece.text
    return text


# Words with nothing but blanks between them.
_STRETCH: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*(?:[ \t]+[^\W\d_]+(?:['’-][^\W\d_]+)*)*")
_WORDS_IN: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Characters without spaces for each that was written with them: they say as much.
_UNSPACED_SHARE: Final = 0.42
# The other way round: words for each character of a script without spaces.
_WORDS_A_WIDE_CHARACTER: Final = 0.4
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_NARROW: Final = re.compile(r"[0-9A-Za-z_]")
_LATIN: Final = re.compile(r"[a-zà-ÿ]", re.IGNORECASE)


def translate(text: str, phrases: Phrases, subjects: Subjects | None = None) -> str:
    """The text as if it were translated: what must be kept stays, words become stock words."""
    subject = subjects.find(text) if subjects else None
    topic = subject.topic if subject else find_topic(text)
    words = _stock_words(phrases)
    pieces = list(pieces_of(text))
    kept = "\n".join(piece.text for piece in pieces if piece.kept)
    # A name that is kept anyway is not put in once more.
    name = "" if topic is None or topic.name in kept else f"{phrases.quote.format(topic.name)} "
    parts: list[str] = []
    for piece in pieces:
        if piece.kept:
            parts.append(piece.text)
            continue
        at = 0
        for match in _STRETCH.finditer(piece.text):
            # The name stands before the first words, behind any label.
            parts += [piece.text[at : match.start()], name, _replaced(match.group(), words, phrases)]
            at, name = match.end(), ""
        parts.append(piece.text[at:])
    return "".join(parts if phrases.spaced else _apart(parts))


def _stock_words(phrases: Phrases) -> Iterator[str]:
    """The stock words of a language, or the characters where it has no spaces, without an end."""
    words: list[str] = []
    for sentence in phrases.stock:
        # Marks stand where the original has them, so the stock words bring none.
        plain = sentence.replace(",", "").replace("、", "")
        words += plain.split() if phrases.spaced else list(plain)
    return cycle(words)


def _replaced(original: str, words: Iterator[str], phrases: Phrases) -> str:
    """Stock words in place of an original, about as long."""
    if phrases.spaced:
        many = len(_WORDS_IN.findall(original))
        many += round(len(_WIDE.findall(original)) * _WORDS_A_WIDE_CHARACTER)
        return " ".join(islice(words, many))
    share = _UNSPACED_SHARE if _LATIN.search(original) else 1.0
    return "".join(islice(words, max(2, round(len(original) * share))))


def _apart(parts: list[str]) -> Iterator[str]:
    """The parts, with a space where a Latin word or number would run into letters of another script."""
    before = ""
    for part in filter(None, parts):
        if (_WIDE.match(before) and _NARROW.match(part)) or (_NARROW.match(before) and _WIDE.match(part)):
            yield " "
        yield part
        before = part[-1]


def paraphrase(text: str) -> str:
    """The text with words of equal meaning, or with an opening where it has no word that is known."""
    phrases = written_language(text)
    swaps = dict(phrases.swaps)
    pattern = _pattern(phrases)

    def swap(match: re.Match[str]) -> str:
        replacement = match.group()
        other = swaps[replacement.lower()]
        return other[0].upper() + other[1:] if replacement[0].isupper() else other

    changed = rewrite_prose(text, lambda prose: pattern.sub(swap, prose))
    return changed if changed != text else open_with(text, _spaced(phrases.rephrased, phrases))


def in_tone(text: str, tone: str) -> str | None:
    """The text as a sender of that tone begins it; None for an unknown tone."""
    phrases = written_language(text)
    opening = phrases.tones._asdict().get(tone)
    return None if opening is None else open_with(text, _spaced(opening, phrases))


def _pattern(phrases: Phrases) -> re.Pattern[str]:
    longest_first = sorted((word for word, _ in phrases.swaps), key=lambda word: (-len(word), word))
    pattern = "|".join(map(re.escape, longest_first))
    return re.compile(rf"\b(?:{pattern})\b" if phrases.spaced else pattern, re.IGNORECASE)


def _spaced(opening: str, phrases: Phrases) -> str:
    return f"{opening} " if phrases.spaced else opening


_FIRST: Final = re.compile(r"^<<<BEGIN [^\n]+ ([0-9a-f]{16})>>>$", re.MULTILINE)


def marked_texts(prompt: str) -> dict[str, str]:
    """The texts between markers by their labels, in order; empty if there are none."""
    first = _FIRST.search(prompt)
    if first is None:
        return {}
    # By the tag of the first marker: material may imitate the others.
    block = re.compile(
        rf"^<<<BEGIN ([^\n]+) {first[1]}>>>\n(.*?)\n<<<END \1 {first[1]}>>>$", re.MULTILINE | re.DOTALL
    )
    texts = {}
    for match in block.finditer(prompt):
        texts[match[1]] = match[2]
    return texts


REWRITER_MODEL: Final = "simulated-rewriter"
"""The name under which it is served."""

_TASK: Final = re.compile(r"^Task: (paraphrase|tone|translation|contrast|blocks)(?: (\S+))?$", re.MULTILINE)


def blocks(text: str) -> str:
    """List the paragraphs of numbered lines as the blocks of a template, by their first words and values."""
    lines = []
    for line in text.split("\n"):
        lines.append(line.partition("| ")[2])
    starts = [0]
    for number in range(1, len(lines)):
        if lines[number].strip() and not lines[number - 1].strip():
            starts.append(number)
    items: list[dict[str, object]] = []
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        block_text = "\n".join(lines[start:end]).strip()
        part = "other"
        if re.match(r"(?:Respond|Reply|Output)\b", block_text):
            part = "output"
        elif re.match(r"Question:", block_text):
            part = "question"
        elif re.search(r"\{\w+ \d+\}", block_text):
            part = "context"
        items.append(
            {
                "first": start + 1, "last": end, "part": part, "free": block_text.startswith("Doc "),
                "fixed": number == 0,
                "joined": number > 0 and lines[starts[number - 1]].rstrip() == "Documents:",
            }
        )  # fmt: skip
    return json.dumps({"blocks": items})


# A question about nothing that any case is about.
_OTHER_WORDS: Final = re.findall(r"\w+", "how long do the bees of the third hive sleep in winter")


def contrast(text: str) -> str:
    """Ask about a thing that no simulated case is about, line by line as long as before."""
    words = cycle(_OTHER_WORDS)
    return re.sub(r"[^\W\d_][\w'’-]*", lambda _: next(words), text)


def rewrite(messages: Sequence[PromptMessage], subjects: Subjects | None = None) -> str:
    """The reply to a rewriting request: the rewritten text between its tags.

    A request that names no task, no text, or a target that the simulation does not know gets a sentence
    that says so; the gate rejects it like any other reply that is not the text.
    """
    prompt = messages[-1].text if messages else ""
    # What the material says about tasks is no order: the first line that names one stands before it.
    task = _TASK.search(prompt)
    text = marked_texts(prompt).get("TEXT")
    if task is None or text is None:
        return "The simulated rewriter takes rewriting requests of evenkeel only."
    kind, target = task[1], task[2] or ""
    rewritten = paraphrase(text) if kind == "paraphrase" else None
    if kind == "blocks":
        return blocks(text)
    if kind == "contrast":
        rewritten = contrast(text)
    elif kind == "tone":
        rewritten = in_tone(text, target)
    elif kind == "translation":
        phrases = phrases_for(target)
        rewritten = translate(text, phrases, subjects) if phrases else None
    if rewritten is None:
        return f"The simulated rewriter does not know the target {target}."
    return f"<rewritten>{rewritten}</rewritten>"


def is_rewriting(original: str, text: str) -> bool:
    """Return whether a text is what the simulated rewriter makes of the original, in any tone or language."""
    if text == paraphrase(original):
        return True
    for tone in Tones._fields:
        if text == in_tone(original, tone):
            return True
    return text in map(partial(translate, original), LANGUAGES)

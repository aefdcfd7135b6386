"""Places of a prompt that a perturbation may change: found, kept off protected spans, chosen, rewritten.

And the place for a request that the prompt does not make itself.
"""

from __future__ import annotations

import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.protected_spans import protected_spans
from evenkeel.shadow.perturbations.protocol import NO_INPUT, NOTHING_TO_CHANGE, NotApplicable
from evenkeel.shadow.prompt.blocks import BLANK_LINES
from evenkeel.shadow.prompt.pasted import LISTED, NOT_TYPED, pasted_in
from evenkeel.shadow.prompt.references import asks, leads_on, orders, points
from evenkeel.shadow.prompt.segments import Span, text_of

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.prompt.segments import Segment

Finder = Callable[[str], Iterator["re.Match[str]"]]
"""The places of a text, in order and without overlap."""

Rewriter = Callable[["re.Match[str]", "random.Random"], str | None]
"""The new text of a place; None if this place offers nothing to change after all."""


def change_places(
    view: PromptView,
    severity: float,
    rng: random.Random,
    *,
    find: Finder,
    rewrite: Rewriter,
    margin: int = 0,
    keeps_letters: bool = False,
) -> PromptView | NotApplicable:
    """Rewrite a share of the places in an end user's typed text.

    The share is counted over all input together. Above severity 0 at least one place changes if
    any can, so a variant always differs.

    Args:
        view: The original.
        severity: Expected share of places that is rewritten, in [0, 1].
        rng: Chooses the places and is handed to `rewrite`.
        find: Lists the places of one text.
        rewrite: Rewrites one place.
        margin: Characters a place must keep between itself and a protected span.
        keeps_letters: True if the caller leaves the letters of a question about wording as they are.

    Not applicable: "no_input", "about_wording", "command" and "nothing_to_change".

    Raises: ValueError if the severity is out of range.
    """
    if not 0 <= severity <= 1:
        raise ValueError(f"severity {severity} is not between 0 and 1")
    inputs = view.typed
    if not inputs:
        return NO_INPUT
    if mends_texts(view) or (asks_about_wording(inputs) and not keeps_letters):
        return _ABOUT_WORDING
    if any(_COMMAND.match(segment.text) for segment in inputs):
        return _IS_COMMAND
    pasted = {} if "documents" in view.inputs else _pasted(view)
    matches: list[re.Match[str]] = []
    owners: list[int] = []
    for segment in inputs:
        kept = sorted([*_edges(segment.text), *pasted.get(segment.index, ())])
        matches += _unprotected(find(segment.text), kept, margin)
        owners += [segment.index] * (len(matches) - len(owners))
    changes = _choose(matches, severity, rng, rewrite)
    if not changes:
        return NOTHING_TO_CHANGE
    own: dict[int, list[tuple[re.Match[str], str]]] = {}
    for index, new in changes.items():
        own.setdefault(owners[index], []).append((matches[index], new))
    return view.with_texts({owner: _rewritten(view.segments[owner].text, new) for owner, new in own.items()})


def _pasted(view: PromptView) -> dict[int, list[tuple[int, int]]]:
    """Return the stretches of each segment that the user's message only asks about."""
    stretches: dict[int, list[tuple[int, int]]] = {}
    typed = {segment.index for segment in view.typed}
    # Of a mail it is known already what its sender typed.
    mails = {
        segment.slot for segment in view.segments if segment.kind == "history" and segment.role == "user"
    }
    for (kind, slot), run in groupby(view.segments, key=lambda segment: (segment.kind, segment.slot)):
        segments = list(run)
        is_typed = any(segment.index in typed for segment in segments)
        if kind != "input" or slot in mails or not is_typed:
            continue
        texts = []
        for segment in segments:
            is_own = segment.type in _OWN_TYPES
            texts.append(segment.text if is_own else _NOT_BLANK.sub(NOT_TYPED, segment.text))
        at = 0
        text = "".join(texts)
        lists = (Span(*match.span()) for match in LISTED.finditer(text))
        spans = (*pasted_in(text), *lists)
        for segment in segments:
            for span in spans:
                start, end = max(span.start - at, 0), min(span.end - at, len(segment.text))
                if start < end:
                    # Nothing is added at the end of the text either.
                    end += end == len(segment.text)
                    stretches.setdefault(segment.index, []).append((start, end))
            at += len(segment.text)
    return stretches


_NOT_BLANK: Final = re.compile(r"\S")
# Types of a user's message beside documents, code and examples, which are told apart already.
_OWN_TYPES: Final = frozenset({"text", "list", "output_instructions"})
# Beginning of an order to a bot or a shell, each word of which counts: "!info", "/summarize".
_COMMAND: Final = re.compile(r"\s*[!/][^\W\d_]")
_IS_COMMAND: Final = NotApplicable("command")
_ABOUT_WORDING: Final = NotApplicable("about_wording")


def asks_about_wording(inputs: Sequence[Segment]) -> bool:
    """Return whether a user asks about letters, spelling, case, marks or the order of words.

    "Sort these words", "how many letters": a slip in such a question may change its answer.
    """
    words, _ = _about_wording()
    return any(words.search(segment.text) for segment in inputs)


def mends_texts(view: PromptView) -> bool:
    """Return whether an application's instructions are to mend or to repeat what is typed, letter by letter.

    "Correct the spelling", "quote it verbatim"; "use correct grammar" is about the answer.
    """
    _, mends = _about_wording()
    for segment in view.segments:
        if segment.source == "instructions" and mends.search(segment.text):
            return True
    return False


@cache
def _wording() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("wording.toml").read_text("utf-8"))


@cache
def about_manner() -> re.Pattern[str]:
    """Return a pattern for words about how a text is said: "sentiment", "urgency", 口調."""
    table = _wording()["manner"]
    spaced, spaceless = "|".join(table["words"].split()), "|".join(table["spaceless"].split())
    return re.compile(rf"(?<!\w)(?:{spaced})(?!\w)|{spaceless}", re.IGNORECASE)


@cache
def _about_wording() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of `wording.toml`: words about wording, and orders to mend or to keep it."""
    tables = _wording()
    keeps = _any(tables["keeps"]["spaced"], "")
    words = _any("\n".join(tables["spaced"].values()), " ".join(tables["spaceless"].values()))
    mends = _any("\n".join(tables["mends"]["verbs"].split()), "")
    mends = rf"{mends}[^.\n]{{0,60}}?(?:{words})"
    return re.compile(f"{words}|{keeps}", re.IGNORECASE), re.compile(f"{mends}|{keeps}", re.IGNORECASE)


def _any(spaced: str, spaceless: str) -> str:
    """Return a pattern for any of some patterns, one a line, or of some words without edges."""
    words = [line for line in spaced.split("\n") if line]
    return "|".join([rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", *spaceless.split()])


def prose_of(text: str) -> str:
    """Return a text without its protected spans, on one line."""
    pieces: list[str] = []
    at = 0
    for span in protected_spans(text):
        pieces.append(text[at : span.start])
        at = span.end
    pieces.append(text[at:])
    return " ".join(" ".join(pieces).split())


def may_be_completed(text: str) -> bool:
    """Return whether what is added to a text would belong to something else than to the user's own words.

    "Complete this: the capital of France is": it would stand in the answer's place. "Begin with this:
    The house was old.": it would be part of the story.
    """
    text = text.rstrip()
    line = text[text.rfind("\n") + 1 :]
    if _CITES.search(line):
        return True
    if text.endswith(_END_MARKS):
        return False
    return _COLON.search(text) is not None or breaks_off(text)


def breaks_off(text: str) -> bool:
    """Return whether a text ends in a word that ends no sentence: "The capital of France is"."""
    words = text.split()
    last = _SENTENCE_BEFORE.split(text)[-1]
    return len(words) > 1 and words[-1].lower() in _UNFINISHED and not (asks(last) or is_question(last))


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks by its words, whatever mark ends it."""
    return _ASKS.match(sentence) is not None


# A colon behind which whole sentences stand.
_CITES: Final = re.compile(r"[:\uff1a][ ]*[\"“„«]?[^\W\d_a-z].*[.!?。]\Z", re.DOTALL)
_END_MARKS: Final = tuple(".!?…。।\uff01\uff1f؟")
_COLON: Final = re.compile(r":(?!\S)|\uff1a")
_SENTENCE_BEFORE: Final = re.compile(r"[:\uff1a]|[.!?…。\uff01\uff1f]\s")
_TABLES: Final = tomllib.loads(files(__package__).joinpath("small_words.toml").read_text("utf-8"))


def small_words(group: str) -> frozenset[str]:
    """Return the words of a group in all languages; see `small_words.toml`."""
    return frozenset(" ".join(_TABLES[group].values()).split())


_ASKS: Final = re.compile(
    rf"[\W_]*(?:{'|'.join(sorted(small_words('asks')))})\b|.*(?:吗|呢|か|나요|까요|습니까)\Z",
    re.IGNORECASE | re.DOTALL,
)
_OPENERS: Final = small_words("openers")
_UNFINISHED: Final = small_words("unfinished")
_BEFORE_NAMES: Final = small_words("before")
_CAPITAL_BEHIND: Final = re.compile(r"[ \t]+[^\W\d_a-zß-öø-ÿ]")


def opens_a_sentence(word: re.Match[str]) -> bool:
    """Return whether a word with a capital owes it to its place: a small word at the start of a sentence.

    Not "Los Angeles" nor "La Paz": what a capital follows may be the beginning of a name.
    """
    text = word.string
    written = word[0].replace("’", "'")
    small = written.lower()
    if len(written) == 1 and not text[word.end() : word.end() + 1].isspace():
        return False  # "(A)." is the label of an answer, and no article
    before = text[max(0, word.start() - 4) : word.start()].rstrip(" \t\"'“\u2018«(*_#>-•¿¡")
    return (
        small in _OPENERS
        and written[1:] == small[1:]
        and (not before or before[-1] in ".!?:\n。\uff01\uff1f")
        and (_CAPITAL_BEHIND.match(text, word.end()) is None or small in _BEFORE_NAMES)
    )


def is_label(word: re.Match[str]) -> bool:
    """Return whether a word may name an action ("bash:") or an object ("shelf 4"), to be repeated exactly."""
    return _NAMED_BEHIND.match(word.string, word.end()) is not None


# A colon at the end of a line only leads in to the next one.
_NAMED_BEHIND: Final = re.compile(r"[:\uff1a](?![ \t]*(?:\n|\Z))|[ ]\d")


def with_request(view: PromptView, sentence: str) -> PromptView | NotApplicable:
    """Return the prompt with a request of the application added to the user's last message.

    It goes behind a question or order; before a text to work on, whose end it would read as.

    Returns: it; "no_user_slot" where no user says anything, or "open_end" where the prompt ends in words
        or code that the answer is to complete.
    """
    slot = view.last_user_slot
    own = []
    for segment in view.segments:
        if segment.slot == slot:
            own.append(segment)
    if slot is None or not own:
        return NotApplicable("no_user_slot")
    text = text_of(own)
    if leads_on(text) or text.rstrip().endswith('"""'):
        return NotApplicable("open_end")
    *before, last = BLANK_LINES.split(text.strip())
    is_template_known = any(segment.kind == "template" for segment in own)
    swallowed = (
        not is_template_known
        and not asks(last)
        and any(orders(segment) or points(segment) for segment in before)
    )
    gap = "" if text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    edge = own[0] if swallowed else own[-1]
    addition = f"{sentence}\n\n" if swallowed else f"{gap}{sentence}"
    added = replace(edge, kind="template", type="output_instructions", text=addition)
    index = edge.index if swallowed else edge.index + 1
    return view.recut([*view.segments[:index], added, *view.segments[index:]])


def _choose(
    matches: list[re.Match[str]], severity: float, rng: random.Random, rewrite: Rewriter
) -> dict[int, str]:
    if not matches or severity == 0:
        return {}
    # Rounding up or down at random keeps the expected share exact on short texts.
    count = max(1, math.floor(severity * len(matches) + rng.random()))
    chosen = sorted(rng.sample(range(len(matches)), min(count, len(matches))))
    changes: dict[int, str] = {}
    for index in chosen:
        new = rewrite(matches[index], rng)
        if new is not None:
            changes[index] = new
    if changes:
        return changes
    # Every chosen place declined: take the first one that does not, so that the variant differs.
    for index, match in enumerate(matches):
        new = rewrite(match, rng)
        if new is not None:
            return {index: new}
    return {}


def _edges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the protected spans of a text, each with the line end before the next one: rows of a table."""
    spans = protected_spans(text)
    for number, span in enumerate(spans):
        behind = spans[number + 1].start if number + 1 < len(spans) else span.end
        gap = text[span.end : behind]
        yield span.start, behind if gap.isspace() and "\n" in gap else span.end


def _unprotected(
    matches: Iterator[re.Match[str]], spans: Sequence[tuple[int, int]], margin: int
) -> Iterator[re.Match[str]]:
    """Yield the matches that keep clear of every span.

    Matches and spans are in order, so a single pass suffices.
    """
    edges = ((start - margin, end + margin) for start, end in spans)
    after_all = (sys.maxsize, sys.maxsize)
    opens, closes = next(edges, after_all)
    for match in matches:
        start, end = match.span()
        while closes <= start:
            opens, closes = next(edges, after_all)
        if end <= opens:
            yield match


def _rewritten(text: str, changes: list[tuple[re.Match[str], str]]) -> str:
    pieces: list[str] = []
    done = 0
    for match, new in changes:
        pieces += (text[done : match.start()], new)
        done = match.end()
    pieces.append(text[done:])
    return "".join(pieces)

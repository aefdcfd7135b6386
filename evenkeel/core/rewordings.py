"""Rewordings: the names of perturbations for people, their order, and why they are not tried.

A verdict names its perturbation and nothing else, so whoever shows results finds the words here by that
name. They are declared beside the code of each perturbation, which the console never loads; the catalogue
of perturbations publishes them once per process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Place of what names none: behind all that do.
_LAST: Final = 1_000
_PAIR: Final = "_to_"


def _with_spaces(kind: str) -> str:
    return kind.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Category:
    """A group of perturbations, named before the dot: "general" of "general.spelling"."""

    name: str
    description: str = ""
    """Description in one or two sentences."""
    order: int = _LAST
    """Place among the categories; ties are sorted by name."""
    phrase: str = "the rewording {kind}"
    """The end of "answers change under …" for a rewording that has no words of its own."""
    asks_for: Literal["format", "language", "languages"] | None = None
    """Requirement that its variants put on the answer. "languages": the kinds are named
    "source_to_target"."""
    on_template: bool = False
    """True if the application's words are changed rather than the user's."""
    graded: bool = False
    """True if the severity of a trial is worth showing."""
    named_alone: bool = False
    """True if its rewordings are understood without the category's name."""
    must_move: bool = False
    """True of contrasts: a right answer must move, so no figure about rewordings counts them."""
    kind: Callable[[str], str] = _with_spaces
    """Function that writes the part of a name after the dot."""


@dataclass(frozen=True, slots=True)
class Rewording:
    """The words for one perturbation."""

    category: Category
    label: str = ""
    """Heading of a column; "" = the name after the dot."""
    phrase: str = ""
    """End of "answers change under …"; "" = the phrase of the category."""
    description: str = ""
    """Description in one or two sentences; "" = the docstring of the perturbation's class."""
    order: int = _LAST
    """Place in its category; ties are sorted by name."""


class LanguagePair(NamedTuple):
    """Languages of a perturbation that asks for an answer in another language than the input's."""

    source: str
    target: str


@dataclass(slots=True)
class _Vocabulary:
    rewordings: dict[str, Rewording] = field(default_factory=dict)
    categories: dict[str, Category] = field(default_factory=dict)


# Published words of this process: every page and report reads them, and none is ever removed.
_PUBLISHED: Final = _Vocabulary()


def publish(rewordings: Iterable[tuple[str, Rewording]]) -> None:
    """Make the words of perturbations known, by the perturbation's name."""
    for name, rewording in rewordings:
        _PUBLISHED.rewordings[name] = rewording
        _PUBLISHED.categories[rewording.category.name] = rewording.category


def category(perturbation: str) -> Category:
    """Return the category of a perturbation or of that name; a bare one if it was never published."""
    name = perturbation.partition(".")[0]
    return _PUBLISHED.categories.get(name) or Category(name)


def column_label(perturbation: str) -> str:
    """Return a short heading for use below the category's name: "spelling", "noise floor"."""
    rewording = _PUBLISHED.rewordings.get(perturbation)
    if rewording is not None and rewording.label:
        return rewording.label
    name, _, kind = perturbation.partition(".")
    return category(perturbation).kind(kind) or name


def label(perturbation: str) -> str:
    """Return the label for use where no heading names the category: "spelling", "format: yaml"."""
    group, short = category(perturbation), column_label(perturbation)
    return short if group.named_alone else f"{group.name}: {short}"


def phrase(perturbation: str) -> str:
    """Return the perturbation as the end of "answers change under …"."""
    rewording = _PUBLISHED.rewordings.get(perturbation)
    if rewording is not None and rewording.phrase:
        return rewording.phrase
    return category(perturbation).phrase.format(kind=column_label(perturbation))


def language_pair(perturbation: str) -> LanguagePair | None:
    """Return the languages of input and answer, ("de", "ja"); None if the perturbation names no pair."""
    source, separator, target = perturbation.partition(".")[2].partition(_PAIR)
    return (
        LanguagePair(source, target) if separator and category(perturbation).asks_for == "languages" else None
    )


def pair_label(perturbation: str) -> str:
    """Return a pair of languages as "de → ja"; the column label for any other perturbation."""
    pair = language_pair(perturbation)
    return f"{pair.source} → {pair.target}" if pair else column_label(perturbation)


def position(perturbation: str) -> tuple[int, str, int, str]:
    """Return a sort key: by category, then by kind; unpublished perturbations come last, by name."""
    group = category(perturbation)
    rewording = _PUBLISHED.rewordings.get(perturbation)
    return group.order, group.name, rewording.order if rewording else _LAST, perturbation


_WHY_UNTRIED: Final = {
    "no_rewriter": "needs a rewriter: set replays.rewriter.model",
    "no_judge": "needs a judge, to check rewordings and compare answers in two languages: use --judge MODEL",
    "budget": "the rest of the day's budget is too small",
    "budget_pace": "held back so that the budget lasts the day",
    "budget_reserve": "only the part of the day's budget that is reserved for changes is left",
    "unpriced": "not replayed: their model has no known price",
    "no_input": "the prompt has no user text",
    "nothing_to_change": "nothing in the input can be reworded in this way",
    "about_manner": "the input asks about tone or manner",
    "no_tools": "the request offers no tools",
    "no_results": "no tool has answered in this conversation",
    "about_wording": "the input asks about letters, spelling or the order of words",
    "too_few": "fewer than two of them apply to the prompt, so there is nothing to try together",
    "undone": "together they leave the prompt as it was",
    "no_context": "no part of the prompt is known to be context",
    "no_output_instructions": "no part of the prompt is known to say how to answer",
    "nothing_to_reorder": "the prompt has no documents or items to reorder",
    "bound": "nothing shows that it may stand elsewhere, or words point at its place",
    "too_few_changes": "fewer than two changes of its kind apply to the prompt",
    "already_wanted": "the prompt asks for it already",
    "already_in_language": "the prompt is in that language already",
    "command": "the text begins like a command, of which every letter counts",
    "examples_show_format": "examples in the prompt show answers in another format",
    "format_forbidden": "the prompt forbids that format",
    "language_prescribed": "the prompt says in which language to answer",
    "language_unknown": "the language of the input is not clear",
    "language_unsupported": "there are no phrases for the language of the input",
    "markup_wanted": "the prompt asks for headings, lists or tables",
    "no_user_slot": "no user says anything in the prompt",
    "open_end": "the prompt ends in words that the model is to continue",
    "own_form": "the answer has a form of its own, which has no like in that format",
    "text_to_translate": "the input is to be translated, and a greeting would be as well",
    "text_to_work_on": "the input is to be worked on, and a greeting would be as well",
    "too_long": "the text is too long to be changed in this way",
    "too_many_parts": "the prompt has more than 2,000 blocks",
    "tools_forced": "the request makes the model call a tool",
    "translation_wanted": "the prompt asks for a translation",
    "unreadable_structure": "the structure that the prompt shows cannot be read",
    "unclear_format": "the prompt speaks of a format, or shows one, in a way that may not be understood",
}


def why_untried(reason: str) -> str:
    """Explain to people why a rewording was not tried, with the next step if there is one."""
    if reason.startswith("rewriter_"):
        fault = reason.removeprefix("rewriter_").replace("_", " ")
        return f"the rewriter's text was missing or not accepted ({fault})"
    # A compound is left out for the reason of its first part that cannot be tried.
    reason = reason.removeprefix("part_")
    return _WHY_UNTRIED.get(reason, reason.replace("_", " "))

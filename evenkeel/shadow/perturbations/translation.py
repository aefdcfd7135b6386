"""Translated prompts: all of one in another language, or its instructions, input and answer in several."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import BUILTIN_TAGS, base_tag, canonical_tag, language_of, native_request
from evenkeel.core.pair import AnswerForm
from evenkeel.core.rewordings import Category, Rewording
from evenkeel.shadow.perturbations.answer_language import (
    answer_request,
    inputs_of,
    instructions_of,
    language_of_segments,
    may_be_in,
    prescribed,
)
from evenkeel.shadow.perturbations.places import with_request
from evenkeel.shadow.perturbations.protocol import (
    NO_INPUT,
    Draft,
    NotApplicable,
    PerturbationBase,
    RewriteTask,
)
from evenkeel.shadow.perturbations.rewriting import NO_PROSE, draft
from evenkeel.shadow.prompt.segments import text_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome
    from evenkeel.shadow.prompt import PromptView, Segment

_ENGLISH: Final = "en"

_MULTILINGUAL: Final = Category(
    "multilingual",
    "The whole prompt in another language, the answer as well. Needs a rewriter and a judge.",
    order=40,
    phrase="translation ({kind})",
    asks_for="language",
)


class Multilingual(PerturbationBase):
    """Translates instructions and input, and asks for the answer in that language.

    History and code stay. Everything is translated or nothing, so severity is ignored.
    """

    rewording: Final = Rewording(_MULTILINGUAL)
    version = 3
    requires = frozenset({"rewriter", "judge"})

    def __init__(self, tag: str) -> None:
        """Set the language.

        Args:
            tag: BCP 47 tag in any case: "de", "pt-BR".

        Raises: ValueError if it is not a tag.
        """
        self._tag = canonical_tag(tag)
        self.name: Final = f"multilingual.{self._tag}"
        self.wanted = AnswerForm(language=self._tag)

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Draft | NotApplicable:
        """Return the translation tasks; see `Perturbation.apply`.

        Not applicable: "no_input"; "already_in_language" if the input is in the language, in any region;
        "language_prescribed" and "translation_wanted" (see `prescribed`); "nothing_to_change" if there are
        no words to translate.
        """
        del severity, rng
        inputs = inputs_of(view)
        if not inputs:
            return NO_INPUT
        base = base_tag(self._tag)
        if language_of_segments(inputs) == base:
            return NotApplicable("already_in_language")
        refused = prescribed(view)
        if refused is not None:
            return refused

        def task(text: str) -> RewriteTask | None:
            return None if language_of(text) == base else RewriteTask("translation", text, self._tag)

        return draft(
            view,
            [segment for segment in view.segments if segment.kind != "history"],
            task,
            lambda translated: with_request(translated, native_request(self._tag)),
        )


MULTILINGUAL: Final = tuple(map(Multilingual, BUILTIN_TAGS))
"""Translations into each of `BUILTIN_TAGS`."""


_CROSSLINGUAL: Final = Category(
    "crosslingual",
    "Input in one language, answer in another. Needs a judge, and mostly a rewriter.",
    order=50,
    phrase="another language ({kind})",
    asks_for="languages",
)


class CrossLingual(PerturbationBase):
    """Has the input translated into one language and asks for the answer in another.

    Instructions in another language than English are translated into it, and the request is in English.
    Where no instructions are known, it is in the language of the input, as all of the prompt is. What is in
    its language already stays; so do history and code. All or nothing: severity means nothing to it.
    """

    rewording: Final = Rewording(_CROSSLINGUAL)
    version = 3

    def __init__(self, source: str, target: str) -> None:
        """Set the languages.

        Args:
            source: Tag of the input's language.
            target: Tag of the answer's language; may be the same.

        Raises: ValueError if one is no BCP 47 tag, or both are English: that changes nothing.
        """
        self._source, self._target = canonical_tag(source), canonical_tag(target)
        if self._source == self._target == _ENGLISH:
            raise ValueError("crosslingual from English to English changes nothing")
        self.name: Final = f"crosslingual.{self._source}_to_{self._target}"
        self.wanted = AnswerForm(language=self._target)
        # An English prompt, the usual case, stays as it is.
        self.requires = frozenset({"judge"})
        if self._source != _ENGLISH:
            self.requires |= {"rewriter"}

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the translation tasks, as `Perturbation.apply`; the variant itself if there are none.

        Not applicable: "no_input"; "already_in_language" if the prompt is wholly in the language wanted;
            "language_prescribed", "translation_wanted" as `prescribed`.
        """
        del severity, rng
        inputs = inputs_of(view)
        if not inputs:
            return NO_INPUT
        refused = prescribed(view)
        if refused is not None:
            return refused
        instructions = instructions_of(view)
        instructed = text_of(instructions, "\n\n")
        base = base_tag(self._target)
        is_in_target = base_tag(self._source) == base and language_of_segments(inputs) == base
        if is_in_target and may_be_in(instructed, base):
            return NotApplicable("already_in_language")
        is_identified = language_of_segments(instructions) is not None
        request = answer_request(self._target, _ENGLISH if is_identified else base_tag(self._source))

        def translated(prompt: PromptView) -> Outcome:
            own = []
            for segment in inputs:
                own.append(prompt.segments[segment.index])
            return _into(self._source, prompt, own, lambda asked: with_request(asked, request))

        if may_be_in(instructed, _ENGLISH):
            return translated(view)
        return _into(_ENGLISH, view, instructions, translated)


def _into(
    tag: str, view: PromptView, segments: Sequence[Segment], then: Callable[[PromptView], Outcome]
) -> Outcome:
    """Translate the segments that are not in the language yet, if any, then continue with `then`."""
    base = base_tag(tag)
    # A few words among others of the language are in it as well.
    there = {base, None} if language_of_segments(segments) == base else {base}

    def task(text: str) -> RewriteTask | None:
        return None if language_of(text) in there else RewriteTask("translation", text, tag)

    outcome = draft(view, segments, task, then)
    if isinstance(outcome, NotApplicable):
        return then(view)

    def finish(texts: Sequence[str]) -> Outcome:
        # Names alone are the same in both languages.
        after = outcome.finish(texts)
        return then(view) if after is NO_PROSE else after

    return Draft(outcome.tasks, finish)


def pairs(further: Sequence[str] = ()) -> tuple[CrossLingual, ...]:
    """Return a perturbation for every ordered pair of languages.

    A language with itself is included, English with itself is not.
    """
    tags = dict.fromkeys((_ENGLISH, *BUILTIN_TAGS, *map(canonical_tag, further)))
    kinds: list[CrossLingual] = []
    for source, target in product(tags, repeat=2):
        if not source == target == _ENGLISH:
            kinds.append(CrossLingual(source, target))
    return tuple(kinds)


CROSSLINGUAL: Final = pairs()

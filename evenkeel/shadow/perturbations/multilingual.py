"""Perturbation that translates the whole request and asks for the answer in that language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import BUILTIN_TAGS, base_tag, canonical_tag, language_of, native_request
from evenkeel.core.pair import AnswerForm
from evenkeel.core.rewordings import Category, Rewording
from evenkeel.shadow.perturbations.answer_language import inputs_of, language_of_segments, prescribed
from evenkeel.shadow.perturbations.places import with_request
from evenkeel.shadow.perturbations.protocol import NO_INPUT, NotApplicable, PerturbationBase, RewriteTask
from evenkeel.shadow.perturbations.rewriting import draft

if TYPE_CHECKING:
    import random

    from evenkeel.shadow.perturbations.protocol import Draft
    from evenkeel.shadow.prompt import PromptView


_CATEGORY: Final = Category(
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

    rewording: Final = Rewording(_CATEGORY)
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

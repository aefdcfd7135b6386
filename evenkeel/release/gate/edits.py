"""Changes of a candidate to a prompt: its system message, or the template around its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from evenkeel.core.verdict import Failure
from evenkeel.shadow.prompt.template.labelling import PLACEHOLDER, candidates
from evenkeel.shadow.prompt.template.skeleton import fixed_characters, gaps, padded, place

if TYPE_CHECKING:
    from evenkeel.shadow.prompt import PromptView

_VERSION = 1
_SYSTEM = frozenset({"system", "developer"})


class EditError(ValueError):
    """An edit cannot be made of these texts. The message says what is wrong and what to do."""


class NewSystemPrompt:
    """Replaces the text of the system message."""

    def __init__(self, text: str, description: str = "another system prompt") -> None:
        """Take the new text.

        Raises: EditError if it is empty.
        """
        if not text.strip():
            raise EditError("the new system prompt is empty")
        self._text = text
        self.said = description

    def __call__(self, view: PromptView) -> PromptView | Failure:
        """The prompt with the one system message replaced."""
        indices = []
        for segment in view.segments:
            if segment.role in _SYSTEM:
                indices.append(segment.index)
        if len(indices) != 1:
            what = "no system message" if not indices else f"{len(indices)} system texts"
            return _does_not_fit(f"the request has {what}, so there is not one to replace")
        return view.with_texts({indices[0]: self._text})


class NewTemplate:
    """Takes the inputs out of a text that fits the old template, and puts them into the new one."""

    def __init__(self, old: str, new: str, description: str = "another template") -> None:
        """Take both templates, texts with `{placeholders}`.

        Raises: EditError if the old one does not tell where inputs begin and end, or the new one asks for
            an input that the old one does not have.
        """
        # Text editors end files with a line break; messages have none.
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
        self._names = PLACEHOLDER.findall(old)
        self._fragments = tuple(PLACEHOLDER.split(padded(old)))
        self._new = new
        self.said = description
        if not self._names:
            raise EditError("the old template has no {placeholder}, so there is no input to take over")
        if fixed_characters(self._fragments) == 0:
            raise EditError("the old template needs text besides its placeholders")
        for name, behind in zip(self._names[:-1], self._fragments[1:-1], strict=True):
            if not behind:
                raise EditError(f"the old template has nothing behind {name} that tells where it ends")
        unknown = []
        for name in PLACEHOLDER.findall(new):
            if name not in self._names:
                unknown.append(name)
        if unknown:
            raise EditError(
                f"the new template asks for {unknown[0]}, the old one has only {', '.join(self._names)}"
            )
        if not new.strip():
            raise EditError("the new template is empty")

    def __call__(self, view: PromptView) -> PromptView | Failure:
        """The prompt with the last text that fits the old template put into the new one."""
        # The last message that fits: earlier ones may be examples of the same template.
        for index in reversed(candidates(view.slots)):
            inputs = self._inputs(view.segments[index].text)
            if inputs is not None:
                return view.with_texts({index: self._filled(inputs)})
        return _does_not_fit("no message of the request fits the old template")

    def _filled(self, inputs: dict[str, str]) -> str:
        # One pass: an input may hold what looks like a placeholder.
        return PLACEHOLDER.sub(lambda found: inputs[found[0]], self._new)

    def _inputs(self, text: str) -> dict[str, str] | None:
        """The inputs by placeholder; None if the text does not fit."""
        marked = padded(text)
        spans = place(self._fragments, marked)
        if spans is None:
            return None
        inputs: dict[str, str] = {}
        for name, gap in zip(self._names, gaps(spans), strict=True):
            value = marked[gap.start : gap.end]
            # A placeholder that stands twice has one value, or the text is of another template.
            if inputs.setdefault(name, value) != value:
                return None
        return inputs


Edit: TypeAlias = NewSystemPrompt | NewTemplate
"""Turns a golden's prompt into the candidate's, or returns a failure that says why not ("does_not_fit").

It takes a view that is classified by role, so that each string of the body is one segment.
"""


def _does_not_fit(detail: str) -> Failure:
    return Failure("gate", _VERSION, "does_not_fit", detail)

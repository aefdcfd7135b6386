"""A format perturbation: the answer is asked for in another format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.pair import Wanted
from evenkeel.shadow.perturbations.format.constraints import constraint_of, forces_tools
from evenkeel.shadow.perturbations.format.schema import Leaf, names_in
from evenkeel.shadow.perturbations.format.skeletons import skeletons
from evenkeel.shadow.perturbations.format.words import Words, asked_format, named_format, renamed
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable
from evenkeel.shadow.perturbations.recut import recut

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Sequence

    from evenkeel.core.pair import Format
    from evenkeel.shadow.perturbations.format.schema import Node
    from evenkeel.shadow.perturbations.format.skeletons import Skeleton
    from evenkeel.shadow.prompt import PromptView, Segment

_UNREAD: Final = "The structure above says which contents are wanted; its own format does not matter."


class Form(ABC):
    """Asks for the answer in one format, whatever the prompt asked for.

    Names, contents and every other wish of the output instructions stay; only the way of writing
    changes. Where there are no output instructions, a sentence is added to the last user message.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    graded: Final = False
    requires: Final = NOTHING
    format: ClassVar[Format]
    words: ClassVar[Words]
    request: ClassVar[str]
    """The sentence that asks for the format where nothing else does."""
    fenced: ClassVar[bool] = True
    """Whether a structure to follow is shown as a block of its own."""

    @abstractmethod
    def render(self, node: Node) -> str:
        """The structure that an answer shall have, written in this format with placeholders."""

    @property
    def wanted(self) -> Wanted:
        """The format."""
        return Wanted(format=self.format)

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant that asks for this format, as `Perturbation.apply`.

        Not applicable: "already_wanted"; "tools_forced"; "unclear_format" where a user's own words ask
        for a format; "no_user_slot" where a sentence would have to be added and there is no user's text.
        """
        del severity, rng
        if forces_tools(view):
            return NotApplicable("tools_forced", "the request makes the model call a tool")
        constraint = constraint_of(view)
        asking = _asking(view)
        reminders = _reminders(view)
        stated = _stated(asking) or ("json" if constraint.is_json else next(iter(reminders.values()), None))
        if not asking and _is_asked_by_user(view):
            return NotApplicable("unclear_format", "a user's text that may be anything asks for a format")
        if (stated or "free") == self.format:
            return NotApplicable("already_wanted", f"the prompt asks for {self.words.name} as it is")
        texts, shown = self._rewritten(asking, stated)
        missing = constraint.node if not _holds(texts.values(), constraint.node) else None
        changed = view.with_texts(texts).with_members(
            constraint.any_json if self.format == "json" else constraint.removed
        )
        changed = changed.with_texts(
            {
                index: self._reminding(view.segments[index].text, stated)
                for index, format_ in reminders.items()
                if format_ == stated
            }
        )
        said = named_format("\n".join(texts.values())) == self.format
        if asking and missing is None and (shown or said):
            return changed
        sentence = self.request if missing is None else f"{self.request}\n\n{self._structure(missing)}"
        if asking:
            # Behind what the prompt says of its answers already
            last = changed.segments[asking[-1].index]
            return changed.with_texts({last.index: _appended(last.text, sentence)})
        return _with_request(changed, sentence)

    def _rewritten(self, asking: Sequence[Segment], stated: Format | None) -> tuple[dict[int, str], bool]:
        """New texts of the output instructions, and whether they now name or show this format."""
        named = _named(asking)
        texts: dict[int, str] = {}
        shown = False
        for segment in asking:
            pieces: list[str] = []
            done = 0
            for one in skeletons(segment.text, named):
                pieces.append(renamed(segment.text[done : one.start], stated, self.format, self.words))
                pieces.append(self._skeleton(segment.text, one))
                shown = shown or (one.node is not None and not self.fenced)
                done = one.end
            pieces.append(renamed(segment.text[done:], stated, self.format, self.words))
            texts[segment.index] = "".join(pieces)
        return texts, shown

    def _reminding(self, text: str, stated: Format | None) -> str:
        """A text with those lines reworded that ask for a format among other things."""
        return "\n".join(
            renamed(line, stated, self.format, self.words) if asked_format(line) == stated else line
            for line in text.split("\n")
        )

    def _skeleton(self, text: str, skeleton: Skeleton) -> str:
        if skeleton.node is None:
            return f"{text[skeleton.start : skeleton.end]}\n\n{_UNREAD}"
        if isinstance(skeleton.node, Leaf):
            return text[skeleton.start : skeleton.end]
        if not self.fenced:
            return self.render(skeleton.node)
        if skeleton.fence:
            tag = self.format if skeleton.tag else ""
            return f"{skeleton.fence}{tag}\n{self.render(skeleton.node)}\n{skeleton.fence}"
        before = text[: skeleton.start].rstrip(" \t")
        return ("" if not before or before.endswith("\n") else "\n") + self.render(skeleton.node)

    def _structure(self, node: Node) -> str:
        return f"```{self.format}\n{self.render(node)}\n```" if self.fenced else self.render(node)


def _asking(view: PromptView) -> list[Segment]:
    """The segments that say how to answer, skeletons in code segments behind them included."""
    found: list[Segment] = []
    for segment in view.segments:
        if segment.kind == "history":
            continue
        follows = bool(found) and found[-1].index == segment.index - 1 and found[-1].slot == segment.slot
        shown = follows and segment.type == "code" and found[-1].text.rstrip().endswith(":")
        if segment.type == "output_instructions" or shown:
            found.append(segment)
    return found


def _reminders(view: PromptView) -> dict[int, Format]:
    """The formats that other words of the template ask for, by segment: "You respond in JSON"."""
    found: dict[int, Format] = {}
    for segment in view.segments:
        if segment.kind == "template" and segment.type in ("instructions", "text"):
            asked = _asked_in(segment.text)
            if asked is not None:
                found[segment.index] = asked
    return found


def _is_asked_by_user(view: PromptView) -> bool:
    """Whether the last user message is no template's, and asks for a format somewhere."""
    own = [segment for segment in view.segments if segment.slot == view.last_user_slot]
    if any(segment.kind != "input" for segment in own):
        return False
    return any(_asked_in(segment.text) is not None for segment in own if segment.type != "document")


def _asked_in(text: str) -> Format | None:
    if named_format(text) is None:
        return None
    return next((asked for line in text.split("\n") if (asked := asked_format(line)) is not None), None)


def _stated(asking: Sequence[Segment]) -> Format | None:
    """The format that output instructions ask for: that of a skeleton, else the one they name."""
    named = _named(asking)
    shown = [
        one.format for segment in asking for one in skeletons(segment.text, named) if one.node is not None
    ]
    if named is not None and (named in shown or not shown):
        return named
    return next((one for one in shown if one is not None), named)


def _named(asking: Sequence[Segment]) -> Format | None:
    return named_format("\n".join(segment.text for segment in asking))


def _holds(texts: Collection[str], node: Node | None) -> bool:
    """Whether instructions name all fields already."""
    return node is None or all(any(name in text for text in texts) for name in names_in(node))


def _appended(text: str, sentence: str) -> str:
    core = text.rstrip()
    return f"{core}\n\n{sentence}{text[len(core) :]}"


def _with_request(view: PromptView, sentence: str) -> PromptView | NotApplicable:
    slot = view.last_user_slot
    if slot is None:
        return NotApplicable("no_user_slot", "the prompt holds no text of a user to add the request to")
    place = max(segment.index for segment in view.segments if segment.slot == slot)
    last = view.segments[place]
    text = (
        sentence if last.text.endswith("\n\n") else ("\n" if last.text.endswith("\n") else "\n\n") + sentence
    )
    added = replace(last, kind="template", type="output_instructions", text=text)
    return recut(view, [*view.segments[: place + 1], added, *view.segments[place + 1 :]])

"""A prompt as perturbations see it: messages cut into segments, on top of the untouched body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from shadow.prompt.chat import ChatBody, UnreadablePrompt, read_chat
from shadow.prompt.replay import replay_edits
from shadow.prompt.spans import Edit, splice, string_literal

if TYPE_CHECKING:
    from collections.abc import Mapping

SegmentKind = Literal["template", "input"]
"""Whether a segment belongs to the application's prompt or comes from its user or data."""


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a message's text, classified."""

    kind: SegmentKind
    text: str


Classifier = Callable[[str, str], Sequence[Block]]
"""(role, text) → blocks whose texts, joined, are the text."""


def by_role(role: str, text: str) -> Sequence[Block]:
    """What a user says is input, everything else (instructions, earlier answers) is template."""
    return (Block("input" if role == "user" else "template", text),)


@dataclass(frozen=True, slots=True)
class Segment:
    """The smallest stretch of a prompt that a perturbation can replace."""

    index: int
    """Place in `PromptView.segments`; the key for `with_texts`."""
    role: str
    kind: SegmentKind
    text: str
    message: int
    """Place in `PromptView.messages`."""
    part: int | None
    """Place in a content part list; None if the content is a plain string."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation."""

    role: str
    segments: tuple[Segment, ...]
    others: tuple[str, ...]
    """A note for each thing that is not text, such as "[image_url]"."""

    @property
    def text(self) -> str:
        """Its text for people: parts on lines of their own, then the notes."""
        parts: dict[int | None, str] = {}
        for segment in self.segments:
            parts[segment.part] = parts.get(segment.part, "") + segment.text
        return "\n".join((*parts.values(), *self.others))


@dataclass(frozen=True, slots=True)
class PromptView:
    """A chat-completions request body, its prompt readable and replaceable.

    Immutable: `with_texts` returns another view of the same body. As long as a segment keeps its
    text, the bytes of its string literal stay as the client wrote them, and so does everything
    around the literals: `body()` of an unedited view is the very bytes that were parsed.
    """

    segments: tuple[Segment, ...]
    """All text, in the order of the conversation."""
    _source: bytes
    _text: str
    _chat: ChatBody

    @classmethod
    def parse(cls, body: bytes, classify: Classifier = by_role) -> Self:
        """Read a request body.

        Args:
            body: Decompressed JSON in UTF-8.
            classify: Decides what is template and what is input, and may cut a text into several
                segments.

        Raises: UnreadablePrompt with the reason "not_json", "too_deep", "no_messages" or
            "unsupported_shape"; ValueError if `classify` loses or adds text.
        """
        try:
            text = body.decode()
        except UnicodeDecodeError as fault:
            raise UnreadablePrompt("not_json", f"not UTF-8 at byte {fault.start}") from fault
        chat = read_chat(text)
        segments: list[Segment] = []
        for number, message in enumerate(chat.messages):
            for slot in message.slots:
                blocks = classify(message.role, slot.text)
                if "".join(block.text for block in blocks) != slot.text:
                    raise ValueError(f"the classifier changed the text of message {number}")
                for block in blocks:
                    segments.append(
                        Segment(len(segments), message.role, block.kind, block.text, number, slot.part)
                    )
        return cls(tuple(segments), body, text, chat)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation in order, messages without text included."""
        return tuple(
            Message(raw.role, tuple(one for one in self.segments if one.message == number), raw.others)
            for number, raw in enumerate(self._chat.messages)
        )

    @property
    def text(self) -> str:
        """The whole prompt for people and judges: "role: text" blocks, a blank line between."""
        return "\n\n".join(f"{message.role}: {message.text}" for message in self.messages)

    @property
    def input_text(self) -> str:
        """The input segments alone, a blank line between; "" if there are none."""
        return "\n\n".join(segment.text for segment in self.segments if segment.kind == "input")

    @property
    def model(self) -> str | None:
        """The requested model, None if the body names none."""
        model = self._chat.get("model")
        return model if isinstance(model, str) else None

    @property
    def uses_tools(self) -> bool:
        """Whether the request offers the model any tool or (the older form) function."""
        return bool(self._chat.get("tools") or self._chat.get("functions"))

    def with_texts(self, texts: Mapping[int, str]) -> Self:
        """The same prompt with some segments' texts replaced.

        Args:
            texts: New text by segment index.

        Raises: IndexError if there is no such segment.
        """
        unknown = [index for index in texts if not 0 <= index < len(self.segments)]
        if unknown:
            raise IndexError(f"no segment {unknown[0]}: the prompt has {len(self.segments)}")
        return replace(
            self,
            segments=tuple(
                replace(segment, text=texts[segment.index]) if segment.index in texts else segment
                for segment in self.segments
            ),
        )

    def body(self) -> bytes:
        """The request body; identical to what was parsed if no text differs."""
        return self._write(self._text_edits())

    def for_replay(self) -> bytes:
        """The body with streaming and storing switched off and nothing else touched.

        A key that the client did not send is not added (see `shadow.prompt.replay`).
        """
        return self._write([*self._text_edits(), *replay_edits(self._chat.members)])

    def _write(self, edits: Sequence[Edit]) -> bytes:
        return splice(self._text, edits).encode() if edits else self._source

    def _text_edits(self) -> list[Edit]:
        now: dict[tuple[int, int | None], str] = {}
        for segment in self.segments:
            key = (segment.message, segment.part)
            now[key] = now.get(key, "") + segment.text
        # A client that escapes everything beyond ASCII gets its variants escaped as well.
        ascii_only = self._text.isascii()
        return [
            Edit(slot.start, slot.end, string_literal(now[number, slot.part], ascii_only=ascii_only))
            for number, message in enumerate(self._chat.messages)
            for slot in message.slots
            if now.get((number, slot.part), slot.text) != slot.text
        ]

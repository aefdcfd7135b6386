"""A prompt as perturbations see it: messages cut into segments, on top of the untouched body."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from evenkeel.core.text import well_formed
from evenkeel.shadow.prompt.apis import CHAT
from evenkeel.shadow.prompt.body import UnreadablePrompt
from evenkeel.shadow.prompt.members import LIMITED_OTHERWISE
from evenkeel.shadow.prompt.segments import TYPED, Segment, SlotText, by_role
from evenkeel.shadow.prompt.spans import Edit, member_edits, splice, string_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.core.tiers import Tier
    from evenkeel.shadow.prompt.apis import Api
    from evenkeel.shadow.prompt.body import Body
    from evenkeel.shadow.prompt.segments import Block, Classifier, InputSource


@dataclass(frozen=True, slots=True)
class Message:
    """Message of the conversation."""

    role: str
    segments: tuple[Segment, ...]
    others: tuple[str, ...]
    """Notes on everything that is not text, such as "[image_url]"."""

    @property
    def text(self) -> str:
        """Return the text for people: each part on lines of its own, then the notes."""
        parts: dict[int | None, str] = {}
        for segment in self.segments:
            parts[segment.part] = parts.get(segment.part, "") + segment.text
        return "\n".join((*parts.values(), *self.others))


@dataclass(frozen=True, slots=True)
class PromptView:
    """A request body of any API we know, its prompt readable and replaceable.

    Immutable: `with_texts` returns another view of the same body. As long as a segment keeps its
    text, the bytes of its string literal stay as the client wrote them, and so does everything
    around the literals: `body()` of an unedited view is the very bytes that were parsed.
    """

    segments: tuple[Segment, ...]
    """All text, in the order of the conversation."""
    slots: tuple[SlotText, ...]
    """Strings of the body that carry prompt text. Where all lines end in "\r\n", as those from web forms do,
    "\n" stands for it: so no rule about lines has to know both. `body` writes them as the client did."""
    api: Api
    _source: bytes
    _text: str
    _body: Body
    _members: Mapping[str, str | None] = field(default_factory=dict)
    """Top-level members that were set (their JSON text) or removed (None)."""
    inputs: frozenset[InputSource] = TYPED
    """Sources of the words that perturbations of the input may change."""

    @classmethod
    def parse(cls, body: bytes, classify: Classifier = by_role, *, api: Api = CHAT) -> Self:
        """Read a request body.

        Args:
            body: Decompressed JSON in UTF-8.
            classify: Decides what is template and what is input, and may cut a text into several
                segments.
            api: What the request's path says, see `api_of`.

        Raises: UnreadablePrompt with the reason "not_json", "too_deep", "no_messages", "token_prompt"
            or "unsupported_shape"; ValueError if `classify` loses or adds text.
        """
        try:
            text = body.decode()
        except UnicodeDecodeError as fault:
            raise UnreadablePrompt("not_json", f"not UTF-8 at byte {fault.start}") from fault
        read = api.read_body(text)
        slots: list[SlotText] = []
        for number, message in enumerate(read.messages):
            for slot in message.slots:
                slots.append(SlotText(message.role, _as_read(slot.text), number, slot.part))
        return cls(_cut(slots, classify(slots)), tuple(slots), api, body, text, read)

    def classified(self, classify: Classifier) -> Self:
        """The same body, its text cut into other segments; edits are lost.

        Raises: ValueError if `classify` loses or adds text.
        """
        return replace(self, segments=_cut(self.slots, classify(self.slots)), _members={})

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation in order, messages without text included."""
        segments: dict[int, list[Segment]] = {}
        for segment in self.segments:
            segments.setdefault(segment.message, []).append(segment)
        messages: list[Message] = []
        for number, raw in enumerate(self._body.messages):
            messages.append(Message(raw.role, tuple(segments.get(number, ())), raw.others))
        return tuple(messages)

    @property
    def text(self) -> str:
        """The whole prompt for people and judges: "role: text" blocks, a blank line between.

        Always well-formed: lone surrogates, which a body may hold, are replaced.
        """
        return well_formed("\n\n".join(f"{message.role}: {message.text}" for message in self.messages))

    @property
    def asked(self) -> tuple[tuple[int, int], ...]:
        """Return spans in `text` of the user's last input: the typed words, else all input."""
        asked_spans: dict[str, list[tuple[int, int]]] = {}
        at = 0
        for message in self.messages:
            start = at + len(message.role) + 2
            here: dict[str, list[tuple[int, int]]] = {"typed": [], "input": []}
            for index, segment in enumerate(message.segments):
                if index and segment.part != message.segments[index - 1].part:
                    start += 1
                end = start + len(segment.text)
                if segment.kind == "input" and segment.text.strip():
                    here["input"].append((start, end))
                    if segment.source == "typed":
                        here["typed"].append((start, end))
                start = end
            asked_spans |= {name: spans for name, spans in here.items() if spans}
            at += len(f"{message.role}: {message.text}\n\n")
        return tuple(asked_spans.get("typed", asked_spans.get("input", [])))

    @property
    def input_text(self) -> str:
        """Return the input segments, joined by blank lines; "" if there are none."""
        return "\n\n".join(segment.text for segment in self.segments if segment.kind == "input")

    @property
    def typed(self) -> tuple[Segment, ...]:
        """Return the segments whose source is in `inputs`, blank ones excluded.

        Of what users typed only the last message counts: it is the one that is being answered. One that
        says nothing but how to answer ("Write a config in YAML") is typed as well.
        """
        words: list[Segment] = []
        last = -1
        for segment in self.segments:
            if segment.source in self.inputs and segment.text.strip():
                words.append(segment)
                last = segment.message if segment.source == "typed" else last
        answered: list[Segment] = []
        for segment in words:
            if segment.source != "typed" or segment.message == last:
                answered.append(segment)
        only = self._only_segment
        if "typed" in self.inputs and only is not None and only.type == "output_instructions":
            return (*(segment for segment in answered if segment.source != "typed"), only)
        return tuple(answered)

    @property
    def _only_segment(self) -> Segment | None:
        """Return the segment that the user's last message consists of; None if it has more, or none."""
        slot = self.last_user_slot
        own = [segment for segment in self.segments if slot is not None and segment.message == slot[0]]
        return own[0] if len(own) == 1 and own[0].kind == "input" else None

    @property
    def last_user_slot(self) -> tuple[int, int | None] | None:
        """Return the (message, part) of the last string in a user's message, None if there is none."""
        for slot in reversed(self.slots):
            if slot.role == "user":
                return slot.message, slot.part
        return None

    @property
    def model(self) -> str | None:
        """The requested model, None if the body names none."""
        model = self._body.get("model")
        return well_formed(model) if isinstance(model, str) else None

    def with_texts(self, texts: Mapping[int, str]) -> Self:
        """The same prompt with some segments' texts replaced.

        Args:
            texts: New text by segment index.

        Raises: IndexError if there is no such segment.
        """
        unknown = [index for index in texts if not 0 <= index < len(self.segments)]
        if unknown:
            raise IndexError(f"no segment {unknown[0]}: the prompt has {len(self.segments)}")
        segments = list(self.segments)
        for index, text in texts.items():
            segments[index] = replace(segments[index], text=text)
        return replace(self, segments=tuple(segments))

    def recut(self, segments: Iterable[Segment]) -> Self:
        """Return the same body with these segments in place of all its text.

        A segment moves to another slot by `replace(segment, message=…, part=…)`; slots that lose all their
        segments become empty strings. Whoever calls it answers for the text being complete.

        Args:
            segments: All of the variant, in order within each slot; their indices and roles are set anew.

        Raises: KeyError if a segment names a slot that the prompt does not have.
        """
        slots = {}
        for slot_index, slot in enumerate(self.slots):
            slots[slot.message, slot.part] = (slot_index, slot.role)
        placed = sorted(segments, key=lambda segment: slots[segment.slot][0])
        numbered: list[Segment] = []
        for index, segment in enumerate(placed):
            numbered.append(replace(segment, index=index, role=slots[segment.slot][1]))
        return replace(self, segments=tuple(numbered))

    def changing(self, inputs: Iterable[InputSource]) -> Self:
        """The same prompt, changes of a user's input to be made in the words of these."""
        return replace(self, inputs=frozenset(inputs))

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the top-level keys in the order the client wrote them, repeated ones included."""
        return tuple(member.key for member in self._body.members)

    @property
    def left_out(self) -> frozenset[str]:
        """The top-level keys that a replay does not carry."""
        return self.api.left_out(self._body.members)

    @property
    def members_left_out(self) -> list[tuple[str, Any]]:
        """Return the keys that a replay leaves out, with their decoded values as the client wrote them."""
        gone = self.left_out
        members: list[tuple[str, Any]] = []
        for member in self._body.members:
            if member.key in gone:
                members.append((member.key, member.value.decoded))
        return members

    def get(self, key: str) -> Any:
        """Return the current decoded value of a top-level member, None if it is absent."""
        if key in self._members:
            written = self._members[key]
            return None if written is None else json.loads(written)
        return self._body.get(key)

    def with_members(self, changes: Mapping[str, str | None]) -> Self:
        """The same body with top-level members set or removed.

        Args:
            changes: JSON text of the new value by key; None removes the member. A member that is not
                there is added behind the last one.
        """
        return replace(self, _members={**self._members, **changes})

    def body(self) -> bytes:
        """Return the request body; identical to the parsed one if no text differs."""
        edits = [*self._text_edits(), *member_edits(self._body.members, self._members)]
        return splice(self._text, edits).encode() if edits else self._source

    @property
    def may_be_limited(self) -> bool:
        """Return whether the answer's usual length may be its limit: no reasoning is asked for beside it."""
        return LIMITED_OTHERWISE.isdisjoint(self.keys)

    def for_replay(self, tier: Tier = "standard", most_tokens: int | None = None) -> bytes:
        """Return the body that a replay sends: known members only, nothing stored, one choice.

        It is streamed if the original was: some servers name another model in streams than in whole answers.

        What `with_members` set stays. Whether it may be sent at all is `refusal`'s to say.

        Args:
            tier: In which it asks for its answer.
            most_tokens: What a higher limit of the answer becomes; None leaves it.
        """
        changes = self.api.replay_changes(self._body.members, tier, most_tokens)
        kept = self._members.keys() & self.left_out
        return self.with_members({key: new for key, new in changes.items() if key not in kept}).body()

    def _text_edits(self) -> list[Edit]:
        texts: defaultdict[tuple[int, int | None], list[str]] = defaultdict(list)
        for segment in self.segments:
            texts[segment.slot].append(segment.text)
        now = {slot: "".join(pieces) for slot, pieces in texts.items()}
        # A client that escapes everything beyond ASCII gets its variants escaped as well.
        ascii_only = self._text.isascii()
        edits: list[Edit] = []
        for number, message in enumerate(self._body.messages):
            for slot in message.slots:
                before = _as_read(slot.text)
                text = now.get((number, slot.part), before)
                if text != before:
                    text = text if before is slot.text else _with_crlf(text)
                    edits.append(Edit(slot.start, slot.end, string_literal(text, ascii_only=ascii_only)))
        return edits


def _as_read(text: str) -> str:
    r"""Return a text with "\n" for each "\r\n"; the text itself if some of its lines end in "\n" alone."""
    count = text.count("\n")
    return text.replace("\r\n", "\n") if count and count == text.count("\r\n") else text


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _cut(slots: Sequence[SlotText], cut: Sequence[Sequence[Block]]) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    for slot, blocks in zip(slots, cut, strict=True):
        if "".join(block.text for block in blocks) != slot.text:
            raise ValueError(f"the classifier changed the text of message {slot.message}")
        for block in blocks:
            position = len(segments)
            segments.append(
                Segment(position, slot.role, block.kind, block.type, block.text, slot.message, slot.part)
            )
    return tuple(segments)

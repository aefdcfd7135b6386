"""OpenAI's chat completions, with what gateways and open servers add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.answer import (
    ChoicesReader,
    UnreadableAnswer,
    count,
    elements,
    fields,
    string,
    text_of,
    written,
)
from evenkeel.shadow.prompt.apis.protocol import Api, Refusal
from evenkeel.shadow.prompt.body import RawMessage, last, listed, read_content, role_of
from evenkeel.shadow.prompt.members import ANY_API, FORM, SAMPLING
from evenkeel.shadow.prompt.spans import members_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenkeel.shadow.answer import Call, Place
    from evenkeel.shadow.prompt.apis.protocol import Get
    from evenkeel.shadow.prompt.spans import Member, Value

_OWN_MEMBERS: Final = frozenset({
    "messages", "modalities", "functions", "function_call",
    # how open servers render the prompt and the reasoning
    "chat_template", "chat_template_kwargs", "add_generation_prompt", "continue_final_message", "documents",
    "mm_processor_kwargs", "media_io_kwargs", "tool_prompt", "think", "enable_thinking", "thinking_budget",
    "thinking_token_budget", "thinking_forced_open", "include_reasoning", "reasoning_format",
    "reasoning_split", "separate_reasoning", "disable_reasoning", "clear_thinking", "parse_tool_calls",
    # Mistral, Cohere, Groq, Qwen, Baidu
    "safe_prompt", "prompt_mode", "safety_mode", "citation_options", "disable_tool_validation",
    "translation_options", "vl_high_resolution_images", "disable_search",
    # OpenRouter: which provider serves the model; not `models`: another could answer at another price
    "provider", "transforms",
    # Anthropic's, as gateways take them
    "anthropic_version", "system", "stop_sequences", "output_config", "output_format", "effort",
})  # fmt: skip


def _call_notes(calls: Iterable[Any]) -> list[str]:
    """Return the calls of an earlier assistant turn as notes for showing."""
    notes: list[str] = []
    for function in map(_function, map(fields, calls)):
        if function:
            notes.append(f"[calls {function.get('name')} {function.get('arguments', function.get('input'))}]")
    return notes


class ChatReader(ChoicesReader):
    """Reads chat completions. A refusal counts as text.

    Servers stream tool calls in different ways. A piece belongs to the call that has its id; else to the one
    that was begun last at its index (without one: its place in the list), unless it begins another.
    """

    def __init__(self) -> None:
        super().__init__()
        self._by_id: dict[str, Place] = {}
        # Place of the call that was begun last, by its index.
        self._at_index: dict[int, Place] = {}

    def read_choice(self, choice: dict[str, Any], *, whole: bool) -> None:
        """Implement `ChoicesReader`."""
        message = fields(choice.get("message") if whole else choice.get("delta"))
        if whole and not message and "delta" in choice:
            # A single piece: of a stream that was cut off, or of a server that sends no more.
            if not string(choice.get("finish_reason")):
                raise UnreadableAnswer("truncated_stream", "the stream ends before the answer does")
            message = fields(choice["delta"])
        if not whole and not message:
            # Some servers close a stream with a whole message in place of a delta.
            message = fields(choice.get("message"))
            whole = self._starts_over(message)
        self.draft.text.append(_content(message) or text_of(choice.get("text")))
        self.draft.fallback.append(text_of(message.get("refusal")))
        self.draft.fallback.append(text_of(fields(message.get("audio")).get("transcript")))
        tokens = map(fields, elements(fields(choice.get("logprobs")).get("content")))
        self.draft.note_logprobs(token.get("logprob") for token in tokens)
        calls = message.get("tool_calls")
        # TGI streams a call by itself where others have a list of calls.
        calls = [calls] if isinstance(calls, dict) else elements(calls)
        for number, raw in enumerate(calls):
            call = fields(raw)
            if whole:
                self._add_call((number, 0), call)
            else:
                self._add_call(self._place(number, call), call)
        if not calls and isinstance(message.get("function_call"), dict):  # the older form of one call
            self._add_call((0, 0), message)

    def _starts_over(self, message: dict[str, Any]) -> bool:
        """Forget the pieces of a message that now comes as a whole; return whether it does."""
        draft = self.draft
        repeated = text_of(message.get("content")).startswith("".join(draft.text))
        calls = elements(message.get("tool_calls"))
        if repeated:
            draft.text.clear()
            draft.fallback.clear()
        if calls and len(calls) >= len(draft.calls):
            draft.calls.clear()
        return repeated

    def _place(self, number: int, call: dict[str, Any]) -> Place:
        """Return the place of the call that a piece, the `number`th of its list, belongs to."""
        call_id = string(call.get("id")) or ""
        if call_id in self._by_id:
            return self._by_id[call_id]
        stated = count(call.get("index"), None)
        index = number if stated is None else stated
        place = self._at_index.get(index)
        if place is None or self._begins_another(self.draft.calls[place], call, call_id):
            begun = len(self.draft.calls)
            place = (begun if stated is None else index, begun)
            self._at_index[index] = place
        if call_id:
            self._by_id[call_id] = place
        return place

    def _begins_another(self, held: Call, call: dict[str, Any], call_id: str) -> bool:
        """Return whether a piece with an id that is new, or with none, is not a part of this call."""
        function = _function(call)
        name = text_of(function.get("name"))
        if not name:
            return False  # some servers make up an id for each piece
        if held.whole:
            return bool(call_id or written(function.get("arguments")))
        return bool(call_id) and (name != held.name or not held.pieces)

    def _add_call(self, place: Place, call: dict[str, Any]) -> None:
        function = _function(call)
        arguments = function.get("arguments", function.get("input"))
        self.draft.add_call(place, text_of(function.get("name")), written(arguments))


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, dict) and not content.keys() & {"type", "text"}:
        return written(content)  # some gateways parse the JSON that was asked for
    return text_of(content)


def _function(call: dict[str, Any]) -> dict[str, Any]:
    return fields(call.get("function") or call.get("function_call") or call.get("custom"))


class ChatApi(Api):
    """Chat completions: `messages` with a role each."""

    name = "chat"
    path = "chat/completions"
    prompt_members = ("messages", "system")
    kept = ANY_API | SAMPLING | FORM | _OWN_MEMBERS
    usage_on_request = True
    answer_reader = ChatReader
    limits = ("max_tokens", "max_completion_tokens")
    has_flex = True

    def messages(self, text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
        """Implement `Api`."""
        elements = listed(text, members, "messages")
        messages: list[RawMessage] = []
        for index, element in enumerate(elements):
            messages.append(self._message(text, index, element))
        return tuple(messages)

    def _message(self, text: str, index: int, message: Value) -> RawMessage:
        role = role_of(index, message)
        content = read_content(text, last(members_of(text, message.start)[0], "content"), self.text_parts)
        # The older form of one call, whose result has a role of its own.
        calls = [*elements(message.decoded.get("tool_calls")), message.decoded]
        role = "tool" if role == "function" else role
        return RawMessage(role, content.slots, (*content.notes, *_call_notes(calls)))

    def refusals(self, get: Get) -> Iterator[Refusal]:
        """Implement `Api`: xAI answers a deferred request with a name under which to ask for the answer."""
        if get("deferred"):
            yield Refusal("background", "the answer is fetched later, by another request")

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """Implement `Api`."""
        for choice in elements(body.get("choices")):
            if "message" in fields(choice):
                return True
        return False

    def ask(self, question: str) -> dict[str, Any]:
        """Implement `Api`."""
        return {"messages": [{"role": "user", "content": question}]}


CHAT: Final = ChatApi()

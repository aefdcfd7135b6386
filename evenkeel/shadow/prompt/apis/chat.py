"""OpenAI's chat completions, with what gateways and open servers add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.llm.answer import ChatReader, called_function, elements, fields
from evenkeel.shadow.prompt.apis.protocol import Api, Refusal
from evenkeel.shadow.prompt.body import RawMessage, last, listed, message_of, role_of
from evenkeel.shadow.prompt.members import ANY_API, FORM, SAMPLING
from evenkeel.shadow.prompt.spans import members_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
    for function in map(called_function, map(fields, calls)):
        if function:
            notes.append(f"[calls {function.get('name')} {function.get('arguments', function.get('input'))}]")
    return notes


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
        content = last(members_of(text, message.start)[0], "content")
        # The older form of one call, whose result has a role of its own.
        calls = [*elements(message.decoded.get("tool_calls")), message.decoded]
        role = "tool" if role == "function" else role
        return message_of(text, role, content, self.text_parts, _call_notes(calls))

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

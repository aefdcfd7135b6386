"""Google's `generateContent`, at Gemini and at Vertex AI: `contents`, made of parts, and `systemInstruction`.

The model stands in the path, and so does whether the answer is streamed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.llm.answer import (
    AnswerReader,
    UnreadableAnswer,
    count,
    elements,
    error_body,
    fields,
    string,
    text_of,
    written,
)
from evenkeel.shadow.prompt.apis.protocol import Api
from evenkeel.shadow.prompt.body import (
    RawMessage,
    Slot,
    UnreadablePrompt,
    call_note,
    last,
    listed,
    message_of_parts,
)
from evenkeel.shadow.prompt.spans import elements_of, members_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier
    from evenkeel.shadow.prompt.spans import Member, Value

_SYSTEM: Final = ("systemInstruction", "system_instruction")
_CONFIG: Final = ("generationConfig", "generation_config")
_ROLES: Final = {"model": "assistant", "function": "tool"}
_FUNCTIONS: Final = frozenset({"functionDeclarations", "function_declarations"})
# Tools that the client runs beside functions: it is told what to click and where.
_AT_CLIENT: Final = frozenset({"computerUse", "computer_use"})
_CANDIDATES: Final = ("candidateCount", "candidate_count")
# Reasons to stop by the names that other APIs give them; any other stays, in lower case.
_FINISH: Final = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


def _is_declaration(function: Any) -> bool:
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _message(text: str, content: Value, role: str) -> RawMessage:
    """Return a message of text parts; anything else in it is noted. Thoughts are the model's own."""
    parts = last(members_of(text, content.start)[0], "parts")
    elements_read = elements_of(text, parts.start) if parts and isinstance(parts.decoded, list) else ()
    read: list[Slot | str] = []
    for number, part in enumerate(elements_read):
        members = members_of(text, part.start)[0] if isinstance(part.decoded, dict) else ()
        value = last(members, "text")
        if value is not None and isinstance(value.decoded, str) and not part.decoded.get("thought"):
            read.append(Slot(value.start, value.end, value.decoded, number))
            continue
        read.append(_note(text, part, members))
        if "functionResponse" in fields(part.decoded):
            role = "tool"
    return message_of_parts(role, read)


def _note(text: str, part: Value, members: tuple[Member, ...]) -> str:
    """Return a note on a part that is no text, its arguments or result as written in the body."""
    call, result = last(members, "functionCall"), last(members, "functionResponse")
    if call is not None and isinstance(call.decoded, dict):
        return call_note(text, call, "args")
    if result is not None and isinstance(result.decoded, dict):
        response = last(members_of(text, result.start)[0], "response")
        shown = text[response.start : response.end] if response is not None else ""
        return f"[result of {result.decoded.get('name')} {shown}]"
    return f"[{next(iter(fields(part.decoded)), 'part')}]"


class GeminiReader(AnswerReader):
    """Reads answers, of which the pieces of a stream have the same shape. Thoughts are skipped."""

    def __init__(self) -> None:
        super().__init__()
        self._any_candidate = False
        # Arguments of a call that arrive in pieces, by their path; None while there is no such call.
        self._pieces: dict[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """Implement `AnswerReader`."""
        return bool(self.draft.finish_reason)

    def whole(self, body: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        self.event(body)

    def event(self, data: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        if data.get("error"):
            raise error_body(data["error"])
        blocked = string(fields(data.get("promptFeedback")).get("blockReason"))
        if blocked:
            raise error_body({"code": blocked})
        draft = self.draft
        draft.note_origin({"model": data.get("modelVersion"), "id": data.get("responseId")})
        self._note_usage(fields(data.get("usageMetadata")))
        for candidate in map(fields, elements(data.get("candidates"))):
            if candidate.get("index"):
                continue
            self._any_candidate = True
            for part in map(fields, elements(fields(candidate.get("content")).get("parts"))):
                self._add_part(part)
            reason = string(candidate.get("finishReason"))
            if reason:
                draft.finish_reason = _FINISH.get(reason, reason.lower())

    def answer(self) -> Answer:
        """Implement `AnswerReader`."""
        if not self._any_candidate:
            raise UnreadableAnswer("no_output", "the response holds no candidate")
        return self.draft.answer()

    def _add_part(self, part: dict[str, Any]) -> None:
        call = part.get("functionCall")
        if self._pieces is not None and isinstance(call, dict):
            self._add_pieces(call)
        elif call and fields(call).get("willContinue"):
            self.draft.add_call((len(self.draft.calls), 0), text_of(call.get("name")), "")
            self._pieces = {}
            self._add_pieces(call)
        elif call:
            place = (len(self.draft.calls), 0)
            call = fields(call)
            self.draft.add_call(place, text_of(call.get("name")), written(call.get("args") or {}))
        elif not part.get("thought"):
            self.draft.text.append(text_of(part.get("text")))

    def _add_pieces(self, call: dict[str, Any]) -> None:
        """Add pieces of the latest call's arguments. Vertex AI streams them, each named by its path."""
        assert self._pieces is not None
        for piece in map(fields, elements(call.get("partialArgs"))):
            path = text_of(piece.get("jsonPath"))
            value = next((piece[key] for key in piece if key.endswith("Value")), None)
            before = self._pieces.get(path, "")
            joined = isinstance(value, str) and isinstance(before, str)
            self._pieces[path] = before + value if joined else value
        if not call.get("willContinue"):
            self.draft.add_call((len(self.draft.calls) - 1, 0), "", written(self._pieces))
            self._pieces = None

    def _note_usage(self, usage: dict[str, Any]) -> None:
        thoughts = count(usage.get("thoughtsTokenCount"), None)
        completion = count(usage.get("candidatesTokenCount"), thoughts and 0)
        usage_fields = {
            "prompt_tokens": usage.get("promptTokenCount"),
            "completion_tokens": None if completion is None else completion + (thoughts or 0),
            "prompt_tokens_details": {"cached_tokens": usage.get("cachedContentTokenCount")},
            "completion_tokens_details": {"reasoning_tokens": thoughts},
        }
        self.draft.note_usage(usage_fields, ("prompt_tokens",), "completion_tokens")


class GeminiApi(Api):
    """Google's models: `contents` with a role and parts each."""

    name = "gemini"
    path = "generateContent"
    prompt_members = ("contents", *_SYSTEM)
    kept = frozenset({
        "contents", *_SYSTEM, *_CONFIG, "tools", "toolConfig", "tool_config", "safetySettings",
        "safety_settings", "cachedContent", "cached_content",
    })  # fmt: skip
    answer_reader = GeminiReader
    limits = ()
    adds_limit = False  # it stands among other settings, and counts thoughts

    def messages(self, text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
        """Implement `Api`; the system instruction comes first."""
        messages: list[RawMessage] = []
        for key in _SYSTEM:
            system = last(members, key)
            if system is not None and isinstance(system.decoded, dict):
                messages.append(_message(text, system, "system"))
        for index, content in enumerate(listed(text, members, "contents")):
            if not isinstance(content.decoded, dict):
                raise UnreadablePrompt("unsupported_shape", f"content {index} is not an object")
            role = string(content.decoded.get("role")) or "user"
            messages.append(_message(text, content, _ROLES.get(role, role)))
        return tuple(messages)

    def runs_at_client(self, tool: Mapping[str, Any], is_function: Callable[[Any], bool]) -> bool:  # noqa: ARG002 - of `Api`
        """Implement `Api`: lists of functions, or the use of a computer, and nothing else."""
        if not tool or not tool.keys() <= _FUNCTIONS | _AT_CLIENT:
            return False
        for key, held in tool.items():
            functions = elements(held)
            if key in _FUNCTIONS and not (functions and all(map(_is_declaration, functions))):
                return False
        return True

    def replay_changes(
        self, members: tuple[Member, ...], tier: Tier = "standard", most_tokens: int | None = None
    ) -> dict[str, str | None]:
        """Extend `Api`: of several candidates only the first is compared, and each costs as much."""
        changes = super().replay_changes(members, tier, most_tokens)
        for member in members:
            config = fields(member.value.decoded) if member.key in _CONFIG else {}
            if any(config.get(key) not in (None, 1) for key in _CANDIDATES):
                alone = dict(config)
                for key in _CANDIDATES:
                    alone.pop(key, None)
                changes[member.key] = json.dumps(alone)
        return changes

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """Implement `Api`."""
        return isinstance(body.get("candidates"), list)

    def ask(self, question: str) -> dict[str, Any]:
        """Implement `Api`."""
        return {"contents": [{"role": "user", "parts": [{"text": question}]}]}


GEMINI: Final = GeminiApi()

"""Answers of models: a draft that is filled piece by piece, and the readers that fill it.

`ChatReader` reads chat completions, whether evenkeel's own calls or those of an application; the other APIs
have theirs in `shadow.prompt.apis`. Chat completions and completions hold choices, of which the first is
read: a request with `n > 1` is compared by its choice 0.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.text import named_if, well_formed
from evenkeel.core.thoughts import without_thoughts
from evenkeel.llm.encodings import UnreadableBody
from evenkeel.llm.price import MOST_TOKENS, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Types of parts that are thoughts, some of which have a text like others.
_THOUGHTS: Final = ("thinking", "reasoning")
# Characters from which on a tool's name is long enough.
_LONGEST_NAME: Final = 1_000
# Shortest text that is taken for a repetition of the whole text; shorter ones come by chance.
_SHORTEST_REPETITION: Final = 20
# Characters of an endpoint's own word for an error that a reason repeats.
_LONGEST_KIND: Final = 80
# Members of a choice, one of which holds the answer.
_ANSWERING: Final = ("message", "text", "delta")


class UnreadableAnswer(UnreadableBody):
    """A response body that holds no answer to compare.

    Reasons: "not_json", "no_choices" (of the APIs with choices), "no_output" (of the others),
    "error_body", "unfinished", "truncated_stream"; "too_large" for a stream of too many events.
    """


def error_body(error: Any) -> UnreadableAnswer:
    """Return an exception that describes the error an endpoint reported. Its message is not quoted."""
    named = fields(error)
    code = named.get("code")
    code = str(code) if isinstance(code, int) else string(code)
    kind = code or string(named.get("type")) or "no type"
    return UnreadableAnswer("error_body", f"the endpoint reports an error ({kind[:_LONGEST_KIND]})")


def fields(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def elements(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def string(value: Any) -> str | None:
    """Return the value if it is a string, else None."""
    return value if isinstance(value, str) else None


def text_of(value: Any) -> str:
    """Return a string, or the text of a part or of a list of parts, which some servers send; else "".

    Parts that are thoughts have no text.
    """
    if isinstance(value, list):
        return "".join(map(text_of, value))
    if isinstance(value, dict):
        return "" if value.get("type") in _THOUGHTS else text_of(value.get("text"))
    return value if isinstance(value, str) else ""


def written(value: Any) -> str:
    """Return the arguments of a call as text.

    An object, as some servers send it, is written as JSON; null becomes "".
    """
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def count(value: Any, otherwise: int | None) -> int | None:
    """Return a whole number from 0 to `MOST_TOKENS`, or `otherwise` if the value is anything else."""
    counted = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if counted else otherwise


Place = tuple[int, int]
"""Place of a tool call in an answer: its index, and how many calls had been begun before it."""


@dataclass(slots=True)
class Call:
    """A tool call that arrives in pieces."""

    name: str = ""
    pieces: list[str] = field(default_factory=list)
    """Pieces of the arguments. They are joined once: there may be a million of them."""
    chars: int = 0
    """Characters of all pieces."""
    depth: int = 0
    """Opening braces of the arguments without their closing ones."""
    closed: bool = False
    """True if the last piece that is not blank ends with a brace."""

    @property
    def whole(self) -> bool:
        """Return whether the arguments are as good as certainly complete."""
        return not self.depth and self.closed

    @property
    def arguments(self) -> str:
        """Return the arguments so far."""
        return "".join(self.pieces)

    def add(self, piece: str) -> None:
        """Append a piece of the arguments.

        Arguments that come in pieces and then whole are taken once. What follows an empty object replaces it.
        """
        repeated = len(piece) == self.chars and piece == self.arguments
        # A blank behind an empty object begins nothing.
        if self.whole and piece.strip() and (repeated or self.pieces == ["{}"]):
            self.clear()
        if piece:
            self.pieces.append(piece)
            self.chars += len(piece)
            self.depth += piece.count("{") - piece.count("}")
        if piece.strip():
            self.closed = piece.rstrip().endswith("}")

    def clear(self) -> None:
        """Forget the arguments."""
        self.pieces.clear()
        self.chars = self.depth = 0
        self.closed = False


_PROMPT_DETAILS: Final = ("prompt_tokens_details", "input_tokens_details")
_ANSWER_DETAILS: Final = ("completion_tokens_details", "output_tokens_details")
# Names that Anthropic and DeepSeek use for the number of prompt tokens read from the cache.
_CACHED: Final = ("cache_read_input_tokens", "prompt_cache_hit_tokens")
_CACHE_WRITES: Final = ("cache_creation_input_tokens",)


@dataclass(slots=True)
class AnswerDraft:
    """An answer that arrives in pieces."""

    text: list[str] = field(default_factory=list)
    fallback: list[str] = field(default_factory=list)
    """Pieces of a refusal or of the transcript of speech; the answer's text if there is no other."""
    refused: bool = False
    """True if a member of its own says that the model declined."""
    calls: dict[Place, Call] = field(default_factory=dict)
    """Tool calls by place, in whose order they stand."""
    model: str | None = None
    system_fingerprint: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def note_origin(self, body: dict[str, Any]) -> None:
        """Record the model, fingerprint and id of the response. The latest statement wins."""
        self.model = string(body.get("model")) or self.model
        self.system_fingerprint = string(body.get("system_fingerprint")) or self.system_fingerprint
        self.response_id = string(body.get("id")) or self.response_id

    def note_usage(self, usage: Any, prompt_keys: Sequence[str], completion_key: str) -> None:
        """Record the token counts. The latest statement wins.

        `prompt_keys` name the counts that make up the prompt's; without the first there is none.
        """
        usage_fields = fields(usage)
        first, *more = (count(usage_fields.get(key), None) for key in prompt_keys)
        if first is not None:
            self.prompt_tokens = first + sum(part or 0 for part in more)
        completion, whole = (
            count(usage_fields.get(completion_key), None),
            count(usage_fields.get("total_tokens"), None),
        )
        thoughts = []
        for key in _ANSWER_DETAILS:
            details = fields(usage_fields.get(key))
            thoughts.append(count(details.get("reasoning_tokens", details.get("thinking_tokens")), None))
        if completion is not None and whole is not None and first is not None and whole - first > completion:
            # Some servers count the tokens of reasoning only in the total.
            thoughts.append(whole - first - completion)
            completion = whole - first
        self.completion_tokens = self.completion_tokens if completion is None else completion
        self.reasoning_tokens = max(
            (thought for thought in thoughts if thought is not None), default=self.reasoning_tokens
        )
        self.cached_tokens = _stated(usage_fields, _CACHED, "cached_tokens", self.cached_tokens)
        self.cache_write_tokens = _stated(
            usage_fields, _CACHE_WRITES, "cache_write_tokens", self.cache_write_tokens
        )

    def add_call(self, place: Place, name: str, arguments: str) -> None:
        """Append a piece to a tool call, creating the call with its first piece.

        A name that is repeated with every piece is taken once.
        """
        call = self.calls.setdefault(place, Call())
        # A name without end would be copied with each of its pieces.
        if name != call.name and len(call.name) < _LONGEST_NAME:
            call.name += name
        call.add(arguments)

    def answer(self) -> Answer:
        """Return the answer received so far. All its strings are well-formed.

        Thoughts that the server left at the head of the text are set aside, and counted as such.
        """
        whole = _joined(self.text)
        text = without_thoughts(whole)
        if text is not whole and not self.reasoning_tokens:
            self.reasoning_tokens = estimate_tokens(whole) - estimate_tokens(text) + 1
        calls: list[ToolCall] = []
        for place in sorted(self.calls):
            call = self.calls[place]
            calls.append(ToolCall(well_formed(call.name), well_formed(call.arguments)))
        return Answer(
            text=well_formed(text or "".join(self.fallback)),
            tool_calls=tuple(calls),
            model=_well_formed(self.model),
            system_fingerprint=_well_formed(self.system_fingerprint),
            finish_reason=_well_formed(self.finish_reason),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cached_tokens=self.cached_tokens,
            cache_write_tokens=self.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens,
            response_id=named_if(_well_formed(self.response_id)),
        )


def _stated(usage: dict[str, Any], names: Iterable[str], detail: str, before: int | None) -> int | None:
    """Return a count of prompt tokens under any of its names, or the one before where there is none."""
    stated = [usage.get(name) for name in names]
    stated += [fields(usage.get(key)).get(detail) for key in _PROMPT_DETAILS]
    # Gateways state one number in several places, and in some of them 0.
    most = max(count(tokens, -1) or 0 for tokens in stated)
    return most if most >= 0 else before


def _joined(pieces: Iterable[str]) -> str:
    """Join the pieces of a text.

    Some servers send all of the text so far with each piece (DashScope, Gemini), or once more at the end
    (RAGFlow).
    """
    texts = []
    for piece in pieces:
        if piece:
            texts.append(piece)
    whole = "".join(texts)
    if len(texts) > 1 and len(texts[-1]) >= _SHORTEST_REPETITION and 2 * texts[-1] == whole:
        return texts[-1]
    if len(texts) > 2:  # noqa: PLR2004 - two pieces begin alike by chance
        for piece, later in pairwise(texts):
            if len(later) <= len(piece) or not later.startswith(piece):
                return whole
        return texts[-1]
    return whole


def _well_formed(text: str | None) -> str | None:
    return None if text is None else well_formed(text)


class AnswerReader(ABC):
    """Reads one response of one API: either `whole` once, or `event` for each event of a stream.

    All methods raise UnreadableAnswer for a report of an error.
    """

    def __init__(self) -> None:
        self.draft = AnswerDraft()

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Return whether the answer is complete, so that a cut after this point loses nothing."""

    @abstractmethod
    def whole(self, body: dict[str, Any]) -> None:
        """Read a response that came as one object."""

    @abstractmethod
    def event(self, data: dict[str, Any]) -> None:
        """Read one event of a stream."""

    def done(self) -> None:  # noqa: B027 - streams of most APIs end with an event of their own
        """Note `[DONE]`, which ends the stream."""

    def answer(self) -> Answer:
        """Return the answer. Raises: UnreadableAnswer if the response contained none."""
        return self.draft.answer()


class ChoicesReader(AnswerReader):
    """Reads responses that hold a list of choices. Each subclass reads the choices of one API.

    A stream is complete with a finish reason or `[DONE]`; some servers leave out one of them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._any_choice = False
        self._done = False

    def read_choice(self, choice: dict[str, Any], *, whole: bool) -> None:
        """Read one choice, or one piece of it in a stream."""
        raise NotImplementedError

    @property
    def complete(self) -> bool:
        """Implement `AnswerReader`."""
        return self._done or bool(self.draft.finish_reason)

    def whole(self, body: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        self._read(body, whole=True)

    def event(self, data: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        self._read(data, whole=False)

    def done(self) -> None:
        """Implement `AnswerReader`."""
        self._done = True

    def answer(self) -> Answer:
        """Implement `AnswerReader`."""
        if not self._any_choice:
            raise UnreadableAnswer("no_choices", "the response holds no choice 0")
        return self.draft.answer()

    def _read(self, body: dict[str, Any], *, whole: bool) -> None:
        if "done" in body and "choices" not in body:
            body = _of_ollama(body)
        choices = elements(body.get("choices"))
        error = fields(body.get("x_groq")).get("error") or (None if choices else _error_in(body))
        if error:
            raise error_body(error)
        self.draft.note_origin(body)
        # Groq counts the tokens of a stream in a member of its own.
        usage = body.get("usage") or fields(body.get("x_groq")).get("usage")
        self.draft.note_usage(usage, ("prompt_tokens",), "completion_tokens")
        for choice in map(fields, choices):
            if not choice.get("index") and not (whole and self._any_choice):
                self._any_choice = True
                # Routers report a provider that failed in the middle of an answer this way.
                if choice.get("error") or choice.get("finish_reason") == "error":
                    raise error_body(choice.get("error") or body.get("error"))
                if whole and not any(choice.get(part) is not None for part in _ANSWERING):
                    raise UnreadableAnswer("no_choices", "the response's choice 0 holds no message")
                self.read_choice(choice, whole=whole)
                reason = string(choice.get("finish_reason"))
                if reason and reason != "null":  # DashScope's word for none
                    self.draft.finish_reason = reason


def _error_in(body: dict[str, Any]) -> Any:
    """Return the error of a body without choices, under the names that servers give it; None without one."""
    if body.get("object") == "error":  # vLLM's is the whole event
        return body.get("error") or body
    # MiniMax and Baidu answer with status 200 and a number.
    number = fields(body.get("base_resp")).get("status_code") or body.get("error_code")
    return body.get("error") or (number and {"code": str(number)})


def _of_ollama(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of Ollama's own API as a piece of OpenAI's, or as a whole answer if it is the last."""
    message = line.get("message")
    choice = {"delta": message, "text": line.get("response")}
    if line.get("done"):
        choice |= {"message": message, "finish_reason": line.get("done_reason") or "stop"}
    usage = {"prompt_tokens": line.get("prompt_eval_count"), "completion_tokens": line.get("eval_count")}
    return {**line, "choices": [choice], "usage": usage}


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
            whole = bool(message) and self._starts_over(message)
        self.draft.text.append(_content(message) or text_of(choice.get("text")))
        refusal = text_of(message.get("refusal"))
        self.draft.refused |= bool(refusal)
        self.draft.fallback.append(refusal)
        self.draft.fallback.append(text_of(fields(message.get("audio")).get("transcript")))
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
        """Return whether a piece, whose id is new or missing, begins another call."""
        function = called_function(call)
        name = text_of(function.get("name"))
        if not name:
            return False  # some servers make up an id for each piece
        if held.whole:
            return bool(call_id or written(function.get("arguments")))
        return bool(call_id) and (name != held.name or not held.pieces)

    def _add_call(self, place: Place, call: dict[str, Any]) -> None:
        function = called_function(call)
        arguments = function.get("arguments", function.get("input"))
        self.draft.add_call(place, text_of(function.get("name")), written(arguments))


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, dict) and not content.keys() & {"type", "text"}:
        return written(content)  # some gateways parse the JSON that was asked for
    return text_of(content)


def called_function(call: dict[str, Any]) -> dict[str, Any]:
    """Return the name and arguments of a call, under whichever name a server gives them."""
    return fields(call.get("function") or call.get("function_call") or call.get("custom"))

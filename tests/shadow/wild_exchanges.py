"""Exchanges as no client should send them and some do: near-valid, odd, broken, junk.

Everything is drawn from one `random.Random`, so a seed names an exchange, and hypothesis can hand
in its own generator and shrink what it finds.
"""

from typing import NamedTuple

from evenkeel.core.exchange import Exchange
from evenkeel.shadow.prompt import APIS
from tests.cases import cases
from tests.shadow.wild_documents import WildDocuments

_DRAWN = cases(__file__)
_PATHS = _DRAWN["paths"]
_OTHER_PATHS = _DRAWN["other paths"]
_MODELS = (*("m-1",) * 60, *_DRAWN["models"], "\ud800", "m" * 300)
QUIET_ROUTES = tuple(f"quiet-{number}" for number in range(400))
"""Routes with so few exchanges that nothing is learned of their templates."""


class Response(NamedTuple):
    """A response as the wire carried it."""

    headers: tuple[tuple[str, str], ...]
    body: bytes


class WildExchanges(WildDocuments):
    """Makes exchanges."""

    def exchange(self, number):
        """An exchange whose id follows from the number, on the busy route or a quiet one."""
        api = self._one(APIS)
        body, request_headers = self._wire(self.request(api), "application/json")
        response = self.response(api if self._chance(0.95) else self._one(APIS))
        return Exchange(
            id=f"{number:016x}",
            route=self._one(("busy", QUIET_ROUTES[number % len(QUIET_ROUTES)]))
            if self._chance(0.99)
            else "gone",
            received_at=1000.0,
            duration_s=0.1,
            method="POST",
            path=_PATHS[api.name] if self._chance(0.95) else self._one((*_PATHS.values(), *_OTHER_PATHS)),
            status=200,
            request_headers=request_headers,
            request_body=body,
            response_headers=response.headers,
            response_body=response.body,
            task=self._one((None, None, "case_summary", "no such task", "")),
        )

    def request(self, api):
        """The body of a request of that API, before anything happens to its bytes."""
        return self._document(self._request(api))

    def response(self, api):
        """A response of that API, whole or streamed."""
        make = {
            "chat": self._choices,
            "completions": self._choices,
            "responses": self._responses,
            "messages": self._message,
            "gemini": self._candidates,
        }[api.name]
        whole, events = make(api)
        if self._chance(0.6):
            body, headers = self._wire(self._document(whole), "application/json")
        else:
            body, headers = self._wire(self._stream(events), "text/event-stream")
        return Response(headers, body)

    # --- requests ---

    def _request(self, api):
        request = {"model": self._one(_MODELS)}
        match api.name:
            case "chat":
                request["messages"] = self._several(self._chat_message)
            case "completions":
                prompts = (self._text(), self._text(), [self._text()], [1, 2], [[1], [2]])
                request["prompt"] = self._one((*prompts, [self._text(), self._text()]))
            case "responses":
                request["input"] = self._text() if self._chance(0.5) else self._several(self._item)
                if self._chance(0.5):
                    request["instructions"] = self._text()
            case "messages":
                request["messages"] = self._several(self._message_of_parts)
                if self._chance(0.5):
                    request["system"] = self._one((self._text(), [self._part("text")]))
            case "gemini":
                request["contents"] = self._several(self._content)
                if self._chance(0.5):
                    request["systemInstruction"] = {"parts": [{"text": self._text()}]}
        if self._chance(0.3):
            request |= self._one(_DRAWN["options"])
        return request

    def _chat_message(self):
        role = self._one(("system", "user", "user", "user", "assistant", "tool", "developer", "", "narrator"))
        content = self._one((self._text(), self._text(), [self._part("text"), self._part("text")], None))
        message = {"role": role, "content": content}
        if self._chance(0.1):
            call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": self._text()}}
            message["tool_calls"] = [call]
        return message

    def _item(self):
        return self._one(
            (
                {"role": "user", "content": self._text()},
                {"role": "user", "content": [self._part("input_text"), self._part("input_text")]},
                {"type": "message", "role": "assistant", "content": [self._part("output_text")]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": self._text()},
                {"type": "function_call_output", "call_id": "c", "output": self._text()},
                {"type": "reasoning", "summary": []},
                {"type": "item_reference", "id": "i"},
            )
        )

    def _message_of_parts(self):
        kinds = ("text", "text", "text", "tool_result", "tool_use", "thinking")
        content = self._text() if self._chance(0.5) else [self._part(self._one(kinds)) for _ in range(3)]
        return {"role": self._one(("user", "user", "assistant")), "content": content}

    def _part(self, kind):
        if self._chance(0.15):
            return {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        match kind:
            case "tool_result":
                return {"type": kind, "tool_use_id": "t", "content": self._one((self._text(), [], None))}
            case "tool_use":
                return {"type": kind, "id": "t", "name": "f", "input": {"id": 7}}
            case _:
                return {"type": kind, "text": self._text()}

    def _content(self):
        part = self._one(
            (
                {"text": self._text()},
                {"text": self._text()},
                {"functionCall": {"name": "f", "args": {"id": 7}}},
                {"functionResponse": {"name": "f", "response": {"result": self._text()}}},
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            )
        )
        return {"role": self._one(("user", "user", "model", None)), "parts": [part, {"text": self._text()}]}

    # --- responses: the whole, and the events of the same as a stream ---

    def _choices(self, api):
        text, model = self._text(), self._one(_MODELS)
        call = {"index": 0, "type": "function", "function": {"name": "f", "arguments": '{"id": 7}'}}
        calls = {"tool_calls": [call]} if self._chance(0.2) else {}

        def choice(part, text, finish):
            said = {"text": text} if api == "completions" else {part: {"content": text, **calls}}
            return {"index": 0, **said, "finish_reason": finish}

        usage = {"usage": {"prompt_tokens": self._count(), "completion_tokens": self._count()}}
        whole = {"model": model, "choices": [choice("message", text, "stop")], **usage}
        events = [{"model": model, "choices": [choice("delta", piece, None)]} for piece in _cut(text)]
        events += [{"choices": [choice("delta", "", "stop")]}, {"choices": [], **usage}, "[DONE]"]
        return whole, events

    def _responses(self, _api):
        text = self._text()
        output = [{"type": "message", "content": [{"type": "output_text", "text": text}]}]
        if self._chance(0.2):
            output.append({"type": "function_call", "name": "f", "arguments": self._text()})
        whole = {
            "model": self._one(_MODELS),
            "status": self._one(("completed", "completed", "completed", "incomplete", "failed", "queued")),
            "output": output,
            "usage": {"input_tokens": self._count(), "output_tokens": self._count()},
        }
        events = [{"type": "response.created", "response": {"status": "in_progress"}}]
        events += [{"type": "response.output_text.delta", "delta": piece} for piece in _cut(text)]
        events.append({"type": "response.completed", "response": whole})
        return whole, events

    def _message(self, _api):
        text, model = self._text(), self._one(_MODELS)
        usage = {"input_tokens": self._count(), "cache_read_input_tokens": 3, "output_tokens": self._count()}
        content = [{"type": "text", "text": text}]
        if self._chance(0.2):
            content.append({"type": "tool_use", "name": "f", "input": {"id": 7}})
        whole = {"model": model, "content": content, "stop_reason": "end_turn", "usage": usage}
        events = [{"type": "message_start", "message": {"model": model, "content": [], "usage": usage}}]
        events.append(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        )
        events += [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in _cut(text)
        ]
        events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
        return whole, events

    def _candidates(self, _api):
        text = self._text()
        usage = {"promptTokenCount": self._count(), "candidatesTokenCount": self._count()}

        def piece(said, finish):
            candidate = {"content": {"role": "model", "parts": [{"text": said}]}, "finishReason": finish}
            return {"candidates": [candidate], "modelVersion": self._one(_MODELS), "usageMetadata": usage}

        *first, end = _cut(text)
        return piece(text, "STOP"), [*(piece(said, None) for said in first), piece(end, "STOP")]

    def _count(self):
        """A number of tokens; some servers make one up."""
        return self._one((0, -1, 2.5, None, "5", 10**6, 10**30)) if self._chance(0.1) else 10

    def _stream(self, events):
        self._choose_wildness()
        end = self._one(("\n", "\r\n", "\r"))
        pieces = [
            f"data: {event if isinstance(event, str) else self._json(event)}{end}{end}" for event in events
        ]
        if self._chance(0.15):
            pieces.insert(
                self._below(len(pieces) + 1),
                self._one((": ping", "data:", "event: x", "data: [", "\x00")) + end,
            )
        text = "".join(pieces)
        return text[: self._below(len(text) + 1)] if self._chance(0.1) else text


def _cut(text):
    """A text in three pieces; one may be cut inside a character of two halves."""
    third = len(text) // 3 + 1
    return [text[:third], text[third : 2 * third], text[2 * third :]]

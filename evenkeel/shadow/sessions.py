"""Sessions: which requests are steps of one run of an agent, or turns of one conversation.

Their outcomes depend on each other, so the monitor takes a session as one block of evidence. A request
belongs to the session that, in this order,

1. its header `x-evenkeel-session` names, or the one that `listen.session_header` says,
2. the response named by its `previous_response_id` belongs to,
3. other requests of the client with the same opening belong to: the user's messages before the first answer,
4. other requests of the same trace (`traceparent`) belong to.

Openings are compared only where there is an earlier answer, or where the answer calls a tool: a question
that is answered at once is no step. Runs that open with the same words are taken for one, which makes
evidence weaker and never stronger. A run is cut where an agent drops its first messages, and
`previous_response_id` is followed in one worker only.
"""

from __future__ import annotations

import re
import threading
from hashlib import blake2b
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.shadow.prompt import PromptView

# Responses of which a process remembers the session.
_MOST_RESPONSES: Final = 20_000
_TRACE: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class SessionFinder:
    """Finder of sessions. Thread-safe; remembers the sessions of the latest responses."""

    def __init__(self) -> None:
        self._of_response: dict[str, str] = {}
        self._lock = threading.Lock()

    def session_of(self, exchange: Exchange, view: PromptView, answer: Answer) -> str:
        """Return the name of an exchange's session, 16 hex digits; "" if it is not known to belong to one."""
        previous = view.get("previous_response_id")
        with self._lock:
            if exchange.session:
                session = _name("header", exchange.session)
            elif isinstance(previous, str) and previous:
                session = self._of_response.get(previous) or _name("response", previous)
            else:
                trace_id = trace_of(exchange)
                session = _by_opening(exchange, view, answer) or (trace_id and _name("trace", trace_id))
            if answer.response_id:
                self._of_response[answer.response_id] = session or _name("response", answer.response_id)
                if len(self._of_response) > _MOST_RESPONSES:
                    del self._of_response[next(iter(self._of_response))]
        return session


def _by_opening(exchange: Exchange, view: PromptView, answer: Answer) -> str:
    messages = view.messages
    opening = list(takewhile(lambda message: message.role != "assistant", messages))
    if len(opening) == len(messages) and not answer.tool_calls:
        return ""
    # System prompts are left out: some state the time, which changes with every step.
    asked = []
    for message in opening:
        if message.role == "user":
            asked.append(message.text)
    return _name("opening", exchange.client, *asked) if any(asked) else ""


def trace_of(exchange: Exchange) -> str:
    """Return the id of the client's trace, 32 hex digits; "" if the request names none."""
    trace = _TRACE.fullmatch(dict(exchange.request_headers).get("traceparent", "").strip())
    return trace[1] if trace else ""


def _name(*parts: str) -> str:
    digest = blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()

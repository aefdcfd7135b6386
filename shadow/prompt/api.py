"""Which of the APIs a request speaks, told by its path."""

from __future__ import annotations

from typing import Final, Literal

Api = Literal["chat", "completions", "responses", "messages"]
"""OpenAI's chat completions, older completions and responses; messages as Anthropic made them."""

_BY_LAST_PART: Final[dict[str, Api]] = {
    "completions": "completions",
    "responses": "responses",
    "messages": "messages",
}
_OF_A_THREAD: Final = "threads"


def api_of(path: str) -> Api | None:
    """The API of a request target; None if its exchanges can't be read.

    Any prefix goes (`/v1`, `/openai/deployments/…`), and so does a query. What stands behind the
    API's name is another endpoint (`/messages/count_tokens`, `/responses/…/cancel`), and posting to
    the messages of a thread changes a conversation that the provider keeps.
    """
    parts = path.partition("?")[0].split("/")
    if len(parts) > 1 and parts[-2:] == ["chat", "completions"]:
        return "chat"
    if len(parts) == 1 or _OF_A_THREAD in parts:
        return None
    return _BY_LAST_PART.get(parts[-1])

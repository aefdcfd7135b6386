"""The APIs whose request bodies can be read, each with its reader."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt import chat, completions, messages, responses
from evenkeel.shadow.prompt.body import Body, UnreadablePrompt, outermost

if TYPE_CHECKING:
    from evenkeel.shadow.prompt.api import Api
    from evenkeel.shadow.prompt.body import Reader

READERS: Final[dict[Api, Reader]] = {
    "chat": chat.read_messages,
    "completions": completions.read_messages,
    "responses": responses.read_messages,
    "messages": messages.read_messages,
}


def read_body(text: str, api: Api) -> Body:
    """Read the text of a request body.

    Raises: UnreadablePrompt "not_json", "too_deep", "no_messages", "token_prompt" or
        "unsupported_shape".
    """
    try:
        members = outermost(text)
        return Body(members, READERS[api](text, members))
    except json.JSONDecodeError as fault:
        raise UnreadablePrompt("not_json", f"{fault.msg} at character {fault.pos}") from fault
    except RecursionError as fault:
        raise UnreadablePrompt("too_deep", "the body is nested too deeply to be read") from fault

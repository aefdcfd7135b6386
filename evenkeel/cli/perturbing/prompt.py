"""A prompt to show perturbations on: a request body of any API, or plain text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from evenkeel.settings import SettingsError
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt

if TYPE_CHECKING:
    from evenkeel.shadow.prompt import Api, Classifier

_HINTS: Final[dict[str, str]] = {
    "no_messages": 'a chat request carries them in "messages"; name another API with --api',
    "unsupported_shape": "does --api name the API that this request is for?",
    "token_prompt": "a prompt of token numbers has no text to change",
    "too_deep": "no request is nested like that",
}


def read_prompt(text: str, where: str, api: Api | None, classify: Classifier) -> PromptView:
    """The prompt of a request body, or plain text as the one message of a user.

    A text is a body if it begins with a brace, or if an API is named.

    Args:
        text: What the file holds.
        where: Names the file in messages.
        api: The API of the body; None to tell it by the body's members.
        classify: Decides what is template and what is input.

    Raises: SettingsError if there is nothing to read in it, with what is wrong, where, and what to do.
    """
    if not text.strip():
        raise SettingsError(f"{where}: is empty; give it a request body (JSON) or a prompt as plain text")
    if api is None and not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return PromptView.parse(_chat(text), classify)
    try:
        return PromptView.parse(text.encode(), classify, api=api or _told_by_members(text))
    except UnreadablePrompt as error:
        if error.reason != "not_json":
            hint = _HINTS.get(error.reason, "")
            raise SettingsError(f"{where}: {error.detail}" + (f"; {hint}" if hint else "")) from error
        if api is None and not _looks_like_json(text):
            return PromptView.parse(_chat(text), classify)
        way_out = "leave out --api for plain text" if api else "a plain prompt must not begin like an object"
        raise SettingsError(f"{where}: {_place_of_fault(text)}; {way_out}") from error


def _chat(text: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}]}).encode()


def _looks_like_json(text: str) -> bool:
    """Whether a text that begins with a brace goes on like an object, and not like a "{placeholder}"."""
    return text.lstrip("\ufeff \t\r\n")[1:].lstrip()[:1] in {'"', "}", "'"}


def _told_by_members(text: str) -> Api:
    try:
        body = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return "chat"
    match body:
        case {"messages": _, "system": _} | {"messages": _, "anthropic_version": _}:
            return "messages"
        case {"messages": _}:
            return "chat"
        case {"input": _}:
            return "responses"
        case {"prompt": _}:
            return "completions"
        case _:
            return "chat"


def _place_of_fault(text: str) -> str:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as fault:
        return f"is not JSON: {fault.msg} in line {fault.lineno}, column {fault.colno}"
    return "is not a request body in JSON"

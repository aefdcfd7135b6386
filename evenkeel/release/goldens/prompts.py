"""A golden's prompt as text for people."""

from __future__ import annotations

import json

from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of_request


def prompt_text(request: str | None) -> str:
    """The prompt in the body of a request: "role: text" blocks, a blank line between them.

    What is not text is noted in brackets, such as "[image_url]". A body without a recognisable
    conversation is shown as its JSON; "" without a body.
    """
    if request is None:
        return ""
    try:
        body = json.loads(request)
    except (ValueError, RecursionError):
        return request
    api = api_of_request(body) if isinstance(body, dict) else None
    if api is None:
        return json.dumps(body, ensure_ascii=False, indent=2) if isinstance(body, dict) else request
    try:
        return PromptView.parse(request.encode("utf-8", "surrogatepass"), api=api).text
    except UnreadablePrompt:
        return json.dumps(body, ensure_ascii=False, indent=2)

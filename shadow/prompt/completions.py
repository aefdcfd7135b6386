"""The shape of a completions request, the API without "chat": bare texts that a user gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.shadow.prompt.body import RawMessage, Slot, UnreadablePrompt, last, listed

if TYPE_CHECKING:
    from evenkeel.shadow.prompt.spans import Member


def read_messages(text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
    """The prompts of a completions body as `evenkeel.shadow.prompt.body.Reader`: a user's message each.

    Raises: UnreadablePrompt "token_prompt" if the prompt is given as numbers of tokens.
    """
    prompt = last(members, "prompt")
    if prompt is not None and isinstance(prompt.decoded, str):
        return (RawMessage("user", (Slot.whole(prompt),)),)
    prompts = listed(text, members, "prompt")
    if all(isinstance(one.decoded, str) for one in prompts):
        return tuple(RawMessage("user", (Slot.whole(one),)) for one in prompts)
    if all(isinstance(one.decoded, float | list) for one in prompts):
        raise UnreadablePrompt("token_prompt", "the prompt is a list of token ids, not text")
    raise UnreadablePrompt("unsupported_shape", "'prompt' is neither text nor a list of texts")

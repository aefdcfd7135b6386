"""OpenAI's older completions: one text in, one text out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.llm.answer import ChoicesReader, fields, text_of
from evenkeel.shadow.prompt.apis.protocol import Api, Refusal
from evenkeel.shadow.prompt.body import RawMessage, Slot, UnreadablePrompt, last, listed
from evenkeel.shadow.prompt.members import ANY_API, FORM, SAMPLING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel.shadow.prompt.apis.protocol import Get
    from evenkeel.shadow.prompt.spans import Member


class CompletionsReader(ChoicesReader):
    """Reads completions, whole and streamed alike: each choice holds text."""

    def read_choice(self, choice: dict[str, Any], *, whole: bool) -> None:
        """Implement `ChoicesReader`."""
        if "text" in choice:
            self.draft.text.append(text_of(choice["text"]))
            return
        # Servers that fill in the middle of a text answer with a message all the same.
        message = fields(choice.get("message") if whole else choice.get("delta") or choice.get("message"))
        self.draft.text.append(text_of(message.get("content")))


class CompletionsApi(Api):
    """Completions: `prompt`, a text or a list of texts.

    They have a limit without stating one, 16 tokens as a rule; another would change the answer.
    """

    name = "completions"
    path = "completions"
    prompt_members = ("prompt", "system")
    kept = (
        (ANY_API - {"tools", "tool_choice", "parallel_tool_calls"})
        | SAMPLING
        | FORM
        | {"prompt", "suffix", "echo", "system", "template", "raw", "provider"}
    )
    usage_on_request = True
    answer_reader = CompletionsReader
    limits = ("max_tokens",)
    adds_limit = False
    operation = "text_completion"

    def messages(self, text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
        """Each prompt is a user's message.

        Raises: UnreadablePrompt "token_prompt" if the prompt is given as numbers of tokens.
        """
        prompt = last(members, "prompt")
        if prompt is not None and isinstance(prompt.decoded, str):
            return (RawMessage("user", (Slot.whole(prompt),)),)
        prompts = listed(text, members, "prompt")
        if all(isinstance(prompt.decoded, str) for prompt in prompts):
            return tuple(RawMessage("user", (Slot.whole(prompt),)) for prompt in prompts)
        if all(isinstance(prompt.decoded, float | list) for prompt in prompts):
            raise UnreadablePrompt("token_prompt", "the prompt is a list of token ids, not text")
        raise UnreadablePrompt("unsupported_shape", "'prompt' is neither text nor a list of texts")

    def refusals(self, get: Get) -> Iterator[Refusal]:
        """Implement `Api`."""
        prompt = get("prompt")
        if isinstance(prompt, list) and len(prompt) > 1:
            yield Refusal(
                "several_prompts", "the request holds several prompts; the first choice answers only one"
            )
        if get("echo"):
            yield Refusal("echo", "the answer repeats the prompt, so it differs whenever the prompt does")

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """Implement `Api`."""
        return "choices" in body


COMPLETIONS: Final = CompletionsApi()

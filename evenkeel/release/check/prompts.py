"""Prompts of a check, read from text, chat JSON, a request body, or a template with rows of values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.text import escaped
from evenkeel.release.kit.arguments import InputError
from evenkeel.shadow.prompt import APIS, CHAT, GEMINI, PromptView, UnreadablePrompt
from evenkeel.shadow.prompt.segments import Block, by_role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.release.kit.datasets import DatasetRow
    from evenkeel.shadow.prompt import Api
    from evenkeel.shadow.prompt.segments import SlotText

_VARIABLE: Final = re.compile(r"\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}")


def read_prompts(text: str, rows: Sequence[Mapping[str, Any]] | None, where: str) -> list[PromptView]:
    """Return the prompts that a text stands for: one, or one for each row of values.

    Args:
        text: Plain text, a JSON list of messages, or a request body of any API that evenkeel reads.
        rows: Values for the `{{variables}}` in it; None without a file of inputs.
        where: Names the source in messages.

    Raises: InputError with what is wrong, where, and what to do.
    """
    named = list(dict.fromkeys(_VARIABLE.findall(text)))
    if named and rows is None:
        listed = ", ".join(f"{{{{{name}}}}}" for name in named)
        raise InputError(f"{where}: holds {listed}; give their values with --inputs FILE (JSON lines or CSV)")
    if rows is None:
        return [read_prompt(text, where)]
    if not named:
        raise InputError(
            f"{where}: holds no {{{{variable}}}} in two braces, so --inputs has nothing to fill; name one"
        )
    views: list[PromptView] = []
    for number, row in enumerate(rows, start=1):
        missing = []
        for name in named:
            if name not in row:
                missing.append(name)
        if missing:
            raise InputError(
                f"--inputs, row {number}: has no value for {missing[0]}; it has {', '.join(row)}"
            )
        views.append(_filled(text, {name: _written(row[name]) for name in named}, where))
    if not views:
        raise InputError("--inputs: holds no row")
    return views


def read_prompt(text: str, where: str) -> PromptView:
    """Return the one prompt that a text holds; see `read_prompts`."""
    body, api = _request(text, where)
    if api is GEMINI:
        raise InputError(
            f"{where}: is a request of Google's generateContent, which names its model in the URL; give the "
            "prompt as text or messages, and with --base-url Google's endpoint for chat completions, "
            "/v1beta/openai"
        )
    return _view(body, api, where)


def _view(body: str, api: Api, where: str) -> PromptView:
    try:
        # An escape may be half a pair of surrogates, which UTF-8 has no bytes for: it stays an escape.
        return PromptView.parse(escaped(body).encode(), api=api)
    except UnreadablePrompt as error:
        raise InputError(f"{where}: cannot be read as a prompt: {error.detail}") from error


def as_chat(text: str, where: str) -> str:
    """Return a request under another API as one of chat completions; any other text as it is."""
    body, api = _request(text, where)
    if api is CHAT:
        return text
    messages = []
    for message in _view(body, api, where).messages:
        messages.append({"role": message.role, "content": message.text})
    return json.dumps({"messages": messages}, ensure_ascii=False)


def read_dataset(rows: Sequence[DatasetRow], where: str) -> list[PromptView]:
    """Return the prompts that the rows of a dataset hold by themselves.

    Raises: InputError for a row without a prompt.
    """
    views: list[PromptView] = []
    for row in rows:
        prompt = row.prompt
        if prompt is None:
            raise InputError(
                f"{row.place}: holds no prompt (messages, input, prompt or question); give a template "
                "as PROMPT and this file with --inputs"
            )
        text = prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False)
        views.append(read_prompt(text, row.place))
    if not views:
        raise InputError(f"{where}: holds no row")
    return views


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _request(text: str, where: str) -> tuple[str, Api]:
    """Return the body of a request for a text, as JSON, and its API."""
    if not text.strip():
        raise InputError(f"{where}: is empty; give it a prompt as text, a list of messages or a request body")
    stripped = text.lstrip("\ufeff \t\r\n")
    read = None
    if stripped.startswith(("{", "[")):
        try:
            read = json.loads(stripped)
        except (ValueError, RecursionError) as error:
            # A text may begin with a brace and be no JSON: it is a plain prompt.
            if '"messages"' in stripped or '"input"' in stripped:
                raise InputError(f"{where}: is not JSON ({error}); a plain prompt needs no quotes") from error
    if isinstance(read, dict):
        for api in APIS:
            if api.is_request(read):
                # As it was written, so that variants are those of a worker that reads the same bytes.
                return stripped, api
        raise InputError(
            f"{where}: is JSON, but no request that evenkeel reads; it needs `messages`, `prompt` or `input`"
        )
    if read == []:
        raise InputError(f"{where}: is a list without a message; give it one, or a prompt as text")
    if isinstance(read, list) and all(isinstance(part, dict) and "role" in part for part in read):
        return json.dumps({"messages": read}, ensure_ascii=False), CHAT
    return json.dumps(CHAT.ask(text), ensure_ascii=False), CHAT


def _filled(text: str, values: Mapping[str, str], where: str) -> PromptView:
    """Return the prompt with its variables filled in; their values are its input, all else is template."""
    template = read_prompt(text, where)
    cuts = [_pieces(slot, values) for slot in template.slots]
    # Read by role, each string of the body is one segment.
    filled = {}
    for segment, blocks in zip(template.segments, cuts, strict=True):
        filled[segment.index] = "".join(block.text for block in blocks)
    # The blocks are named by hand: nothing was learned yet, and the variables say what is input.
    view = PromptView.parse(template.with_texts(filled).body(), api=template.api)
    return view.classified(lambda _slots: cuts)


def _pieces(slot: SlotText, values: Mapping[str, str]) -> list[Block]:
    """Return a slot's text as blocks, with the values in place of the variables."""
    if not _VARIABLE.search(slot.text):
        return list(by_role([slot])[0])
    blocks: list[Block] = []
    end = 0
    for match in _VARIABLE.finditer(slot.text):
        if match.start() > end:
            blocks.append(Block("template", slot.text[end : match.start()], "instructions"))
        # As a view reads it, and spreadsheets do not write it.
        value = values[match[1]].replace("\r\n", "\n")
        # An empty value leaves no block: there would be nothing in it to reword.
        if value:
            blocks.append(Block("input", value))
        end = match.end()
    if end < len(slot.text):
        blocks.append(Block("template", slot.text[end:], "instructions"))
    return blocks or [Block("template", "", "instructions")]

"""The shape of a responses request: instructions, then an input that is a text or a list of items.

The instructions are message 0 where they are given; the input follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.body import RawMessage, Slot, last, listed, role_of
from evenkeel.shadow.prompt.content import call_note, read_content, type_of
from evenkeel.shadow.prompt.spans import members_of

if TYPE_CHECKING:
    from evenkeel.shadow.prompt.spans import Member, Value

_TEXT: Final = ("input_text", "output_text", "text")
_ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS: Final = ("function_call_output", "custom_tool_call_output")
_KEPT_BY_THE_PROVIDER: Final = ("previous_response_id", "conversation", "prompt")
"""With one of these the body may hold no text at all."""


def read_messages(text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
    """Instructions and input of a responses body, as `evenkeel.shadow.prompt.body.Reader`."""
    instructions = last(members, "instructions")
    before: tuple[RawMessage, ...] = ()
    if instructions is not None and isinstance(instructions.decoded, str):
        before = (RawMessage("system", (Slot.whole(instructions),)),)
    given = last(members, "input")
    if given is not None and isinstance(given.decoded, str):
        return (*before, RawMessage("user", (Slot.whole(given),)))
    if given is None or given.decoded in (None, []):
        elsewhere = [last(members, key) for key in _KEPT_BY_THE_PROVIDER]
        if before or any(one is not None and one.decoded is not None for one in elsewhere):
            return before
    items = enumerate(listed(text, members, "input"))
    return (*before, *(_item(text, index, item) for index, item in items))


def _item(text: str, index: int, item: Value) -> RawMessage:
    kind = type_of(item)
    if kind is None or kind == "message":
        role = role_of(index, item)
        content = read_content(text, last(members_of(text, item.start)[0], "content"), _TEXT)
        return RawMessage(role, content.slots, content.notes)
    if kind in _ARGUMENTS:
        return RawMessage("assistant", (), (call_note(text, item, _ARGUMENTS[kind]),))
    if kind in _RESULTS:
        output = read_content(text, last(members_of(text, item.start)[0], "output"), _TEXT)
        return RawMessage("tool", output.slots, output.notes)
    # reasoning, calls of tools that run at the provider, references to stored items
    return RawMessage("assistant", (), (f"[{kind}]",))

"""Prompt of a request: read into messages and segments, written back byte by byte.

`apis` holds a class for each request shape, which lists the string literals that carry prompt text with the
pieces of `body`; `spans` finds where the values of a JSON text stand. `view` cuts those literals into
*segments* (template or input) and writes variants in which only the literals of changed segments differ.
`blocks` types the segments, `mail` tells what the sender of a mail typed, `members` lists what of a request a
replay may carry, and `refusals` names the requests that must not be replayed.
"""

from evenkeel.shadow.prompt.apis import (
    APIS,
    CHAT,
    COMPLETIONS,
    GEMINI,
    MESSAGES,
    RESPONSES,
    Api,
    Refusal,
    api_of,
    api_of_answer,
    api_of_request,
    headers_of,
)
from evenkeel.shadow.prompt.body import UnreadablePrompt
from evenkeel.shadow.prompt.refusals import refusal
from evenkeel.shadow.prompt.segments import (
    Block,
    Classifier,
    InputSource,
    Segment,
    SegmentKind,
    SegmentType,
    SlotText,
    by_role,
)
from evenkeel.shadow.prompt.view import Message, PromptView

__all__ = [
    "APIS",
    "CHAT",
    "COMPLETIONS",
    "GEMINI",
    "MESSAGES",
    "RESPONSES",
    "Api",
    "Block",
    "Classifier",
    "InputSource",
    "Message",
    "PromptView",
    "Refusal",
    "Segment",
    "SegmentKind",
    "SegmentType",
    "SlotText",
    "UnreadablePrompt",
    "api_of",
    "api_of_answer",
    "api_of_request",
    "by_role",
    "headers_of",
    "refusal",
]

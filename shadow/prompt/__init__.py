"""The prompt of a request: read into messages and segments, written back byte by byte.

`spans` finds where the values of a JSON text stand; `chat` knows the shape of chat-completions
bodies and lists the string literals that carry prompt text; `view` cuts those into *segments*
(template or input) and writes variants in which only the literals of changed segments differ;
`replay` strips a body of what a replay must not do (stream, store).
"""

from shadow.prompt.chat import UnreadablePrompt
from shadow.prompt.segments import (
    Block,
    Classifier,
    Segment,
    SegmentKind,
    SegmentType,
    SlotText,
    by_role,
)
from shadow.prompt.view import Message, PromptView

__all__ = [
    "Block",
    "Classifier",
    "Message",
    "PromptView",
    "Segment",
    "SegmentKind",
    "SegmentType",
    "SlotText",
    "UnreadablePrompt",
    "by_role",
]

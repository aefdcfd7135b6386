"""The prompt of a request: read into messages and segments, written back byte by byte.

`spans` finds where the values of a JSON text stand; `chat` knows the shape of chat-completions
bodies and lists the string literals that carry prompt text; `view` cuts those into *segments*
(template or input) and writes variants in which only the literals of changed segments differ;
`replay` strips a body of what a replay must not do (stream, store).
"""

from shadow.prompt.chat import UnreadablePrompt
from shadow.prompt.view import Block, Classifier, Message, PromptView, Segment, SegmentKind, by_role

__all__ = [
    "Block",
    "Classifier",
    "Message",
    "PromptView",
    "Segment",
    "SegmentKind",
    "UnreadablePrompt",
    "by_role",
]

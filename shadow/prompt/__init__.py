"""The prompt of a request: read into messages and segments, written back byte by byte.

`api` tells by its path which API a request speaks. `spans` finds where the values of a JSON text
stand; `chat`, `completions`, `responses` and `messages` know the shapes of bodies and list the
string literals that carry prompt text, all as a `body`; `view` cuts those into *segments* (template
or input) and writes variants in which only the literals of changed segments differ; `replay` strips
a body of what a replay must not do (stream, store) and refuses what cannot be made harmless.
"""

from evenkeel.shadow.prompt.api import Api, api_of
from evenkeel.shadow.prompt.body import UnreadablePrompt
from evenkeel.shadow.prompt.replay import Refusal, refusal
from evenkeel.shadow.prompt.segments import (
    Block,
    Classifier,
    Segment,
    SegmentKind,
    SegmentType,
    SlotText,
    by_role,
)
from evenkeel.shadow.prompt.view import Message, PromptView

__all__ = [
    "Api",
    "Block",
    "Classifier",
    "Message",
    "PromptView",
    "Refusal",
    "Segment",
    "SegmentKind",
    "SegmentType",
    "SlotText",
    "UnreadablePrompt",
    "api_of",
    "by_role",
    "refusal",
]

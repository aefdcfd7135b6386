"""The prompt of a request: read into messages and segments, written back byte by byte.

`body` reads the request body of any API and lists the string literals that carry prompt text, `spans` finds
where the values of a JSON text stand; `view` cuts those literals into *segments* (template or input) and
writes variants in which only the literals of changed segments differ; `blocks` types the segments, and
`members` says what of a request a replay may carry, `refusals` names the requests that must not be replayed.
"""

from evenkeel.shadow.prompt.body import Api, UnreadablePrompt, api_of
from evenkeel.shadow.prompt.refusals import Refusal, refusal
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
    "by_role",
    "refusal",
]

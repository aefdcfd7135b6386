"""Answers, read out of response bodies: plain JSON or an event stream, as the wire carried them.

`reading` decides which of the two a body is; `events` takes streams apart; `chat`, `completions`,
`responses` and `messages` know what their API sends and put it into a `draft`; `values` reads what
nobody guarantees the type of.
"""

from evenkeel.shadow.answer.reading import read_answer
from evenkeel.shadow.answer.values import UnreadableAnswer

__all__ = ["UnreadableAnswer", "read_answer"]

"""Answers, read from response bodies: plain JSON or an event stream, as the wire carried them.

`reading` decides which of the two a body is and takes streams apart; `apis` knows what each API sends and
puts it into a `draft`.
"""

from evenkeel.shadow.answer.draft import UnreadableAnswer
from evenkeel.shadow.answer.reading import read_answer

__all__ = ["UnreadableAnswer", "read_answer"]

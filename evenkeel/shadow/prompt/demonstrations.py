"""Demonstrations: pairs of an input and an output, the last of which the model is to complete.

"Input: …" and "Output: …", "Q: …" and "A: …", "Review: …" and "Label: …", or "… => …": whatever label the
last line bears, it is open if nothing stands behind it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from evenkeel.shadow.prompt.references import holds_a_question
from evenkeel.shadow.prompt.segments import Span

_LABEL: Final = re.compile(
    r"^[ \t]*+(?:[#*>-]{1,6}+[ ]*+)?(?P<name>[^\W\d_][^\n:\uff1a.!?]{0,30}?)[ ]?\#?\d{0,3}[*_]{0,2}[ ]?"
    r"[:\uff1a][*_]{0,2}[ \t]*+",
    re.MULTILINE,
)
_ARROW: Final = re.compile(r"[ \t]*(?:[=-]>|→|⇒)[ \t]*")
# Labels of what a user typed, where no demonstration before it shows which label is the input's.
_INPUTS: Final = frozenset({
    "input", "q", "question", "query", "sentence", "review", "message", "comment", "tweet", "request",
    "problem", "user", "customer", "eingabe", "frage", "satz", "nachricht", "entrada", "pregunta", "frase",
    "mensaje", "entrée", "phrase", "domanda", "ingresso", "invoer", "vraag", "zin", "bericht", "pergunta",
    "mensagem", "入力", "質問", "問題", "输入", "问题", "句子", "입력", "질문", "سؤال", "مدخل", "שאלה", "קלט",
})  # fmt: skip


def open_input(text: str) -> Span | None:
    """Return the input that the model is to answer: that of the last pair, which has no output yet.

    Returns: the stretch without its labels; None if the text does not end in an open pair.
    """
    end = len(text.rstrip())
    line = text.rfind("\n", 0, end) + 1
    labels = list(_LABEL.finditer(text, 0, end))
    if labels and labels[-1].start() >= line and not text[labels[-1].end() : end]:
        *before, last = labels
        names = []
        for label in before:
            names.append(label["name"].strip().lower())
        answer = last["name"].strip().lower()
        if not before or before[-1]["name"] == last["name"]:
            return None
        if answer in names or names[-1] in _INPUTS:
            return _content(text, before[-1].end(), last.start())
        return None
    return _open_arrow(text, line, end) or _unanswered(text, labels, end)


def _open_arrow(text: str, line: int, end: int) -> Span | None:
    """Return the last line up to the arrow that it ends in, if a line before has one in its middle."""
    arrows = list(_ARROW.finditer(text, line, end))
    if not arrows or arrows[-1].end() != end:
        return None
    above = text[:line].rstrip().rpartition("\n")[2]
    shown = _ARROW.search(above)
    if shown is None or not above[: shown.start()].strip() or not above[shown.end() :].strip():
        return None
    return _content(text, line, arrows[-1].start())


def _unanswered(text: str, labels: list[re.Match[str]], end: int) -> Span | None:
    """Return the content of the last label, if each like it before has an answer's label behind it."""
    names = []
    for label in labels:
        names.append(label["name"].strip().lower())
    if len(names) < _PAIR_AND_INPUT or names[-1] not in names[:-1]:
        return None
    if names[-1].split()[0] in _ANSWERERS:
        return None
    behind: set[str] = set()
    for name, following in pairwise(names):
        if name == names[-1]:
            behind.add(following)
    # A conversation with an agent that a question stands above is what the question is about.
    if behind <= _ANSWERERS and holds_a_question(text[: labels[0].start()].rstrip()):
        return None
    if names[-1] in behind or len(behind) > 1 or "\n" in text[labels[-1].end() : end].strip():
        return None
    return _content(text, labels[-1].end(), end)


# Those whose line in a conversation is no user's.
_ANSWERERS: Final = frozenset({"agent", "assistant", "bot", "chatbot", "support", "advisor", "ai", "tutor"})
# Fewest labels that show a pair and another input.
_PAIR_AND_INPUT: Final = 3


def _content(text: str, start: int, end: int) -> Span | None:
    inner = text[start:end]
    core = inner.strip()
    if not core:
        return None
    begin = start + inner.index(core)
    return Span(begin, begin + len(core))

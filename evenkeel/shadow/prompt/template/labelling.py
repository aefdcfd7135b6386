"""Cutting of a text into typed blocks, given which stretches are template (learned, or from the settings)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.blocks import cut
from evenkeel.shadow.prompt.demonstrations import open_input
from evenkeel.shadow.prompt.mail import typed_in_mail
from evenkeel.shadow.prompt.references import asks, ends_in_a_question, labels_a_request, leads_on
from evenkeel.shadow.prompt.segments import Block, SlotText, Span, by_role
from evenkeel.shadow.prompt.template.skeleton import fixed_characters, padded, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenkeel.shadow.prompt.segments import Classifier, SegmentKind, SegmentType
    from evenkeel.shadow.prompt.template.skeleton import Skeleton


_SYSTEM: Final = frozenset({"system", "developer"})
# At most this many slots are searched for a template; more are rows of data.
_MOST_SLOTS: Final = 8
_JOINING: Final = frozenset("-_./@")
# First character of the scripts that put no blanks between words.
_WITHOUT_BLANKS: Final = "\u2e80"


def candidates(slots: Sequence[SlotText]) -> list[int]:
    """Return the indices of the slots that may hold template: system messages and the last user message.

    Everything before the last user message is the conversation.
    """
    last = max((slot.message for slot in slots if slot.role == "user"), default=-1)
    indices: list[int] = []
    for index, slot in enumerate(slots):
        if slot.role in _SYSTEM or (slot.role == "user" and slot.message == last):
            indices.append(index)
    return indices[:_MOST_SLOTS]


def typed_by_role(slot: SlotText) -> tuple[Block, ...]:
    """Return a slot without a known template, classified by its role and cut into typed blocks."""
    (block,) = by_role([slot])[0]
    if block.kind == "history" or not slot.text:
        return (block,)
    if block.kind == "template":
        return typed(slot.text, [(0, len(slot.text))])
    opened = open_input(slot.text)
    if opened is not None:
        return typed(slot.text, [(0, opened.start), (opened.end, len(slot.text))])
    blocks = typed(slot.text, [])
    is_mail = any(piece.kind == "history" for piece in blocks)
    return blocks if is_mail else _told_apart(blocks, is_long=len(slot.text) >= _LONG)


# From this number of characters on, a message counts as composed by an application: a user typed only a part.
_LONG: Final = 600


def _told_apart(blocks: Sequence[Block], *, is_long: bool) -> tuple[Block, ...]:
    """Split a message that an application composed into the application's text and the user's own words.

    Such a message is long, or holds documents, examples or instructions on how to answer. If nothing marks
    the user's question, all of a short message counts as the user's, and of a long one the last paragraph.
    """
    types = {block.type for block in blocks}
    if types <= {"text", "list", "code"}:
        return _last_words(blocks) if is_long else tuple(blocks)
    labelled: list[Block] = []
    asked = False
    lead = False
    for block in blocks:
        if block.type not in ("text", "list"):
            labelled.append(block)
            lead = False
            continue
        for paragraph in _PARAGRAPH.findall(block.text) if block.type == "text" else (block.text,):
            is_lead = leads_on(paragraph)
            is_asked = not is_lead and (lead or _is_question(paragraph))
            asked = asked or is_asked
            last = labelled[-1] if labelled else None
            kind: SegmentKind = "input" if is_asked else "template"
            type_: SegmentType = block.type if is_asked or block.type == "list" else "instructions"
            if last is not None and (last.kind, last.type) == (kind, type_):
                labelled[-1] = Block(kind, last.text + paragraph, type_)
            else:
                labelled.append(Block(kind, paragraph, type_))
            lead = is_lead and labels_a_request(_LAST_WORDS.sub("", paragraph.strip().rpartition("\n")[2]))
    # An application composed a message with documents that also says how to answer, or who the model is.
    composed = "document" in types and (
        bool(types & {"output_instructions", "examples"}) or ROLE.match(blocks[0].text) is not None
    )
    if asked or composed:
        return tuple(labelled)
    return _last_words(blocks) if is_long else tuple(blocks)


def _last_words(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks of a long message, with the user's own paragraphs marked as input.

    These are the labelled paragraphs, else the last one if it asks something, else the first if it does. If
    neither asks anything, nothing is marked.
    """
    pieces = []
    for block in blocks:
        for text in _parts_of(block.text) if block.type == "text" else [block.text]:
            pieces.append(Block("template", text, block.type))
    texts = []
    for index, piece in enumerate(pieces):
        if piece.type == "text" and piece.text.strip():
            texts.append(index)
    own = [index for index in texts if _is_labelled(pieces[index].text)] or texts[-1:]
    if len(texts) > 1 and own == texts[-1:] and not asks(pieces[own[0]].text):
        first = pieces[texts[0]].text
        own = texts[:1] if asks(first) and ROLE.match(first) is None else []
    blocks_told: list[Block] = []
    for index, piece in enumerate(pieces):
        if index in own:
            blocks_told.append(replace(piece, kind="input"))
        elif piece.type == "text":
            blocks_told.append(replace(piece, type="instructions"))
        else:
            blocks_told.append(piece)
    return tuple(blocks_told)


def _parts_of(text: str) -> Iterator[str]:
    for paragraph in _PARAGRAPH.findall(text):
        yield from paragraph.splitlines(keepends=True) if len(paragraph) >= _LONG else [paragraph]


def _is_labelled(paragraph: str) -> bool:
    text = paragraph.strip()
    return labels_a_request(text) and _INSTRUCTS.match(text) is None


def _is_question(paragraph: str) -> bool:
    """Return whether a paragraph is a user's question, or words after a label such as "Message:"."""
    if labels_a_request(paragraph.strip()):
        return _is_labelled(paragraph)
    return ends_in_a_question(paragraph)


def typed(text: str, template: Iterable[Span | tuple[int, int]]) -> tuple[Block, ...]:
    """Return a text cut at the borders of template, input and typed blocks; one empty block for "".

    Blanks never form a block of their own; they stay with the block beside them. Tokens are never cut: all of
    "INC-4711" is input, even if each request says "INC-". Of a mail by itself what its sender did not type is
    history: headers, quoted lines, the signature.

    Args:
        text: As the client wrote it.
        template: The stretches that are template, in order and without overlap.
    """
    if not text:
        return (Block("input", ""),)
    kinds: list[tuple[SegmentKind, int]] = []
    done = 0
    for start, end in _of_whole_tokens(text, template):
        if start > done:
            kinds.append(("input", start))
        if end > max(start, done):
            kinds.append(("template", end))
            done = end
    if done < len(text):
        kinds.append(("input", len(text)))
    bounds = _bounds(text)
    own = typed_in_mail(text)
    if own is not None:
        kinds = list(_outside_is_history(kinds, own))
        bounds = [(type_ if type_ in ("list", "code") else "text", end) for type_, end in bounds]
    return _joined(text, kinds, bounds)


def _outside_is_history(
    kinds: Iterable[tuple[SegmentKind, int]], own: Iterable[Span]
) -> Iterator[tuple[SegmentKind, int]]:
    """Yield kinds and ends of stretches, the input outside of some spans as history."""
    start = 0
    for kind, end in kinds:
        if kind == "input":
            for span in own:
                if span.start >= end or span.end <= start:
                    continue
                if span.start > start:
                    yield "history", span.start
                start = min(span.end, end)
                yield "input", start
        if start < end:
            yield "history" if kind == "input" else kind, end
        start = end


def _bounds(text: str) -> list[tuple[SegmentType, int]]:
    """Return the type and the end of each typed block. The input behind few-shot examples is text."""
    opened = open_input(text)
    bounds: list[tuple[SegmentType, int]] = []
    at = 0
    for piece in cut(text):
        end = at + len(piece.text)
        if opened is not None and piece.type != "code" and at < opened.end and end > opened.start:
            bounds += [(piece.type, opened.start)] if at < opened.start else []
            bounds.append(("text", min(end, opened.end)))
            bounds += [(piece.type, end)] if end > opened.end else []
        else:
            bounds.append((piece.type, end))
        at = end
    return bounds


def _of_whole_tokens(text: str, template: Iterable[Span | tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for stretch in template:
        start, end = stretch
        while start < end and _inside_a_token(text, start):
            start += 1
        while end > start and _inside_a_token(text, end):
            end -= 1
        yield start, end


def _inside_a_token(text: str, at: int) -> bool:
    """Return whether a position is inside a word, or next to a joining sign ("INC-4711", "a.b@c.de")."""
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    if _joinable(before):
        return _joinable(behind) or (behind in _JOINING and _joinable(text[at + 1 : at + 2]))
    return before in _JOINING and _joinable(behind) and _joinable(text[max(0, at - 2) : at - 1])


def _joinable(character: str) -> bool:
    # Scripts without blanks have no tokens to cut.
    return character.isalnum() and character < _WITHOUT_BLANKS


def _joined(
    text: str, kinds: Sequence[tuple[SegmentKind, int]], bounds: Sequence[tuple[SegmentType, int]]
) -> tuple[Block, ...]:
    blocks: list[Block] = []
    start = number = 0
    for kind, limit in kinds:
        first = len(blocks)
        while start < limit:
            while bounds[number][1] <= start:
                number += 1
            type_, bound = bounds[number]
            end = min(limit, bound)
            piece = text[start:end]
            if kind == "template" and type_ == "text":
                type_ = "instructions"
            last = blocks[-1] if len(blocks) > first else None
            if last is not None and (piece.isspace() or last.text.isspace()):
                blocks[-1] = Block(kind, last.text + piece, last.type if piece.isspace() else type_)
            else:
                blocks.append(Block(kind, piece, type_))
            start = end
    return tuple(blocks)


_PARAGRAPH: Final = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n(?=[^\n]*\S))?)+\s*|\s+")
# Text before a line's last word: "The user has asked the following question:" introduces a question.
_LAST_WORDS: Final = re.compile(r".*\b(?=\w+[^\w\n]*\Z)")
# Labels of the application's instructions.
_INSTRUCTS: Final = re.compile(
    r"[\s#*]*(?:tasks?|instructions?|your[ ](?:task|job)|prompt|aufgabe|anweisung\w*|tarea|instruccion(?:es)?"
    r"|tâche|compito|istruzioni|taak|opdracht|tarefa|instruç\w+|タスク|課題|指示|任务|指令)\b",
    re.IGNORECASE,
)
ROLE: Final = re.compile(
    r"\s*(?:you[ ](?:are|will|sort|classify|help|act)|du[ ](?:bist|hilfst)|sie[ ]sind|eres|vous[ ]êtes"
    r"|tu[ ]es|sei[ ]un|je[ ]bent|u[ ]bent|você[ ]é|あなたは|你是)",
    re.IGNORECASE,
)
"""Pattern for instructions that begin with who the model is."""
PLACEHOLDER: Final = re.compile(r"\{\{[^{}\n]{1,80}\}\}|\{[A-Za-z_][\w. -]{0,80}\}")
"""Placeholder of an input in a template: `{name}` or `{{name}}`."""


def fixed_template(texts: Sequence[str]) -> Classifier:
    """Return a classifier for templates given as text with `{placeholders}` or `{{placeholders}}`.

    Each text stands for one whole message (system or user). A message that fits none is classified by
    its role. Earlier answers and results of tools stay history.

    Raises: ValueError if a text is empty or nothing but placeholders.
    """
    skeletons = [_skeleton(text) for text in texts]
    skeletons.sort(key=fixed_characters, reverse=True)

    def classify(slots: Sequence[SlotText]) -> Sequence[Sequence[Block]]:
        return [_classify(slot, skeletons) for slot in slots]

    return classify


def _skeleton(text: str) -> Skeleton:
    fragments = PLACEHOLDER.split(padded(text))
    inner = []
    for fragment in fragments[1:-1]:
        if fragment:
            inner.append(fragment)
    skeleton = (fragments[0], *inner, fragments[-1]) if len(fragments) > 1 else (fragments[0],)
    if not fixed_characters(skeleton):
        raise ValueError("a template needs text besides its placeholders")
    return skeleton


def _classify(slot: SlotText, skeletons: Sequence[Skeleton]) -> tuple[Block, ...]:
    if slot.role not in {"system", "developer", "user"}:
        return typed_by_role(slot)
    text = padded(slot.text)
    for skeleton in skeletons:
        spans = place(skeleton, text)
        if spans is not None:
            return typed(slot.text, unpadded(spans, len(slot.text)))
    return typed_by_role(slot)


def unpadded(spans: Sequence[Span], length: int) -> list[Span]:
    """Return stretches of a padded text as stretches of the text itself, empty ones left out."""
    cut = []
    for span in spans:
        cut.append(Span(max(span.start - 1, 0), min(span.end - 1, length)))
    return [span for span in cut if span.end > span.start]

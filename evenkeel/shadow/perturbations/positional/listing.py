"""A template's units as a model lists them, and the check that the list can be true.

The lines of a slot are numbered, values that differ from request to request stand as placeholders, and the
model names ranges of lines. So the ranges are stretches of the text by construction, and the same text is
asked about once for each version of a template.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.shadow.perturbations.positional.layout import PARTS, Layout, Unit
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.prompt.segments import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.positional.layout import Slot
    from evenkeel.shadow.prompt import Segment

_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)
_FEWEST_LINES: Final = 2
_MOST_LINES: Final = 400


class NumberedSlot(NamedTuple):
    """A slot with its lines numbered for a model."""

    slot: Slot
    text: str
    starts: tuple[int, ...]
    """Begin of each numbered line in the text. A line with a value of several lines is one."""
    task: RewriteTask


def numbered(slot: Slot, segments: Sequence[Segment]) -> NumberedSlot | None:
    """Return a slot as lines to list; None without an application's words, and for too few or many lines."""
    if not any(segment.kind == "template" and segment.text.strip() for segment in segments):
        return None
    text = text_of(segments)
    lines, starts = [""], [0]
    at = values = 0
    for segment in segments:
        if segment.kind == "template" or not segment.text.strip():
            for number, line in enumerate(segment.text.split("\n")):
                if number:
                    lines.append("")
                    starts.append(at)
                lines[-1] += line
                at += len(line) + 1
            at -= 1
        else:
            values += 1
            lines[-1] += f"{{{segment.type} {values}}}"
            core = segment.text.rstrip()
            for offset, mark in enumerate(segment.text[len(core) :], len(core)):
                if mark == "\n":
                    lines.append("")
                    starts.append(at + offset + 1)
            at += len(segment.text)
    if not _FEWEST_LINES <= len(lines) <= _MOST_LINES:
        return None
    written = "\n".join(f"{number}| {line}" for number, line in enumerate(lines, 1))
    return NumberedSlot(slot, text, tuple(starts), RewriteTask("blocks", written))


def listed(lines: NumberedSlot, reply: str) -> Layout | None:
    """Return the layout that a reply lists; None if it is none."""
    blocks = blocks_of(lines.task.text, reply)
    if isinstance(blocks, str):
        return None
    units: list[Unit] = []
    end = len(lines.text)
    bounds = [lines.starts[block["first"] - 1] for block in blocks] + [end]
    lead = len(lines.text) - len(lines.text.lstrip())
    for number, block in enumerate(blocks):
        units.append(
            Unit(
                max(bounds[number], lead if number == 0 else 0),
                bounds[number + 1],
                block["part"],
                bool(number) and block.get("joined") is True,
                frozenset(int(other) - 1 for other in block.get("after", ())),
                block.get("free") is True,
                block.get("fixed") is True,
            )
        )
    return Layout(lines.slot, lines.text, tuple(units))


def blocks_of(text: str, reply: str) -> list[dict[str, Any]] | str:
    """Return the blocks that a reply lists for numbered lines, or what is wrong with it in a sentence."""
    last = text.count("\n") + 1
    match = _OBJECT.search(reply)
    try:
        blocks = json.loads(match[0])["blocks"] if match else None
    except (ValueError, KeyError, TypeError, RecursionError):
        blocks = None
    if not isinstance(blocks, list) or not blocks or not all(isinstance(block, dict) for block in blocks):
        return 'The reply is no JSON object with a list "blocks".'
    expected = 1
    for number, block in enumerate(blocks, 1):
        first, end = block.get("first"), block.get("last")
        if first != expected or not isinstance(end, int) or not expected <= end <= last:
            return (
                f"Block {number} must begin with line {expected}: the blocks cover every line once, in order."
            )
        if block.get("part") not in PARTS:
            return f"Block {number} has an unknown part; known are {', '.join(PARTS)}."
        after = block.get("after", [])
        is_listed = isinstance(after, list) and all(isinstance(line, int) for line in after)
        if not is_listed or not all(0 < line < number for line in after):
            return f'"after" of block {number} must list numbers of blocks before it.'
        expected = end + 1
    if expected != last + 1:
        return f"The blocks end with line {expected - 1} of {last}."
    return blocks

"""Entity slot filling: named values read from a text and compared slot by slot.

A prompt's schema says which slots may be filled and which of them have a fixed choice of values. Keys and
choices must match exactly, free text by its wording.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.sequence import rouge_l
from evenkeel.metrics.structured.alignment import MOST_CELLS, best_assignment
from evenkeel.metrics.structured.json import find_json
from evenkeel.metrics.structured.reading import Structure, fences, read_structure
from evenkeel.metrics.structured.tree import Tree, UnreadableError, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.pair import Format, Pair


Schema = Mapping[str, frozenset[str]]
"""Slot names with their choices; the empty set for free text."""

_SCHEMA_NAME_KEYS = ("name", "entity", "slot", "key", "field")
_CHOICE_KEYS = ("choices", "enum", "options", "values", "allowed_values")
_SHAPE_KEYS = frozenset(("type", "description", *_CHOICE_KEYS))
_LINE = re.compile(
    # name (choice [a, b]: what it is), one or several in a line
    r"(?<!\w)([A-Za-z_][\w.-]{0,60}) ?\((?:choice|enum|string|number|boolean|integer|date|other)"
    r" ?(?:\[([^\]\n]{0,500})\])? ?[:)]",
    re.IGNORECASE,
)
# Prompts are searched by a pattern; a longer one states its slots at its beginning or not at all.
_MOST_CHARACTERS = 200_000


@lru_cache(maxsize=256)
def read_schema(context: str) -> Schema:
    """Find the schema of entities in a prompt. Cached: a prompt is read once for all its variants.

    Understood are JSON and YAML, fenced or as the longest object in the text: a list of records
    with a name, the `properties` of a JSON schema, or a mapping from names to records with a type,
    a description or choices; and lines of the form `name (choice [a, b]: description)`.

    Returns: the slots by name; empty if nothing like a schema is found. A prompt's first 200,000
        characters are read.
    """
    text = context[:_MOST_CHARACTERS]
    for tree in _trees(text):
        schema = _schema(tree)
        if schema:
            return schema
    slots: dict[str, frozenset[str]] = {}
    for match in _LINE.finditer(text):
        choices = (choice.strip(" \"'") for choice in (match[2] or "").split(","))
        slots[match[1]] = frozenset(filter(None, choices))
    return slots


def _trees(text: str) -> Iterator[Tree]:
    for fence in fences(text):
        structure = read_structure(fence.text)
        if structure is not None and not isinstance(structure, UnreadableError):
            yield structure.tree
    try:
        excerpt = find_json(text)
    except UnreadableError:
        return
    if excerpt:
        yield excerpt.tree


def _schema(tree: Tree) -> dict[str, frozenset[str]]:
    """Return the slots of a tree, or of the first branch of it that has any."""
    if isinstance(tree, str):
        return {}
    if isinstance(tree, tuple):
        slots = {}
        for item in tree:
            if isinstance(item, dict) and _SHAPE_KEYS.intersection(item) and (name := _name(item)):
                slots[name] = _choices(item)
        if slots:
            return slots
        return next((schema for item in tree if (schema := _schema(item))), {})
    slots = {}
    for name, item in tree.items():
        if isinstance(item, dict) and _SHAPE_KEYS.intersection(item) and "properties" not in item:
            slots[name] = _choices(item)
    properties = tree.get("properties")
    if isinstance(properties, dict) and (nested := _schema(properties)):
        return nested
    return slots or next((schema for item in tree.values() if (schema := _schema(item))), {})


def _name(item: Mapping[str, Tree]) -> str | None:
    name = next((item[key] for key in _SCHEMA_NAME_KEYS if key in item), None)
    return name if isinstance(name, str) and name else None


def _choices(item: Mapping[str, Tree]) -> frozenset[str]:
    choices = next((item[key] for key in _CHOICE_KEYS if key in item), ())
    if isinstance(choices, str):
        choices = tuple(choice.strip() for choice in choices.split(",")) if choices else ()
    return frozenset(choice for choice in choices if isinstance(choice, str))


SAME_TEXT = 0.7
"""ROUGE-L F1 from which two free texts count as the same value of a slot."""

_NAME_KEYS = ("name", "entity", "slot", "key", "field", "entity_name")
_VALUE_KEYS = ("value", "entity_value", "values")


class AnswerSlot(NamedTuple):
    """Slot that is filled."""

    key: str
    value: str


class SlotMatch:
    """F1 of slots that are filled alike."""

    name: ClassVar[str] = "slot_match"
    version: ClassVar[int] = 2
    about: ClassVar[About] = About("entity")

    def score(self, pair: Pair) -> float | Failure:
        """Share of the filled slots that both answers fill alike.

        Keys must be equal, and so must the values of slots with a fixed choice; other values must
        reach a ROUGE-L F1 of 0.7. The choices are those of the prompt's schema (see `read_schema`). Where
        the variant asks for another format, keys are compared as all formats spell them (see `slot_key`).
        A slot filled with null or nothing is not filled. Symmetric.

        Returns: ratio in [0, 1]; 1 = the same slots filled alike, also if neither answer fills
            any; 0 = none in common, also if no slots can be read from the candidate. A `Failure`
            "no_text" if neither answer has text or a tool call, "no_slots" if none can be read
            from the reference, "too_large" or "too_deep".
        Source: Entity Match, section 4.2 of the enterprise perturbation paper.
        """
        schema = {_key(pair, name): choices for name, choices in read_schema(pair.context).items()}
        read = _read(pair)
        if isinstance(read, UnreadableError):
            return Failure(self.name, self.version, read.reason, str(read))

        def alike(left: AnswerSlot, right: AnswerSlot) -> float:
            if schema.get(left.key):
                return float(left.value == right.value)
            return float(rouge_l(left.value, right.value) >= SAME_TEXT)

        return slot_f1(*read, alike)


def slot_f1(
    reference: Sequence[AnswerSlot],
    candidate: Sequence[AnswerSlot],
    alike: Callable[[AnswerSlot, AnswerSlot], float],
) -> float:
    """Return the F1 over slots, assigned one to one within their key for the greatest agreement.

    Args:
        reference: The slots of one answer.
        candidate: Those of the other.
        alike: How far two different slots of one key agree, in [0, 1]; equal ones agree.

    Returns: ratio in [0, 1]; 1 if neither side has slots.
    """
    if not reference and not candidate:
        return 1.0
    agreed = 0.0
    left, right = _by_key(reference), _by_key(candidate)
    for key, slots in left.items():
        ours, theirs = Counter(slots), Counter(right.get(key, ()))
        equal = ours & theirs
        rest, others = list((ours - equal).elements()), list((theirs - equal).elements())
        agreed += equal.total() + _agreed(rest, others, alike)
    return min(1.0, 2 * agreed / (len(reference) + len(candidate)))


def _agreed(
    left: list[AnswerSlot], right: list[AnswerSlot], alike: Callable[[AnswerSlot, AnswerSlot], float]
) -> float:
    """Return the sum over the best assignment; 0 if a field has too many values to compare."""
    if not left or not right or len(left) * len(right) > MOST_CELLS:
        return 0.0
    table = []
    for value in left:
        table.append([alike(value, other) for other in right])
    return sum(table[row][column] for row, column in best_assignment(table))


def _by_key(slots: Sequence[AnswerSlot]) -> dict[str, list[AnswerSlot]]:
    slots_by_key: dict[str, list[AnswerSlot]] = {}
    for slot in slots:
        slots_by_key.setdefault(slot.key, []).append(slot)
    return slots_by_key


def read_slots(text: str, wanted: Format | None = None) -> list[AnswerSlot] | UnreadableError | None:
    """Return the filled slots of an answer in any structured format.

    Returns: slots in order, from records with a name and a value, or from the fields of a mapping
        (nested ones by their own key); several values of a field are several slots. None if the
        answer has no structure; an error "too_large" or "too_deep".
    """
    structure = read_structure(text, wanted)
    if not isinstance(structure, Structure):
        return structure
    return [slot for slot in _slots(structure.tree) if slot.value]


def slot_key(name: str) -> str:
    """Return a slot's name as all formats spell it: the HTML heading "Host name" is host_name in JSON."""
    return "_".join(name.lower().replace("_", " ").replace("-", " ").split())


def _key(pair: Pair, name: str) -> str:
    return name if pair.wanted.format is None else slot_key(name)


def _read(pair: Pair) -> tuple[list[AnswerSlot], list[AnswerSlot]] | UnreadableError:
    if is_empty(pair.reference) and is_empty(pair.candidate):
        return UnreadableError("no_text", "Neither answer has text.")
    reference = read_slots(pair.reference.text)
    candidate = read_slots(pair.candidate.text, pair.wanted.format)
    if isinstance(reference, UnreadableError):
        return reference
    if isinstance(candidate, UnreadableError):
        return candidate
    if reference is None:
        return UnreadableError("no_slots", "The reference has no slots that can be read.")
    return _keyed(pair, reference), _keyed(pair, candidate or [])


def _keyed(pair: Pair, slots: list[AnswerSlot]) -> list[AnswerSlot]:
    """Return slots with the keys that are compared."""
    return [AnswerSlot(_key(pair, slot.key), slot.value) for slot in slots]


def _slots(tree: Tree) -> Iterator[AnswerSlot]:
    if isinstance(tree, tuple):
        for item in tree:
            yield from _slots(item)
    elif isinstance(tree, dict):
        by_name = {name.lower(): item for name, item in tree.items()}
        key = next((by_name[name] for name in _NAME_KEYS if name in by_name), None)
        value = next((by_name[name] for name in _VALUE_KEYS if name in by_name), None)
        if isinstance(key, str) and value is not None:
            yield from _filled(key, value)
            return
        for name, item in tree.items():
            if isinstance(item, str) or (isinstance(item, tuple) and all(isinstance(x, str) for x in item)):
                yield from _filled(name, item)
            else:
                yield from _slots(item)


def _filled(key: str, value: Tree) -> Iterator[AnswerSlot]:
    for item in value if isinstance(value, tuple) else (value,):
        yield AnswerSlot(key, flat(item))

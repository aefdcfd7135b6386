"""Entity slot filling: named values read from two answers and compared slot by slot.

The prompt's schema names the slots and the allowed values of some. Keys and allowed values must match
exactly; free text must be worded alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.assignment import MOST_CELLS, best_assignment
from evenkeel.metrics.identity import is_empty, plain
from evenkeel.metrics.protocol import About
from evenkeel.metrics.quality.measurement import RuleQuality
from evenkeel.metrics.similarity.sequence import rouge_l
from evenkeel.metrics.structured.json import find_json
from evenkeel.metrics.structured.reading import Structure, fences, read_structure
from evenkeel.metrics.structured.tree import Tree, UnreadableError, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.pair import Answer, Format, Pair


Schema = Mapping[str, frozenset[str]]
"""Allowed values by slot name; the empty set for free text."""

_SCHEMA_NAME_KEYS = ("name", "entity", "slot", "key", "field")
_CHOICE_KEYS = ("choices", "enum", "options", "values", "allowed_values")
_SHAPE_KEYS = frozenset(("type", "description", *_CHOICE_KEYS))
_LINE = re.compile(
    # name (choice [a, b]: what it is), one or several in a line
    r"(?<!\w)([A-Za-z_][\w.-]{0,60}) ?\((?:choice|enum|string|number|boolean|integer|date|other)"
    r" ?(?:\[([^\]\n]{0,500})\])? ?[:)]",
    re.IGNORECASE,
)
# Bounds the time of the search. A longer prompt that has a schema states it near its beginning.
_MOST_CHARACTERS = 200_000


@lru_cache(maxsize=256)
def read_schema(context: str) -> Schema:
    """Find the entity schema in a prompt. Cached, since all variants share the prompt.

    Reads a fenced JSON or YAML block, or the longest JSON object in the text. It may be a list of records
    with a name, the `properties` of a JSON schema, or a mapping from names to records with a type, a
    description or choices. Otherwise reads lines of the form `name (choice [a, b]: description)`.

    Returns: allowed values by slot name; empty without a schema in the first 200,000 characters.
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
    """Return the slots at the top of a tree, else those of its first branch that has any."""
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
    """Slot that an answer fills, with its value."""

    key: str
    value: str


class SlotMatch:
    """F1 over the filled slots of two answers."""

    name: ClassVar[str] = "slot_match"
    version: ClassVar[int] = 2
    about: ClassVar[About] = About("entity")

    def score(self, pair: Pair) -> float | Failure:
        """F1 over filled slots: the share that both answers fill with the same value.

        Two slots match if their keys are equal and their values agree. Values must be equal if the prompt's
        schema (see `read_schema`) lists the allowed ones; other values must reach a ROUGE-L F1 of 0.7. If the
        variant asks for another format, keys are normalised first (see `slot_key`). A slot with null or an
        empty value counts as not filled. Symmetric.

        Returns: ratio in [0, 1]; 1 = same slots, same values, or both answers fill none; 0 = no match, or
            no slots can be read from the candidate. A `Failure` "no_text" if neither answer has text or a
            tool call, "no_slots" if none can be read from the reference, "too_large" or "too_deep".
        Source: Entity Match, section 4.2 of the enterprise perturbation paper.
        """
        schema = _schema_of(pair)
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
    """Return the F1 over slots. Slots of one key are paired one to one for the largest total agreement.

    Args:
        reference: The slots of one answer.
        candidate: Those of the other.
        alike: Agreement of two different slots of one key, in [0, 1]; not called for equal slots.

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
    """Return the agreement of the best pairing; 0 if there are too many values to compare."""
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

    Returns: the slots in order, from records with a name and a value, or from the fields of a mapping. A
        nested field is named by its innermost key; a field with several values gives several slots. None if
        the answer has no structure; an error "too_large" or "too_deep".
    """
    structure = read_structure(text, wanted)
    if not isinstance(structure, Structure):
        return structure
    slots = []
    for slot in _slots(structure.tree):
        if slot.value:
            slots.append(slot)
    return slots


def slot_key(name: str) -> str:
    """Normalise a slot's name across formats: the HTML heading "Host name" becomes host_name, as in JSON."""
    return "_".join(name.lower().replace("_", " ").replace("-", " ").split())


def _key(pair: Pair, name: str) -> str:
    return name if pair.wanted.format is None else slot_key(name)


def _schema_of(pair: Pair) -> Schema:
    return {_key(pair, name): choices for name, choices in read_schema(pair.context).items()}


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
    return [AnswerSlot(_key(pair, slot.key), slot.value) for slot in slots]


def _slots(tree: Tree) -> Iterator[AnswerSlot]:
    if isinstance(tree, tuple):
        for item in tree:
            yield from _slots(item)
    elif isinstance(tree, dict):
        by_name = {}
        for name, item in tree.items():
            by_name[name.lower()] = item
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


class SameSlots(RuleQuality):
    """Quality of an extraction that needs no judge. Values that are worded otherwise are left to one."""

    name: ClassVar[str] = "slot_match"
    version: ClassVar[int] = 3

    def measure_now(self, pair: Pair) -> QualityScore | None:
        """Return the agreement of the slots, on the scale "agreement".

        Returns: 1 = both answers fill the same slots with the same values, by the rule of identity; below 1
            = a slot whose choices the prompt's schema fixes has another one: the share of the slots that are
            alike. None if neither is so: free values may say the same in other words.
        """
        asked = pair.wanted.format
        left, right = _values(pair, pair.reference, None), _values(pair, pair.candidate, asked)
        if not left or not right:
            return None
        names = left.keys() | right.keys()
        alike = []
        for name in names:
            if left.get(name) == right.get(name):
                alike.append(name)
        if len(alike) == len(names):
            return QualityScore(self.name, self.version, 1.0, 1.0, "agreement")
        schema = _schema_of(pair)
        for name in left.keys() & right.keys():
            choices = schema.get(name, frozenset())
            chosen = {*left[name], *right[name]}
            # A value that is no choice may be one in other words.
            if name not in alike and chosen <= choices:
                return QualityScore(self.name, self.version, 1.0, len(alike) / len(names), "agreement")
        return None


def _values(pair: Pair, answer: Answer, wanted: Format | None) -> dict[str, list[str]]:
    """Return the values of an answer's slots by key; empty if it has none that can be read."""
    slots = read_slots(answer.text, wanted)
    values: dict[str, list[str]] = {}
    if isinstance(slots, list):
        for key, same in _by_key(_keyed(pair, slots)).items():
            values[key] = [plain(slot.value) for slot in same]
    return values

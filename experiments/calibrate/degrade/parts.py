"""An answer as parts that a model can reword or merge, whatever its form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.experiments.calibrate.degrade.data.changing import value_of, with_value
from evenkeel.experiments.calibrate.degrade.data.document import read_document
from evenkeel.experiments.calibrate.degrade.data.tree import at, leaf_paths
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.text.sentences import is_code
from evenkeel.experiments.calibrate.degrade.text.units import TextForm, read_units, with_text
from evenkeel.experiments.calibrate.degrade.workflow.compressed import groups, regrouped
from evenkeel.experiments.calibrate.degrade.workflow.writing import write_like
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.protocol import Form

_LEAST_WORDS: Final = 3
"""Of a value that can be said in other words: names and codes have none."""


@dataclass(frozen=True, slots=True)
class Parts:
    """An answer, taken apart."""

    noun: str
    """What a part is called."""
    size: int
    """How many units the answer has; a severity is a share of them."""
    texts: tuple[str, ...]
    free: frozenset[int]
    """Indices of the texts that may be changed: no code."""
    reworded: Callable[[Mapping[int, str]], Answer]
    """The answer with other texts in some places."""
    merged: Callable[[Collection[int], Mapping[int, str]], Answer] | None
    """The answer with the texts at some places merged into those before; what is said there now is given by
    the first place of each group. None if neighbours do not go together: values of different keys."""
    count: Callable[[Answer], int]
    """How many units an answer of the same form has."""


def read_parts(answer: Answer, form: Form) -> Parts:
    """Take an answer apart.

    Raises:
        NotDegradableError: The answer does not have the form; "tool_calls": its steps are names of tools.
        WorkflowError: Its workflow cannot be read.
    """
    match form:
        case "workflow":
            return _steps(answer)
        case "data":
            return _values(answer)
        case "prose" | "list":
            return _units(answer, form)


def _units(answer: Answer, form: TextForm) -> Parts:
    text = read_units(answer.text, form)
    units = text.units

    def reworded(said: Mapping[int, str]) -> Answer:
        return with_text(answer, text.written([[said.get(i, unit)] for i, unit in enumerate(units)]))

    def merged(joints: Collection[int], said: Mapping[int, str]) -> Answer:
        slots = [[] if i in joints else [said.get(i, unit)] for i, unit in enumerate(units)]
        return with_text(answer, text.written(slots))

    free = frozenset(i for i, unit in enumerate(units) if not is_code(unit))
    noun = "sentence" if form == "prose" else "item"
    return Parts(
        noun, len(units), units, free, reworded, merged, lambda made: len(read_units(made.text, form).units)
    )


def _steps(answer: Answer) -> Parts:
    if answer.tool_calls:
        raise NotDegradableError("tool_calls", "names of tools cannot be said otherwise")
    given = read_answer(answer).arranged()
    size = len(given.steps)

    def written(found: Workflow) -> Answer:
        return replace(answer, text=write_like(found, answer.text))

    def reworded(said: Mapping[int, str]) -> Answer:
        return written(Workflow(tuple(said.get(i, step) for i, step in enumerate(given.steps)), given.edges))

    def merged(joints: Collection[int], said: Mapping[int, str]) -> Answer:
        texts = [said.get(i, step) for i, step in enumerate(given.steps) if i not in joints]
        return written(regrouped(given, groups(size, joints), texts))

    return Parts(
        "step", size, given.steps, frozenset(range(size)), reworded, merged,
        lambda made: len(read_answer(made).steps),
    )  # fmt: skip


def _values(answer: Answer) -> Parts:
    document = read_document(answer.text)
    paths = list(leaf_paths(document.root))
    entries = [at(document.root, path) for path in paths]
    # Values that hold nothing to reword are not shown: they may be many, and codes are copied wrongly.
    values = {i: text for i, entry in enumerate(entries) if _says(text := value_of(entry) or "")}
    shown, texts = list(values), tuple(values.values())

    def reworded(said: Mapping[int, str]) -> Answer:
        return document.edited(
            answer, {paths[shown[i]]: [with_value(entries[shown[i]], text)] for i, text in said.items()}
        )

    def count(made: Answer) -> int:
        return sum(1 for _ in leaf_paths(read_document(made.text).root))

    return Parts("value", len(paths), texts, frozenset(range(len(texts))), reworded, None, count)


def _says(text: str) -> bool:
    return len(text.split()) >= _LEAST_WORDS or sum(letter >= "\u2e80" for letter in text) >= 2 * _LEAST_WORDS

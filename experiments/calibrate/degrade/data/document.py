"""The piece of an answer that is data, found in the text and put back into it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from evenkeel.experiments.calibrate.degrade.data import json_form, xml_form, yaml_form
from evenkeel.experiments.calibrate.degrade.data.tree import Branch, edited
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.metrics.structured.json import find_json, read_json
from evenkeel.metrics.structured.reading import Structure, Structured, fences, read_structure
from evenkeel.metrics.structured.tree import UnreadableError
from evenkeel.metrics.structured.xml import read_xml
from evenkeel.metrics.structured.yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.data.tree import Entry, Path
    from evenkeel.metrics.structured.tree import Tree


class _Write(Protocol):
    def __call__(self, root: Branch, like: str) -> str: ...


class _Format(NamedTuple):
    plain: Callable[[str], Tree]
    """What the metrics read."""
    read: Callable[[str], Branch]
    write: _Write


_FORMATS: Final[dict[Structured, _Format]] = {
    "json": _Format(read_json, json_form.read, json_form.write),
    "yaml": _Format(read_yaml, yaml_form.read, yaml_form.write),
    "xml": _Format(read_xml, xml_form.read, xml_form.write),
}


@dataclass(frozen=True, slots=True)
class Document:
    """Data within an answer."""

    format: Structured
    root: Branch
    before: str
    """What stands before it in the answer: a fence, a word of introduction."""
    said: str
    """The data as it was written."""
    behind: str

    def written(self, root: Branch) -> str:
        """The answer's text with other data."""
        return self.before + _FORMATS[self.format].write(root, self.said) + self.behind

    def edited(self, answer: Answer, edits: Mapping[Path, Sequence[Entry]]) -> Answer:
        """The answer with other entries at some paths, see `tree.edited`.

        Raises:
            NotDegradableError: "unchanged".
        """
        return self.degraded(answer, edited(self.root, edits))

    def degraded(self, answer: Answer, root: Branch) -> Answer:
        """The answer with other data.

        Raises:
            NotDegradableError: "unchanged": it would say the same as before.
        """
        if root == self.root:
            raise NotDegradableError("unchanged", "the data are the same as before")
        return replace(answer, text=self.written(root))


def read_document(text: str) -> Document:
    """Find the data in an answer: what the metrics read, if it is valid.

    Raises:
        NotDegradableError: "no_data", "not_valid" if it takes repairs to read it, "malformed", "too_deep",
            "too_large", "several_documents", "entity", "no_fields".
    """
    found = read_structure(text)
    if isinstance(found, UnreadableError):
        raise NotDegradableError(found.reason, str(found))
    if not isinstance(found, Structure) or found.format not in _FORMATS:
        raise NotDegradableError("no_data", "the answer is no JSON, YAML or XML")
    form = _FORMATS[found.format]
    for said in _pieces(text, found.format):
        try:
            same = form.plain(said) == found.tree
        except UnreadableError:
            continue
        if same:
            before, _, behind = text.partition(said)
            return Document(found.format, form.read(said), before, said, behind)
    raise NotDegradableError(
        "not_valid", f"the answer's {found.format.upper()} cannot be read without repairs"
    )


def _pieces(text: str, wanted: Structured) -> Iterator[str]:
    """Where data may stand, the whole first."""
    body = text.strip()
    yield body
    pieces = [fence.text for fence in fences(body)]
    yield from pieces
    for piece in (body, *pieces):
        if wanted == "json":
            excerpt = find_json(piece)
            if excerpt is not None:
                yield piece[excerpt.start : excerpt.end]
        elif wanted == "xml":
            start = piece.find("<?xml") if "<?xml" in piece else piece.find("<")
            yield piece[max(0, start) : piece.rfind(">") + 1]

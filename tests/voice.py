"""Words of the house, held against everything a person reads. `python -m tests.voice` lists what should be said otherwise.

Looked at: Markdown (without code), templates, alert rules, and each docstring and text in the product's code, which
takes in `--help`, the settings reference, errors, console and dashboards.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.house import MAY_IMPORT, ROOT, files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAY: Final[dict[str, str]] = {
    r"unchanged resends?|identical resends? as a baseline": "control",
    r"letter-case changes?|variants? of (a|the) changes?": "perturbation; to people: rewording",
    r"kinds? of change of (the|a) (prompt|question)": "perturbation; to people: rewording",
    r"\bcheap(ly|er|est)? (metrics?|raters?|ratings?|scores?|scorers?|metric scores?)": "heuristic",
    r"\b(cheap) (decides?|rates?|alone)": "heuristic",
    r"\bpurses?\b|\bledgers?\b|the rewriter's money|\bmoney\b": "budget, cost tracker",
    r"\bdeeds?\b|log of actions|action log": "audit log",
    r"\bwhat (has |have |had )?moved\b": "subject, verb, object: what changed, and by how much",
    r"\bstands? beside\b|\bstanding beside\b": "next to, with, compared with",
    r"\b(is|are|was|were|been|be) told\b": "gets, receives, is notified",
    r"\bsurely\b": "(leave it out)",
    r"\bseldom\b": "rarely",
    r"\bin so far as\b|\binsofar as\b": "if, where",
    r"^Of everything\.": "a sentence with a subject",
    r"Above it: never overlooked": "Smallest regression the gate must detect.",
    r"Excess that is none": "Difference treated as zero.",
    r"found out beforehand": "Refreshes … in the background.",
    r"one that chance draws": "Rate a random trial",
    r"\bI do not say\b": "Skip",
    r"No figures, or odd ones": "Missing or surprising numbers?",
    r"\bwobbl(e|es|ed|ing)\b": "is reworded",
    r"\boutlives?\b(?= (it|them|the verdicts|a killed|killed))": "survives",
    r"\bshall be\b|\bshall\b": "must, should, will",
    r"\bhitherto\b|\bthereof\b|\bwhereof\b|\bherein\b|\btherein\b": "plain words",
}
"""What is not said (a regular expression, whatever its case) and what to say instead."""


class Found(NamedTuple):
    """One place."""

    path: Path
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        """As compilers write it."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: “{self.text}”: say “{self.instead}”"


_SAY: Final = [(re.compile(said, re.IGNORECASE | re.MULTILINE), instead) for said, instead in SAY.items()]
_CODE: Final = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]*`|\{[%{].*?[%}]\}|<[^>]*>", re.DOTALL)


def _found(path: Path, text: str, first_line: int = 1) -> Iterator[Found]:
    # Code is blanked, not removed: lines keep their numbers.
    text = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for pattern, instead in _SAY:
        for match in pattern.finditer(text):
            yield Found(path, first_line + text.count("\n", 0, match.start()), match[0], instead)


def in_code(path: Path) -> Iterator[Found]:
    """Docstrings and texts of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from _found(path, node.value, node.lineno)


def in_text(path: Path) -> Iterator[Found]:
    """Markdown, templates and rules."""
    yield from _found(path, path.read_text(encoding="utf-8"))


def places() -> Iterator[Found]:
    """Every place where a word of the left-hand column should stand."""
    for path in files(*MAY_IMPORT, "grafana"):
        yield from in_code(path)
    for pattern in (
        "README.md",
        "CONTRIBUTING.md",
        "docs/**/*.md",
        "*/**/templates/*.html",
        "deploy/**/*.y*ml",
    ):
        for path in sorted(ROOT.glob(pattern)):
            if not path.relative_to(ROOT).parts[0].startswith((".", "links", "build")):
                yield from in_text(path)


def main() -> int:
    """Print every place; 1 if there is one."""
    found = list(places())
    for one in found:
        print(one)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

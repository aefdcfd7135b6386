"""Words of the house, checked in everything a person reads. `python -m tests.voice` lists the hits.

Checked are Markdown (without code), the generated reference with all of `--help`, page templates, alert
rules, tables of words, and every docstring and text in the code of the product: errors, messages, console.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.reference.__main__ import pages
from tests.house import ROOT, files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Rule(NamedTuple):
    """A wording that the house does not use."""

    pattern: str
    """Regular expression, case ignored; a space also matches a line break."""
    say: str
    """What to write."""
    example: str
    """A text that the pattern finds."""
    prose_only: bool = False
    """Whether code may use the word, for a class or in a formula; Markdown, templates and rules may not."""


RULES: Final = (
    # One thing has one name.
    Rule(
        r"letter-case changes?|variants? of (a|the) changes?",
        "perturbation; to people: rewording",
        "A letter-case change.",
    ),
    Rule(
        r"\b(this|each|every|one|small) kinds? of (small )?changes?\b(?! of (a|the) (route|model))|"
        r"kinds? of changes? of (the|a) (prompt|question)",
        "perturbation; to people: rewording",
        "Each kind of change.",
        prose_only=True,
    ),
    Rule(
        r"\b(general|positional|format|multilingual|crosslingual|compound) kinds?\b|"
        r"\b(single|fewer|perturbation,) kinds?\b|\bkinds? (tried|watched)\b",
        "perturbation",
        "By default general kinds are tried.",
        prose_only=True,
    ),
    Rule(
        r"unchanged resends?|identical resends? as a baseline|\bbaseline arm\b",
        "control",
        "The unchanged resend first.",
    ),
    Rule(r"\bexcess(es)?\b", "points above noise", "An excess of 4 points.", prose_only=True),
    Rule(
        r"\bcheap(ly|er|est)? (metrics?|raters?|ratings?|scores?|scorers?|metric scores?)|"
        r"\bcheap(ly)? (decided|decides?|rates?|alone)|\bdecided cheaply\b",
        "heuristic",
        "Cheap metrics decide.",
    ),
    Rule(
        r"\bpurses?\b|\bledgers?\b|\bmoney\b",
        "budget, cost tracker, spend; for bets: wealth",
        "It saves money.",
    ),
    Rule(r"\bdeeds?\b|log of actions|action log", "audit log", "The log of actions."),
    Rule(
        r"\b(page|list|table) of (the )?(pairs|verdicts)\b",
        "trials",
        "The list of verdicts.",
        prose_only=True,
    ),
    Rule(r"\balert per cell\b", "incident", "One alert per cell."),
    # Plain English.
    Rule(r"\bwhat (has |have |had )?moved\b", "what changed, and by how much", "It says what moved."),
    Rule(
        r"\bstands? beside\b|\bstanding beside\b",
        "next to, with, compared with",
        "It stands beside the figure.",
    ),
    Rule(
        r"\b(is|are|was|were|been|be) told\b",
        "gets, receives, is notified, is distinguished",
        "Nobody is told.",
    ),
    Rule(r"\bsurely\b", "(leave it out)", "This is surely enough."),
    Rule(r"\bseldom\b", "rarely", "It is seldom wrong."),
    Rule(r"\bin so far as\b|\binsofar as\b", "if, where", "True in so far as it varies."),
    Rule(r"^Of everything\.", "a sentence with a subject", "Of everything."),
    Rule(
        r"Above it: never overlooked",
        "Smallest regression the gate must detect.",
        "Above it: never overlooked.",
    ),
    Rule(r"Excess that is none", "Difference treated as zero.", "Excess that is none."),
    Rule(
        r"found out beforehand|What takes a store",
        "Refreshes … in the background.",
        "All found out beforehand.",
    ),
    Rule(r"one that chance draws", "Rate a random trial", "Rate one that chance draws."),
    Rule(r"\bI do not say\b|\bSay so</", "Skip, Submit", "I do not say."),
    Rule(r"No figures, or odd ones", "Missing or surprising numbers?", "No figures, or odd ones?"),
    Rule(r"\bof \d[\d,]* trials; \d+ ?% may\b", "(objective: 10%)", "25 % of 363 trials; 10 % may."),
    Rule(r"\bwobbl(e|es|ed|ing)\b", "is reworded", "The question wobbles."),
    Rule(
        r"\boutlives?\b(?= (it|them|the verdicts|a killed|killed))", "survives", "It outlives a killed run."
    ),
    Rule(r"\bshall\b", "must, should, will", "It shall hold."),
    Rule(
        r"(?<!of\s)\b(all|every|each|these|those|some|such|which|other|further|their|\d+) kinds?\b"
        r"(?! of\b)(?! (and|are counted))|"
        r"\b(a|the|this|another) kind (needs?|does|would|applies|finds|may|has)\b",
        "perturbation",
        "All kinds together are 108.",
        prose_only=True,
    ),
    Rule(
        r"\b(answer|rate|judge|count|move|read)s?(ed|d)? otherwise\b|\bcomes? out otherwise\b|"
        r"\botherwise than\b",
        "differently, other than",
        "Goldens are answered otherwise.",
    ),
    Rule(r"\banew\b", "again", "It is read anew.", prose_only=True),
    Rule(r"\bbeforehand\b", "in advance, before", "Stated beforehand."),
    Rule(r"\bturn(s|ed|ing)? over\b", "rotate", "Keys are turned over."),
    Rule(r"\bdearer\b|\boftener\b", "more expensive, more often", "A replay is dearer."),
    Rule(r"\bbe had\b", "available", "What cannot be had is left out."),
    Rule(r"\bmend(s|ed|ing)?\b", "fix, repair", "It is mended at the start."),
    Rule(r"\bbut for\b", "except for", "All but for one.", prose_only=True),
    Rule(r"\bworked off\b", "processed", "Nothing is worked off."),
    Rule(r"\blet go\b", "skipped, dropped", "Exchanges are let go.", prose_only=True),
    Rule(r"\bfor ever\b", "forever", "It takes for ever."),
    Rule(
        r"\bhitherto\b|\b(t|w)hereof\b|\bherein\b|\btherein\b|\bforthwith\b",
        "plain words",
        "The parts thereof.",
    ),
    Rule(
        r"\bidentical resends? (is|carries|has|that|of)\b|\b(the|an?|its) identical resend\b",
        "control",
        "Against the identical resend.",
        prose_only=True,
    ),
    Rule(r"\bin peace\b", "without haste", "Fix it in peace."),
    Rule(r"\bas may be\b", "the limit is reached", "As many are open as may be."),
    Rule(r"\blies? about\b", "are kept", "Prompts that lie about for years."),
    Rule(r"\bwithout number\b", "unlimited", "Connections without number."),
    Rule(r"\b(key|token|budget|certificate) ran out\b", "expired; is used up", "The key ran out."),
    Rule(
        r"\b(a|per) (day|year|month) and route\b|\ba route at most\b(?!,)",
        "per route and year; at most … per route",
        "0.02 a year and route.",
    ),
    Rule(r"\bSay what it costs\b", "Set its price", "Say what it costs."),
    Rule(r"\bcheap_scores\b", "heuristics", "The measure cheap_scores."),
)

EXEMPT: Final[dict[tuple[str, str], str]] = {
    ("evenkeel/metrics/similarity/words.py", "shall"): "a list of stop words",
}
"""Places where a word may stand, by file and text, with the reason."""

FORMULAS: Final = (
    "docs/research/", "docs/gate.md", "docs/concepts/", "docs/glossary.md", "docs/design/",
)  # fmt: skip
"""Pages that define *excess* or compute with it."""


class Found(NamedTuple):
    """One place."""

    path: Path
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        """As compilers write it."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: “{self.text}”: say “{self.instead}”"


_RULES: Final = [
    (re.compile(rule.pattern.replace(" ", r"\s+"), re.IGNORECASE | re.MULTILINE), rule) for rule in RULES
]
_CODE: Final = re.compile(
    r"```.*?```|~~~.*?~~~|`[^`\n]*`|\{[%{].*?[%}]\}|<[^>]*>|^name = \"[a-z_]+\"$", re.DOTALL | re.MULTILINE
)
"""Code in pages, tags of templates and names in tables."""


def found_in(path: Path, text: str, first_line: int = 1, *, prose: bool) -> Iterator[Found]:
    """The places in a text where a rule is broken, by the line of their start."""
    # Code is blanked, not removed: lines keep their numbers.
    text = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    name = path.relative_to(ROOT).as_posix()
    for pattern, rule in _RULES:
        if rule.prose_only and (
            not prose or (rule.say == "points above noise" and name.startswith(FORMULAS))
        ):
            continue
        for match in pattern.finditer(text):
            said = " ".join(match[0].split())
            if (name, said) not in EXEMPT:
                yield Found(path, first_line + text.count("\n", 0, match.start()), said, rule.say)


def in_code(path: Path) -> Iterator[Found]:
    """Docstrings and texts of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from found_in(path, node.value, node.lineno, prose=False)


def in_text(path: Path) -> Iterator[Found]:
    """Markdown, templates, rules and tables of words."""
    yield from found_in(path, path.read_text(encoding="utf-8"), prose=True)


def places() -> Iterator[Found]:
    """Every place that breaks a rule."""
    for path in files("evenkeel"):
        yield from in_code(path)
    for page, text in pages(ROOT / "docs").items():
        # What `--help` prints is in fences on its page, and people read it.
        fences = r"^```(text)?$" if page.stem == "command-line" else r"(?!)"
        yield from found_in(page, re.sub(fences, "", text, flags=re.MULTILINE), prose=True)
    for pattern in (
        "README.md",
        "CONTRIBUTING.md",
        "docs/**/*.md",
        "evenkeel/**/templates/*.html",
        "deploy/**/*.y*ml",
        "evenkeel/metrics/**/*.toml",
        "evenkeel/monitor/**/*.toml",
        "evenkeel/shadow/rewriter/*.toml",
    ):
        for path in sorted(ROOT.glob(pattern)):
            parts = path.relative_to(ROOT).parts
            if not parts[0].startswith((".", "build", "site")) and parts[1:2] != ("reference",):
                yield from in_text(path)


def main() -> int:
    """Print every place; 1 if there is one."""
    found = list(places())
    for one in found:
        print(one)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

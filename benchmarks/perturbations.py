"""How often each perturbation applies, whether it keeps what is protected, and what it costs.

Run: python -m benchmarks.perturbations [--texts N] [--write]

Prompts: 80 questions of two turns in eight languages, 500 tickets, 20 chat logs and 750 phrasings from
the public data beside the repository (../shared/data; says so and goes on without where it is absent),
and the application prompts of `tests.kit.prompts`, cut by their templates as a route's settings state
them. Each kind is applied once to each prompt, at severity 0.3 where it has degrees.

- applies: share of the prompts with a variant, or with a draft for the rewriter
- kept: share of the variants in which every protected span of the input stands as it was
- time: of one application, in microseconds for each 1,024 bytes of prompt text, median over prompts
- 4 KB: milliseconds for prompts of 4,096 bytes, put together from the texts above, each the quickest
  of three passes over all of them: no cache lasts from one pass to the next

Of kinds that differ in languages only, one stands for all.

`--texts N` also checks N texts of every data file (0 = all; takes long) at three severities.
`--write` writes docs/research/perturbations-measured.json, from which `make docs` makes a table.
The digest covers every byte that the text kinds make of the application prompts.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table

from evenkeel.core.languages import language_of
from evenkeel.shadow.perturbations import (
    BUILTIN,
    Draft,
    NotApplicable,
    by_name,
    seed_for,
)
from evenkeel.shadow.prompt import PromptView
from tests.kit.prompts import EVERY
from tests.kit.public import (
    DATA,
    LANGUAGES,
    chat_logs,
    data_files,
    questions,
    rephrased,
    texts_of,
    tickets,
)
from tests.kit.variants import TEXT_KINDS, applications, chat, digest, keeps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations import Perturbation

SEVERITY: Final = 0.3
MEASURED: Final = Path(__file__).resolve().parents[1] / "docs" / "research" / "perturbations-measured.json"
_FOUR_KB: Final = 4096
_FOUR_KB_PROMPTS: Final = 300
_PASSES: Final = 3
_MORE_THAN_CACHED: Final = 300
_FAMILIES: Final = ("multilingual.es", "crosslingual.es_to_en")
"""Stand for their categories."""
_SEVERITIES: Final = (0.1, 0.5, 1.0)
_MOST_CHARACTERS: Final = 100_000


@dataclass(slots=True)
class Counted:
    """What was seen of one kind on one corpus."""

    prompts: int = 0
    variants: int = 0
    drafts: int = 0
    kept: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    microseconds_a_kb: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Counts and the median."""
        median = statistics.median(self.microseconds_a_kb)
        return {
            "prompts": self.prompts,
            "variants": self.variants,
            "drafts": self.drafts,
            "kept": self.kept,
            "reasons": dict(self.reasons.most_common()),
            "median_us_per_kb": round(median, 1),
        }


def corpora() -> dict[str, list[PromptView]]:
    """Prompts by corpus; without the public data the application prompts alone."""
    found: dict[str, list[PromptView]] = {}
    if DATA.is_dir():
        found |= {f"questions_{tag}": [chat(text) for text in questions(tag)] for tag in LANGUAGES}
        found |= {
            "tickets": [chat(text) for text in tickets()],
            "chat_logs": [chat(text) for text in chat_logs()],
            "phrasings": [chat(text) for text in rephrased()],
        }
    return found | {"applications": applications()}


def count(kind: Perturbation, name: str, prompts: Sequence[PromptView]) -> Counted:
    """Apply one kind once to each prompt of a corpus."""
    counted = Counted()
    severity = SEVERITY if kind.graded else 1.0
    for number, view in enumerate(prompts):
        rng = random.Random(seed_for(f"{name}.{number}", kind.name, severity, kind.version))
        size_kb = sum(len(one.text.encode("utf-8", "replace")) for one in view.segments) / 1024
        start = time.thread_time_ns()
        outcome = kind.apply(view, severity, rng)
        counted.microseconds_a_kb.append((time.thread_time_ns() - start) / 1000 / size_kb)
        counted.prompts += 1
        if isinstance(outcome, NotApplicable):
            counted.reasons[outcome.reason] += 1
        elif isinstance(outcome, Draft):
            counted.drafts += 1
        else:
            counted.variants += 1
            counted.kept += keeps(view, outcome)
    return counted


def four_kb(found: dict[str, list[PromptView]]) -> list[PromptView]:
    """Prompts of 4 KB, each put together from neighbouring texts of a corpus."""
    made: list[PromptView] = []
    for prompts in found.values():
        texts = [view.input_text for view in prompts]
        start = 0
        while start < len(texts):
            text, taken = "", 0
            while len(text.encode("utf-8", "replace")) < _FOUR_KB and start + taken < len(texts):
                text += texts[start + taken] + "\n\n"
                taken += 1
            start += taken
            cut = text.encode("utf-8", "replace")[:_FOUR_KB]
            if len(cut) == _FOUR_KB:
                made.append(chat(cut.decode("utf-8", "ignore")))
    return random.Random(4).sample(made, min(_FOUR_KB_PROMPTS, len(made)))


def milliseconds(kind: Perturbation, prompts: Sequence[PromptView]) -> list[float]:
    """Time of one application to each prompt, the quickest of some passes."""
    severity = SEVERITY if kind.graded else 1.0
    passes: list[list[float]] = []
    for _ in range(_PASSES):
        _forget()
        spent: list[float] = []
        for number, view in enumerate(prompts):
            start = time.thread_time_ns()
            kind.apply(view, severity, random.Random(number))
            spent.append((time.thread_time_ns() - start) / 1e6)
        passes.append(spent)
    return [min(times) for times in zip(*passes, strict=True)]


def _forget() -> None:
    """Fill the cache of languages with other texts; that of protected spans is smaller than a pass."""
    for number in range(_MORE_THAN_CACHED):
        language_of(f"another text {number}")


def measured_kinds() -> tuple[Perturbation, ...]:
    """All kinds, but one of each family."""
    families = {name.partition(".")[0] for name in _FAMILIES}
    return tuple(
        kind for kind in BUILTIN if kind.name in _FAMILIES or kind.name.partition(".")[0] not in families
    )


def check_texts(most: int) -> None:
    """Apply the text kinds to texts of every data file; stops at the first span that is lost."""
    checked = 0
    for path in data_files():
        texts = texts_of(path)
        chosen = random.Random(20).sample(texts, min(most or len(texts), len(texts)))
        for number, text in enumerate(chosen):
            view = chat(text[:_MOST_CHARACTERS])
            for kind in by_name(TEXT_KINDS):
                outcome = kind.apply(view, _SEVERITIES[number % 3], random.Random(number))
                if isinstance(outcome, PromptView) and not keeps(view, outcome):
                    sys.exit(f"bench/perturbations: {kind.name} lost a span in {path.name}: {text!r}")
            checked += 1
    print(f"{checked:,} texts of {len(data_files())} files: every protected span kept")


def measure() -> dict[str, Any]:
    """Everything the table says."""
    found = corpora()
    large = four_kb(found)
    kinds: list[dict[str, Any]] = []
    for kind in measured_kinds():
        counted = {name: count(kind, name, prompts) for name, prompts in found.items()}
        spent = sorted(milliseconds(kind, large)) if large else []
        kinds.append({
            "name": kind.name,
            "version": kind.version,
            "corpora": {name: one.as_json() for name, one in counted.items()},
            "median_us_per_kb": round(
                statistics.median(value for one in counted.values() for value in one.microseconds_a_kb), 1
            ),
            "four_kb_median_ms": round(statistics.median(spent), 3) if spent else None,
            "four_kb_p95_ms": round(spent[len(spent) * 95 // 100], 3) if spent else None,
        })  # fmt: skip
    return {
        "command": "python -m benchmarks.perturbations --write",
        "severity": SEVERITY,
        "four_kb_prompts": len(large),
        "digest": digest(),
        "kinds": kinds,
    }


def show(measured: dict[str, Any]) -> None:
    """Print the table."""
    table = Table("kind", "applies", "kept", "µs/KB", "4 KB, median", "p95", box=None)
    for kind in measured["kinds"]:
        rows = kind["corpora"].values()
        variants, drafts = (sum(row[key] for row in rows) for key in ("variants", "drafts"))
        prompts, kept = (sum(row[key] for row in rows) for key in ("prompts", "kept"))
        table.add_row(
            kind["name"],
            f"{variants + drafts:,} of {prompts:,}",
            f"{kept / variants:.2%}" if variants else "-",
            f"{kind['median_us_per_kb']:.0f}",
            f"{kind['four_kb_median_ms']} ms",
            f"{kind['four_kb_p95_ms']} ms",
        )
    Console(width=110).print(table)
    print(f"digest of {len(EVERY)} application prompts: {measured['digest']}")


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description="Measure the perturbations on public data.")
    parser.add_argument("--texts", type=int, metavar="N", help="also check N texts of every file (0 = all)")
    parser.add_argument("--write", action="store_true", help=f"write docs/{MEASURED.name}")
    options = parser.parse_args()
    if not DATA.is_dir():
        print("bench/perturbations: no data beside the repository (../shared/data): own prompts only")
    elif options.texts is not None:
        check_texts(options.texts)
    measured = measure()
    show(measured)
    if options.write:
        MEASURED.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

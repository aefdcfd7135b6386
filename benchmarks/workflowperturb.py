"""Workflow metrics on the public goldens of WorFBench, beside the tables of WorkflowPerturb.

    python -m benchmarks.workflowperturb [--quick] [--no-models] [--json FILE]

Degrades every golden at every severity, scores the results, prints the paper's Tables 2 to 5 beside ours,
and the processor time of the default metrics by the number of steps. Some minutes of one core with MiniLM,
seconds without. Needs the public data beside the repository (../shared/data); without the extra `semantic`
the columns of MiniLM are left out, which is reported.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.kit import Cell, Table
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.degrade import SEVERITIES
from evenkeel.experiments.calibrate.degrade.engine import Degradation, units_touched
from evenkeel.experiments.calibrate.degrade.workflow import (
    ADDED,
    COMPRESSED,
    DUPLICATED,
    MISSING,
    REORDERED,
    REWORDED,
    merged,
    without,
)
from evenkeel.experiments.calibrate.score_table import FailureMode
from evenkeel.metrics.similarity.bert_score import load_bert_score
from evenkeel.metrics.similarity.embeddings import EmbeddingsUnavailableError, packaged_minilm
from evenkeel.metrics.workflow.alignment import Embedded, ExactText
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.compare import Both
from evenkeel.metrics.workflow.graph import graph_f1
from evenkeel.metrics.workflow.tau import kendall_tau
from evenkeel.metrics.workflow.wording import StepBertScore, workflow_bleu, workflow_gleu
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError, sequence, workflow
from testing.public import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.metrics.similarity.bert_score import BertScore
    from evenkeel.metrics.workflow.alignment import Aligner


FILE: Final = DATA / "worfbench" / "worfbench_gold.jsonl.gz"
SOURCES: Final = frozenset(("wikihow", "alfworld", "webshop", "lumos", "toolbench", "os", "toolalpaca"))
LEAST_STEPS: Final = 5


def goldens() -> list[Workflow]:
    """Workflows of at least five steps from the paper's seven sources: 417 of its 4,973.

    The data count steps from 1, with 0 for the start and one more than there are steps for the end.
    """
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = []
    for row in rows:
        size = len(row["nodes"])
        if row["source"] in SOURCES and size >= LEAST_STEPS:
            edges = [(one - 1, other - 1) for one, other in row["edges"] if one >= 1 and other <= size]
            found.append(workflow(row["nodes"], edges))
    return found


PAPER_METRICS: Final = ("Graph F1", "Chain F1", "BLEU", "GLEU", "BERTScore", "Kendall's τ", "LLM-as-Judge")


class Spread(NamedTuple):
    """A mean over workflows and the standard deviation among them."""

    mean: float
    deviation: float


Row = tuple[Spread, Spread, Spread]


def _row(*figures: float) -> Row:
    first, second, third = (Spread(*figures[at : at + 2]) for at in (0, 2, 4))
    return first, second, third


PAPER_MISSING: Final[dict[str, Row]] = {
    "Graph F1": _row(0.90, 0.06, 0.76, 0.06, 0.61, 0.06),
    "Chain F1": _row(0.90, 0.07, 0.76, 0.06, 0.61, 0.06),
    "BLEU": _row(0.79, 0.13, 0.52, 0.14, 0.29, 0.13),
    "GLEU": _row(0.80, 0.11, 0.58, 0.11, 0.42, 0.11),
    "BERTScore": _row(0.81, 0.26, 0.68, 0.28, 0.72, 0.30),
    "Kendall's τ": _row(0.81, 0.09, 0.61, 0.08, 0.44, 0.07),
    "LLM-as-Judge": _row(0.64, 0.21, 0.36, 0.08, 0.32, 0.10),
}
"""Table 2."""

PAPER_COMPRESSED: Final[dict[str, Row]] = {
    "Graph F1": _row(0.86, 0.10, 0.66, 0.15, 0.45, 0.18),
    "Chain F1": _row(0.86, 0.10, 0.66, 0.15, 0.44, 0.18),
    "BLEU": _row(0.87, 0.14, 0.71, 0.17, 0.51, 0.20),
    "GLEU": _row(0.86, 0.12, 0.70, 0.15, 0.53, 0.17),
    "BERTScore": _row(0.41, 0.26, 0.36, 0.25, 0.32, 0.24),
    "Kendall's τ": _row(0.74, 0.14, 0.46, 0.16, 0.17, 0.19),
    "LLM-as-Judge": _row(0.64, 0.22, 0.41, 0.13, 0.37, 0.10),
}
"""Table 3."""

PAPER_REWORDED: Final[dict[str, Row]] = {
    "Graph F1": _row(0.97, 0.08, 0.91, 0.12, 0.85, 0.16),
    "Chain F1": _row(0.96, 0.08, 0.91, 0.12, 0.85, 0.16),
    "BLEU": _row(0.85, 0.12, 0.66, 0.14, 0.50, 0.15),
    "GLEU": _row(0.86, 0.10, 0.67, 0.13, 0.52, 0.14),
    "BERTScore": _row(0.94, 0.20, 0.86, 0.21, 0.79, 0.21),
    "Kendall's τ": _row(1.00, 0.05, 0.99, 0.08, 0.99, 0.09),
    "LLM-as-Judge": _row(0.98, 0.08, 0.99, 0.07, 0.99, 0.06),
}
"""Table 4."""

PAPER_SENSITIVITY: Final[dict[str, tuple[float, float, float]]] = {
    "Graph F1": (0.72, 1.04, 0.29),
    "Chain F1": (0.72, 1.04, 0.29),
    "BLEU": (1.23, 0.88, 0.88),
    "GLEU": (0.96, 0.84, 0.84),
    "BERTScore": (0.24, 0.23, 0.39),
    "Kendall's τ": (0.94, 1.42, 0.02),
    "LLM-as-Judge": (0.80, 0.70, -0.03),
}
"""Table 5: missing, compressed, description changes."""


PRINTED: Final = "Kendall's τ, as printed"
WEIGHTED: Final = "Kendall's τ, by coverage"
BY_LENGTH: Final = "Kendall's τ, by length"
"""τ times the candidate's length over the reference's (1 at most), 0 if it is not defined."""
EVERY: Final = 4
"""Workflows of which one has its BERTScore measured: it is the dearest by far."""
_UNRELATED: Final = 300
"""Pairs of steps of different goldens, from which the baseline of BERTScore is taken."""


@dataclass(frozen=True, slots=True)
class Models:
    """What the extra `semantic` gives."""

    aligner: Embedded
    bert_score: BertScore
    baseline: float
    """BERTScore of unrelated steps."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Scores of one degradation: by metric, for each severity."""

    scores: dict[str, tuple[Spread, ...]]
    refused: tuple[int, ...]
    """Workflows that could not be degraded so, for each severity."""


class _Kept:
    """An encoder that encodes every text once: steps recur in every variant."""

    def __init__(self, folder: str) -> None:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds

        self._model = SentenceTransformer(folder, device="cpu", local_files_only=True)
        self._vectors: dict[str, list[float]] = {}

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            vectors = self._model.encode(new, show_progress_bar=False).tolist()
            self._vectors.update(zip(new, vectors, strict=True))
        return [self._vectors[text] for text in texts]


def load_models(goldens: Sequence[Workflow]) -> Models | str:
    """MiniLM for the alignment and for BERTScore; why not, if it cannot be had."""
    try:
        score = load_bert_score()
        encoder = _Kept(str(packaged_minilm()))
    except (EmbeddingsUnavailableError, ImportError) as error:
        return str(error)
    rng = random.Random("baseline")
    pairs = [rng.sample(goldens, 2) for _ in range(_UNRELATED)]
    unrelated = score.score_all(
        [Pair(Answer(rng.choice(one.steps)), Answer(rng.choice(other.steps)), "") for one, other in pairs]
    )
    baseline = statistics.fmean(one for one in unrelated if not isinstance(one, Failure))
    # All at once is faster than workflow by workflow.
    encoder.encode([step for golden in goldens for step in golden.steps])
    return Models(Embedded(encoder), score, baseline)


def _last(given: Workflow, severity: float, _: random.Random) -> Workflow:
    size = len(given.steps)
    return without(given.arranged(), set(range(size - units_touched(size, severity), size)))


def _inner(given: Workflow, severity: float, rng: random.Random) -> Workflow:
    size = len(given.steps)
    return without(given.arranged(), set(rng.sample(range(1, size - 1), units_touched(size, severity))))


def _together(given: Workflow, severity: float, rng: random.Random) -> Workflow:
    size, touched = len(given.steps), units_touched(len(given.steps), severity)
    first = rng.randrange(1, size - touched + 1)
    return merged(given.arranged(), range(first, first + touched))


MISSING_LAST: Final = Degradation("missing_last", FailureMode.MISSING, _last)
MISSING_INNER: Final = Degradation("missing_inner", FailureMode.MISSING, _inner)
TOGETHER: Final = Degradation("compressed_together", FailureMode.COMPRESSED, _together)


def measure(
    goldens: Sequence[Workflow], degradation: Degradation[Workflow], aligner: Aligner, models: Models | None
) -> Measured:
    """Scores of every golden against its degraded self.

    Args:
        goldens: What is degraded, each by its own seed.
        degradation: How.
        aligner: For graph F1, chain F1 and τ.
        models: For BERTScore; None leaves it out.
    """
    scores: dict[str, list[Spread]] = {}
    refused = []
    for severity in SEVERITIES:
        pairs = []
        for number, golden in enumerate(goldens):
            try:
                changed = degradation.apply(golden, severity, random.Random(f"{number}.{severity}"))
            except WorkflowError:
                continue
            pairs.append(Both(golden, changed))
        refused.append(len(goldens) - len(pairs))
        for name, values in _scored(pairs, aligner, models).items():
            if values:
                spread = Spread(statistics.fmean(values), statistics.pstdev(values))
                scores.setdefault(name, []).append(spread)
    # A metric that is defined for no workflow at one of the severities has no row of three.
    complete = {name: tuple(found) for name, found in scores.items() if len(found) == len(SEVERITIES)}
    return Measured(complete, tuple(refused))


def _scored(pairs: Sequence[Both], aligner: Aligner, models: Models | None) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for both in pairs:
        aligned = both.reference, both.candidate, aligner.align(both.reference, both.candidate)
        tau = kendall_tau(*aligned)
        values = {
            "Graph F1": graph_f1(*aligned).f1,
            "Chain F1": chain_f1(*aligned).f1,
            "BLEU": workflow_bleu(both.reference, both.candidate),
            "GLEU": workflow_gleu(both.reference, both.candidate),
            PRINTED: tau.tau,
            WEIGHTED: tau.weighted,
            BY_LENGTH: (tau.tau or 0.0) * min(1.0, len(both.candidate.steps) / len(both.reference.steps)),
        }
        for name, value in values.items():
            found.setdefault(name, [])
            if value is not None:
                found[name].append(value)
    if models is not None:
        scored = StepBertScore(models.bert_score).means(pairs[::EVERY])
        # As the paper's figures are: what unrelated steps have is 0, and 1 stays.
        low = models.baseline
        found["BERTScore"] = [(one - low) / (1 - low) for one in scored if not isinstance(one, Failure)]
    return found


EXACT: Final = ExactText()


_TAU: Final = "Kendall's τ"
_PER_SHARE: Final = 2.5
"""The mean of the two slopes between 10, 30 and 50 %: 1 / 0.4."""


def beside(
    name: str, published: Mapping[str, Row], columns: Mapping[str, Measured], notes: Sequence[str]
) -> Table:
    """Means ± standard deviations at 10 / 30 / 50 %, the paper's first.

    Args:
        name: Of the table.
        published: The paper's figures by metric.
        columns: Ours by what was done and how steps were aligned.
        notes: What one must know to read it.
    """
    rows: list[tuple[Cell, ...]] = []
    for metric, (label, spreads) in _rows(published).items():
        ours = [_shown(measured.scores.get(metric)) for measured in columns.values()]
        rows.append((label, _shown(spreads), *ours))
    for column, measured in columns.items():
        if any(measured.refused):
            counts = "/".join(str(count) for count in measured.refused)
            notes = [*notes, f"Not degradable ({column}): {counts} workflows."]
    return Table(name, ("metric", "paper", *columns), tuple(rows), notes=tuple(notes))


def sensitivities(columns: Mapping[str, Sequence[Measured]], notes: Sequence[str]) -> Table:
    """Table 5: how fast each metric falls, for missing, compressed and reworded steps.

    Args:
        columns: Ours by how steps were aligned: the three degradations in the paper's order.
        notes: What one must know to read it.
    """
    rows: list[tuple[Cell, ...]] = []
    for metric in PAPER_METRICS:
        ours = []
        for measured in columns.values():
            key = WEIGHTED if metric == _TAU else metric
            found = [one.scores.get(key) for one in measured]
            slopes = [
                "–" if one is None else _signed(_PER_SHARE * (one[0].mean - one[-1].mean)) for one in found
            ]
            ours.append(" / ".join(slopes))
        rows.append((metric, " / ".join(_signed(one) for one in PAPER_SENSITIVITY[metric]), *ours))
    return Table("table-5-sensitivity", ("metric", "paper", *columns), tuple(rows), notes=tuple(notes))


def _rows(published: Mapping[str, Row]) -> dict[str, tuple[str, Row | None]]:
    """Rows by our name for the metric: its label and the paper's figures."""
    found: dict[str, tuple[str, Row | None]] = {}
    for metric in PAPER_METRICS:
        if metric == _TAU:
            found[WEIGHTED] = (WEIGHTED, published.get(metric))
            found[BY_LENGTH] = (BY_LENGTH, None)
            found[PRINTED] = (PRINTED, None)
        else:
            found[metric] = (metric, published.get(metric))
    return found


def _shown(spreads: Sequence[Spread] | None) -> str:
    if spreads is None:
        return "–"
    return " / ".join(f"{_signed(one.mean)} ± {one.deviation:.2f}" for one in spreads)


def _signed(value: float) -> str:
    # Adding 0.0 turns a rounded −0 into 0.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


SIZES: Final = (10, 40, 100, 1000)
_ROUNDS: Final = 3
_LEAST_S: Final = 0.02
_MILLI: Final = 1000
_REACH: Final = 20
"""How far ahead an edge of the branching workflow reaches."""


def speed(seed: int) -> Table:
    """Milliseconds for a pair, best of three rounds; every pair is built anew, so that no cache helps."""
    rows: list[tuple[Cell, ...]] = []
    for title, build in _CASES.items():
        for size in SIZES:
            reference, candidate = build(size, random.Random(seed))
            alignment = ExactText().align(reference, candidate)
            parts: tuple[Callable[[], object], ...] = (
                lambda build=build, size=size: ExactText().align(*build(size, random.Random(seed))),
                lambda: chain_f1(reference, candidate, alignment),  # noqa: B023 - called at once
                lambda: graph_f1(reference, candidate, alignment),  # noqa: B023 - called at once
                lambda: kendall_tau(reference, candidate, alignment),  # noqa: B023 - called at once
            )
            times = [_milliseconds(part) for part in parts]
            built = _milliseconds(lambda build=build, size=size: build(size, random.Random(seed)))
            times[0] -= built
            covered = chain_f1(reference, candidate, alignment).orders
            rows.append((f"{title}, {size} steps", *times, sum(times), covered))
    columns = ("pair", "alignment", "chain F1", "graph F1", "τ", "together", "orders")
    return Table(
        "speed-of-structural-metrics", columns, tuple(rows), notes=("Milliseconds of processor time.",)
    )


def _steps(size: int) -> list[str]:
    return [f"Check the valve of tank {number}." for number in range(size)]


def _missing(size: int, rng: random.Random) -> tuple[Workflow, Workflow]:
    steps = _steps(size)
    return sequence(steps), sequence(step for step in steps if rng.random() > 0.3)  # noqa: PLR2004 - a share


def _shuffled(size: int, rng: random.Random) -> tuple[Workflow, Workflow]:
    steps = _steps(size)
    return sequence(steps), sequence(rng.sample(steps, size))


def _repeated(size: int, rng: random.Random) -> tuple[Workflow, Workflow]:
    steps = [f"Check the valve of tank {number % 5}." for number in range(size)]
    return sequence(steps), sequence(rng.sample(steps, size))


def _branching(size: int, rng: random.Random) -> tuple[Workflow, Workflow]:
    steps = _steps(size)
    edges = [
        (before, after)
        for before in range(size - 1)
        for after in {rng.randrange(before + 1, min(size, before + _REACH)) for _ in range(2)}
    ]
    return workflow(steps, edges), sequence(rng.sample(steps, size))


_CASES: Final[dict[str, Callable[[int, random.Random], tuple[Workflow, Workflow]]]] = {
    "sequence, 30 % missing": _missing,
    "sequence, shuffled": _shuffled,
    "branching, shuffled": _branching,
    "sequence of five texts, shuffled": _repeated,
}


def _milliseconds(run: Callable[[], object]) -> float:
    calls, best = 1, float("inf")
    for _ in range(_ROUNDS):
        while True:
            start = time.process_time()
            for _ in range(calls):
                run()
            spent = time.process_time() - start
            if spent >= _LEAST_S:
                break
            calls *= 4
        best = min(best, spent / calls)
    return best * _MILLI


_NO_JUDGE = "LLM-as-Judge is not measured: it takes a judge."


def main() -> None:
    """Measure, print, and write the figures if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workflowperturb", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every tenth golden: does it work?")
    parser.add_argument("--no-models", action="store_true", help="leave out MiniLM and BERTScore")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the tables as data")
    options = parser.parse_args()
    if not FILE.is_file():
        sys.exit(f"benchmarks.workflowperturb: {FILE.name} is not beside the repository; nothing measured")
    found = goldens()[:: 10 if options.quick else 1]
    models: Models | None = None
    if options.no_models:
        print("NOT MEASURED: MiniLM alignment and BERTScore (--no-models)\n")
    else:
        loaded = load_models(found)
        if isinstance(loaded, Models):
            models = loaded
        else:
            print(f"NOT MEASURED: MiniLM alignment and BERTScore: {loaded}\n")
    start = time.perf_counter()
    tables = [*_tables(found, models), speed(1)]
    for table in tables:
        print(f"## {table.name}\n\n{table.markdown()}", flush=True)
    print(f"{len(found)} goldens, {time.perf_counter() - start:.0f} s")
    if options.json:
        options.json.write_text(
            json.dumps([table.as_json() for table in tables], indent=1, ensure_ascii=False)
        )


def _tables(found: Sequence[Workflow], models: Models | None) -> list[Table]:
    def ours(*degradations: Degradation) -> dict[str, Measured]:
        columns = {}
        for one in degradations:
            columns[f"{one.name}, exact text"] = measure(found, one, EXACT, models)
            if models is not None:
                # The same workflows have the same BERTScore, however their steps are aligned.
                columns[f"{one.name}, MiniLM"] = measure(found, one, models.aligner, None)
        return columns

    gone = ours(MISSING_LAST, MISSING, MISSING_INNER)
    shorter = ours(COMPRESSED, TOGETHER)
    reworded = ours(REWORDED)
    others = ours(REORDERED, DUPLICATED, ADDED)
    rescaled = (
        f"BERTScore: MiniLM, rescaled so that {models.baseline:.2f} is 0, of every fourth workflow. "
        if models
        else ""
    )
    notes = [f"{len(found)} goldens, mean ± standard deviation at 10 / 30 / 50 %. {rescaled}{_NO_JUDGE}"]
    slopes = {
        how: (
            gone[f"missing_last, {how}"],
            shorter[f"compressed, {how}"],
            reworded[f"reworded, {how}"],
        )
        for how in (["exact text", "MiniLM"] if models else ["exact text"])
    }
    return [
        beside("table-2-missing-steps", PAPER_MISSING, gone, notes),
        beside("table-3-compressed-steps", PAPER_COMPRESSED, shorter, notes),
        beside("table-4-description-changes", PAPER_REWORDED, reworded, notes),
        sensitivities(slopes, ["Missing (last) / compressed (random) / reworded by rule.", _NO_JUDGE]),
        beside("not-in-the-paper", {}, others, notes),
    ]


if __name__ == "__main__":
    main()

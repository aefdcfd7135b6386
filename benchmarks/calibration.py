"""What calibrating costs, and whether its thresholds hold.

Run from the root of the repository:
python -m benchmarks.calibration [--goldens 4973] [--hold-out 400] [--splits 20] [--json FILE]

Speed: made-up workflows (5 to 20 steps), degraded, scored and calibrated in one process without a judge, as
`evenkeel calibrate` does it. Vectors come from a stand-in for an encoder that draws them by the hash of a
text, so what is timed is everything around an encoder, the writing of vectors included; encoding itself is
done once for every text and is a matter of the encoder. Seconds are the processor's.

Hold-out: thresholds set on one half of the goldens, held against the other half, by form, and with goldens in
clusters of near-equal ones: with the clusters known, and taken for independent. With WorFBench
beside the repository (../shared/data) its 417 workflows as well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.kit import Table
from evenkeel.core.pair import Answer
from evenkeel.lab.calibrate.calibrate import calibrate
from evenkeel.lab.calibrate.candidates import Source, conditions
from evenkeel.lab.calibrate.command import write
from evenkeel.lab.calibrate.degrade import SEVERITIES, Damage
from evenkeel.lab.calibrate.encoder import KeptEncoder
from evenkeel.lab.calibrate.journal import Journal, Run, gather
from evenkeel.lab.calibrate.score_table import score_table
from evenkeel.lab.calibrate.scoring import Task, scored_with_encoder
from evenkeel.lab.calibrate.scoring import scored as scored_in_processes
from evenkeel.metrics.languages import ANY_LANGUAGE
from evenkeel.metrics.registry import telling
from evenkeel.metrics.similarity.embeddings import Embeddings
from evenkeel.metrics.workflow.diagrams import write_node_edge
from evenkeel.release.calibration.columns import chosen_columns, encoder_columns, heuristic_columns
from tests.kit.public import WORFBENCH, worfbench

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.lab.calibrate.score_table import ScoreTable
    from evenkeel.release.calibration.calibration import Calibration
    from evenkeel.release.calibration.columns import Column
    from evenkeel.release.calibration.forms import Form

DIMENSIONS: Final = 384
TODAY: Final = date(2026, 1, 2)
_HALF_RESAMPLES: Final = 200
_CLUSTER: Final = 5
_STEPS: Final = (5, 20)
_SENTENCES: Final = (5, 14)

VERBS = ("Open", "Close", "Check", "Clean", "Replace", "Measure", "Label", "Photograph", "Test", "Grease")
PARTS = ("valve", "pump", "filter", "gauge", "hose", "seal", "motor", "belt", "fan", "sensor", "lamp", "lock")
PLACES = ("boiler room", "loading bay", "east wing", "roof", "server room", "kitchen", "depot", "garage")
REASONS = (
    "after the alarm",
    "before the shift ends",
    "with two people",
    "as the manual says",
    "once it is dry",
)


def _step(rng: random.Random) -> str:
    number = rng.randrange(100, 1000)
    return (
        f"{rng.choice(VERBS)} the {rng.choice(PARTS)} number {number} in the {rng.choice(PLACES)} "
        f"{rng.choice(REASONS)}"
    )


def _workflow(rng: random.Random) -> str:
    steps = [_step(rng) for _ in range(rng.randint(*_STEPS))]
    nodes = "\n".join(f"{number}: {step}" for number, step in enumerate(steps, 1))
    edges = "".join(f"({number},{number + 1})" for number in range(1, len(steps)))
    return f"Node:\n{nodes}\nEdge: {edges}"


def _prose(rng: random.Random) -> str:
    def sentence() -> str:
        said = _step(rng)
        return f"The team had to {said[0].lower()}{said[1:]}."

    return " ".join(sentence() for _ in range(rng.randint(*_SENTENCES)))


def _list(rng: random.Random) -> str:
    return "\n".join(f"- {_step(rng)}" for _ in range(rng.randint(*_SENTENCES)))


def _data(rng: random.Random) -> str:
    return json.dumps({f"task_{i}": {"text": _step(rng), "due": rng.randrange(1, 30)} for i in range(6)})


MAKERS: Final[dict[Form, Callable[[random.Random], str]]] = {
    "workflow": _workflow,
    "prose": _prose,
    "list": _list,
    "data": _data,
}


def made_up(form: Form, count: int, seed: int) -> list[Source]:
    """So many goldens of a form."""
    rng = random.Random(f"{seed} {form}")
    task = "workflow" if form == "workflow" else None
    return [Source(f"g{i:05d}", Answer(MAKERS[form](rng)), "", task) for i in range(count)]


class HashedVectors:
    """A stand-in for an encoder: another direction for every text, the same one each time."""

    def encode(self, texts: Sequence[str]) -> Any:
        """One vector a text."""
        seeds = [
            int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") for text in texts
        ]
        return np.stack([np.random.default_rng(seed).standard_normal(DIMENSIONS) for seed in seeds])


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor time of the parts of a calibration, in seconds."""

    scoring: float
    encoded: float
    calibrating: float
    candidates: int


def _task(source: Source, form: Form, columns: Sequence[Column]) -> Task:
    keys = frozenset(column.key for column in columns)
    damage = Damage(form)
    return Task(source, damage, 0, dict.fromkeys(conditions(damage), keys), {})


def timed(sources: Sequence[Source], form: Form, folder: Path) -> tuple[Calibration, Spent]:
    """Calibrate in this process, as the command does with one process, and time it."""
    names = telling(form)
    run = Run("bench", form, 0, SEVERITIES, {})
    with (
        KeptEncoder(HashedVectors(), "hash", folder / "vectors.sqlite") as kept,
        Journal(folder / "journal.jsonl", run) as journal,
    ):
        meant = chosen_columns(
            encoder_columns(Embeddings(kept, model="hash", name="hash"), kept, ANY_LANGUAGE), names
        )
        replaced = {column.metric.name for column in meant}
        free = chosen_columns(heuristic_columns(), [name for name in names if name not in replaced])
        marks = [time.process_time()]
        for rows in scored_in_processes([_task(source, form, free) for source in sources], 1):
            for row in rows:
                journal.add(row)
        marks.append(time.process_time())
        for rows in scored_with_encoder([_task(source, form, meant) for source in sources], meant, kept):
            for row in rows:
                journal.add(row)
        marks.append(time.process_time())
        scores = gather(journal.rows.values(), chosen_columns((*free, *meant), names))
        table = score_table(scores.rows, scores.metrics)
        found = _calibrated(table, 0, 1000)
        write(found, scores, table, folder)
        marks.append(time.process_time())
    parts = [after - before for before, after in pairwise(marks)]
    return found, Spent(*parts, len(scores.rows))


def _calibrated(table: ScoreTable, seed: int, resamples: int) -> Calibration:
    return calibrate(
        table, source="bench", calibrated_on=TODAY, encoder=None, seed=seed, rng=random.Random(seed),
        resamples=resamples,
    )  # fmt: skip


def speed(count: int) -> Table:
    """Seconds of one core for so many workflows."""
    with tempfile.TemporaryDirectory() as folder:
        _, spent = timed(made_up("workflow", count, 1), "workflow", Path(folder))
    total = spent.scoring + spent.encoded + spent.calibrating
    load = os.getloadavg()[0]
    return Table(
        "speed-of-calibrate",
        (
            "goldens",
            "candidates",
            "heuristics (s)",
            "aligned by vectors (s)",
            "the rest (s)",
            "together (s)",
        ),
        ((count, spent.candidates, spent.scoring, spent.encoded, spent.calibrating, total),),
        notes=(f"Seconds of one core, no judge, vectors kept; load of the machine {load:.1f}.",),
    )


def scored(sources: Sequence[Source], form: Form) -> ScoreTable:
    """A score table by the heuristics."""
    columns = chosen_columns(heuristic_columns(), telling(form))
    rows = [
        row for rows in scored_in_processes([_task(one, form, columns) for one in sources], 1) for row in rows
    ]
    scores = gather(rows, columns)
    return score_table(scores.rows, scores.metrics)


def near_equal(count: int, seed: int) -> tuple[list[Source], tuple[str, ...]]:
    """So many answers of prose, five at a time alike but for their numbers, and the cluster of each."""
    rng = random.Random(f"{seed} near equal")
    sources: list[Source] = []
    for one in made_up("prose", count // _CLUSTER, seed):
        for copy in range(_CLUSTER):
            text = re.sub(r"\b\d{3}\b", lambda _: str(rng.randrange(100, 1000)), one.answer.text)
            sources.append(Source(f"{one.id}-{copy}", Answer(text), "", None))
    return sources, tuple(source.id.partition("-")[0] for source in sources)


def hold_out(
    name: str, table: ScoreTable, splits: int, clusters: Sequence[str] = ()
) -> tuple[str | float | int, ...]:
    """How thresholds of one half do on the other; goldens of a cluster go to the same half."""
    rng = random.Random(name)
    names = [facts.name for facts in table.metrics]
    inside = trials = 0
    found: dict[str, list[float]] = {"stated alerts": [], "alerts": [], "stated misses": [], "misses": []}
    for seed in range(splits):
        of_golden = dict(zip(table.goldens, clusters or table.goldens, strict=True))
        names_of_clusters = sorted(set(of_golden.values()))
        rng.shuffle(names_of_clusters)
        first = set(names_of_clusters[: len(names_of_clusters) // 2])
        half = table.only(golden for golden in table.goldens if of_golden[golden] in first)
        other = table.only(golden for golden in table.goldens if of_golden[golden] not in first)
        for result in _calibrated(half, seed, _HALF_RESAMPLES).modes:
            for role in (result.primary, result.secondary):
                if role is None or role.threshold is None:
                    continue
                limit, column = role.threshold, names.index(role.metric)
                mild = other.scores[:, other.place(result.mode, 0.1), column]
                moderate = other.scores[:, other.place(result.mode, 0.3), column]
                seen = {
                    "alerts": (float(np.nanmean(mild[~np.isnan(mild)] < limit.value)), limit.false_alerts),
                    "misses": (float(np.nanmean(moderate[~np.isnan(moderate)] >= limit.value)), limit.misses),
                }
                for what, (share, stated) in seen.items():
                    trials += 1
                    inside += stated.lower <= share <= stated.upper
                    found[what].append(share)
                    found[f"stated {what}"].append(stated.value)
    # Few goldens have no threshold: there is nothing to hold against the other half.
    means = [float(np.mean(values)) if values else float("nan") for values in found.values()]
    return (name, len(table.goldens), trials, *means, inside / trials if trials else float("nan"))


def held(count: int, splits: int) -> Table:
    """Hold-out of made-up goldens of every form, and of WorFBench where it is."""
    rows = [hold_out(f"{form}, made up", scored(made_up(form, count, 2), form), splits) for form in MAKERS]
    sources, clusters = near_equal(count, 3)
    table = scored(sources, "prose")
    rows.append(
        hold_out("prose, clusters of five, known", replace(table, clusters=clusters), splits, clusters)
    )
    rows.append(hold_out("prose, clusters of five, not known", table, splits, clusters))
    notes = ["Means over all thresholds and splits; inside: shares that lie in their stated 95 % intervals."]
    if WORFBENCH.is_file():
        given = [
            Source(f"w{i:03d}", Answer(write_node_edge(one)), "", "workflow")
            for i, one in enumerate(worfbench())
        ]
        rows.append(hold_out("workflow, WorFBench", scored(given, "workflow"), splits))
    else:
        notes.append("NOT MEASURED: WorFBench is not beside the repository.")
    columns = (
        "goldens", "n", "shares", "false alerts stated", "found", "misses stated", "found ", "inside",
    )  # fmt: skip
    return Table("hold-out-of-thresholds", columns, tuple(rows), notes=tuple(notes))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--goldens", type=int, default=4973, help="of the speed; 0 leaves it out")
    parser.add_argument("--hold-out", type=int, default=400, help="goldens of each form; 0 leaves it out")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the tables as data")
    options = parser.parse_args()
    tables = []
    if options.hold_out:
        tables.append(held(options.hold_out, options.splits))
        print(f"## {tables[-1].name}\n\n{tables[-1].markdown()}", flush=True)
    if options.goldens:
        tables.append(speed(options.goldens))
        print(f"## {tables[-1].name}\n\n{tables[-1].markdown()}", flush=True)
    if options.json:
        options.json.write_text(json.dumps([table.as_json() for table in tables], indent=1))


if __name__ == "__main__":
    main()

"""Comparison of similarity measures by how well they distinguish reruns from changes.

Run: python -m benchmarks.similarity [--most PAIRS] [--no-encoder]

Prints the area under the ROC curve with bootstrap intervals, for likeness, ROUGE-L, BLEU and chrF, and with
the extra `semantic` for the encoder; the last row has the means. Reads ../shared/data beside the repository,
and stops with a message without it. LLMDrift has no reruns: its answers of one model to two prompts of a
template take their place, and its changes are the old and the new model's answers to the same two prompts.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import sys
from collections import defaultdict
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from sacrebleu import BLEU, CHRF

from evenkeel.core.pair import Answer, Pair
from evenkeel.lab.metrics.embeddings import available, load_embeddings
from evenkeel.metrics.similarity.likeness import likeness
from evenkeel.metrics.similarity.sequence import rouge_l
from tests.kit.public import DATA, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenkeel.lab.metrics.embeddings import Embeddings

_RESAMPLES: Final = 500  # for the intervals
_FREE_TEXT: Final = ("0", "chomsky", "str_chomsky")
"""Prompts of GPT-4o that leave the form of the answer alone; the others ask for a letter or for JSON."""

Texts = tuple[str, str]


class PairSet(NamedTuple):
    """Pairs of answers to rerun prompts, and pairs across a change."""

    name: str
    reruns: list[Texts]
    changes: list[Texts]


def _table(path: str) -> list[dict[str, str]]:
    with gzip.open(DATA / path, "rt", encoding="utf-8", newline="") as file:
        csv.field_size_limit(10**9)
        return list(csv.DictReader(file))


def _prompts_of_gpt4o() -> PairSet:
    # Answers by condition and question: of the first run, and of its rerun. Later runs were kept only where
    # earlier ones agreed.
    texts: dict[tuple[str, str], str] = {}
    again: dict[tuple[str, str], str] = {}
    for row in rows_of("llm_stability/gpt4o_math_10_prompt_conditions.jsonl.gz"):
        if row["condition"] not in _FREE_TEXT:
            continue
        key = row["condition"], row["qid"]
        match int(row["run"]):
            case 0:
                texts[key] = row["response"]
            case 1:
                again[key] = row["response"]
    reruns = []
    for key, text in texts.items():
        if key in again:
            reruns.append((text, again[key]))
    changes = []
    for question in sorted({question for _, question in texts}):
        for first, second in permutations(_FREE_TEXT, 2):
            if first < second and (first, question) in texts and (second, question) in texts:
                changes.append((texts[first, question], texts[second, question]))
    return PairSet("llm_stability: other prompt", reruns, changes)


def _models_of_llm_stability() -> PairSet:
    path = DATA / "llm_stability" / "survivor_runs_8models.jsonl.gz"
    texts: dict[tuple[str, str], dict[tuple[str, int], str]] = defaultdict(dict)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            texts[row["task"], row["qid"]][row["model"], int(row["run"])] = str(row["response"])
    reruns = []
    changes = []
    for answers in texts.values():
        models = sorted(model for model, run in answers if run == 0)
        for model in models:
            if (model, 1) in answers:
                reruns.append((answers[model, 0], answers[model, 1]))
        for first, second in combinations(models, 2):
            changes.append((answers[first, 0], answers[second, 0]))
    return PairSet("llm_stability: other model", reruns, changes)


def _pbss(rng: random.Random) -> list[PairSet]:
    texts: dict[tuple[str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    temperatures = set()
    for path in sorted((DATA / "pbss").glob("results_*.csv.gz")):
        for row in _table(str(path.relative_to(DATA))):
            if row["output"].strip():
                texts[row["model"], row["origin"]][row["temperature"], row["variant_id"]] = row["output"]
                temperatures.add(row["temperature"])
    low, high = sorted(temperatures, key=float)
    models = sorted({model for model, _ in texts})
    reruns, prompts, other_models = [], [], []
    for (model, origin), answers in texts.items():
        variants = sorted(variant for temperature, variant in answers if temperature == high)
        for (temperature, variant), text in answers.items():
            if temperature != low or (high, variant) not in answers:
                continue
            reruns.append((text, answers[high, variant]))
            prompts.append((text, answers[high, _another(variants, variant, rng)]))
            for other in models:
                if other != model and (high, variant) in texts[other, origin]:
                    other_models.append((text, texts[other, origin][high, variant]))
    return [
        PairSet("pbss: other prompt", reruns, prompts),
        PairSet("pbss: other model", reruns, other_models),
    ]


def _another(names: list[str], name: str, rng: random.Random) -> str:
    """Draw another one of some names."""
    return rng.choice([other for other in names if other != name])


def _drift(rng: random.Random) -> list[PairSet]:
    sets = []
    for task, family, old, new in (
        ("prime_full", "gpt-3.5", "gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613"),
        ("prime_full", "gpt-4", "gpt-4-0314", "gpt-4-0613"),
        ("countahappynumber", "gpt-3.5", "gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613"),
        ("countahappynumber", "gpt-4", "gpt-4-0314", "gpt-4-0613"),
    ):
        texts: dict[str, dict[str, str]] = defaultdict(dict)
        for row in _table(f"llm_drift/{task}_eval.csv.gz"):
            texts[row["model"].rpartition("/")[2]][row["id"]] = row["answer"]
        before, after = texts[old], texts[new]
        ids = sorted(before.keys() & after.keys())
        reruns = []
        changes = []
        for first in ids:
            second = _another(ids, first, rng)
            reruns.append((before[first], before[second]))
            changes.append((before[first], after[second]))
        sets.append(PairSet(f"llm_drift: {task.partition('_')[0][:11]}, {family}", reruns, changes))
    return sets


def pair_sets(most: int) -> list[PairSet]:
    """Return all sets of pairs, with at most this many reruns and changes each."""
    rng = random.Random(4)
    samples = []
    for name, reruns, changes in (_prompts_of_gpt4o(), _models_of_llm_stability(), *_pbss(rng), *_drift(rng)):
        # Each set has a seed of its own, so that its sample does not depend on the other sets.
        some_reruns = random.Random(name).sample(reruns, min(most, len(reruns)))
        some_changes = random.Random(name).sample(changes, min(most, len(changes)))
        samples.append(PairSet(name, some_reruns, some_changes))
    return samples


_CHRF: Final[Any] = CHRF()
_BLEU: Final[Any] = BLEU(effective_order=True)
MEASURES: Final[dict[str, Callable[[str, str], float]]] = {
    "likeness": likeness,
    "ROUGE-L": rouge_l,
    "BLEU": lambda first, second: float(_BLEU.sentence_score(second, [first]).score) / 100,
    "chrF": lambda first, second: float(_CHRF.sentence_score(second, [first]).score) / 100,
}


def scores(pairs: list[Texts], encoder: Embeddings | None) -> dict[str, NDArray[np.float64]]:
    """Return the scores of some pairs by each measure; not a number if the encoder fails."""
    by_measure = {}
    for name, measure in MEASURES.items():
        by_measure[name] = np.array([measure(first, second) for first, second in pairs])
    if encoder is not None:
        cosines = encoder.score_all([Pair(Answer(first), Answer(second), "") for first, second in pairs])
        by_measure["encoder"] = np.array([x if isinstance(x, float) else np.nan for x in cosines])
    return by_measure


def area(reruns: NDArray[np.float64], changes: NDArray[np.float64]) -> float:
    """Return the probability that a rerun scores above a change; ties count half."""
    left = reruns[~np.isnan(reruns)][:, None]
    right = changes[~np.isnan(changes)][None, :]
    return float(((left > right) + (left == right) / 2).mean())


def _resampled_areas(
    reruns: NDArray[np.float64], changes: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    areas = np.empty(_RESAMPLES)
    for number in range(_RESAMPLES):
        areas[number] = area(rng.choice(reruns, len(reruns)), rng.choice(changes, len(changes)))
    return areas


def _cell(value: float, resampled: NDArray[np.float64]) -> str:
    low, high = np.quantile(resampled, (0.025, 0.975))
    return f"{value:.3f} [{low:.2f}, {high:.2f}]"


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        print("| " + " | ".join(map(str.ljust, row, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.similarity", description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=400, help="most reruns and most changes of a set")
    parser.add_argument(
        "--no-encoder", action="store_true", help="leave out the encoder, which takes minutes"
    )
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("benchmarks.similarity: no data beside the repository (../shared/data); nothing measured")
    encoder = load_embeddings() if available() and not options.no_encoder else None
    rng = np.random.default_rng(1)
    areas: dict[str, list[float]] = defaultdict(list)
    resampled: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    rows: list[list[str]] = []
    for pairs in pair_sets(options.most):
        cells = []
        changes = scores(pairs.changes, encoder)
        for name, reruns in scores(pairs.reruns, encoder).items():
            areas[name].append(area(reruns, changes[name]))
            resampled[name].append(_resampled_areas(reruns, changes[name], rng))
            cells.append(_cell(areas[name][-1], resampled[name][-1]))
        rows.append([pairs.name, f"{len(pairs.reruns)}/{len(pairs.changes)}", *cells])
    means = [_cell(float(np.mean(areas[name])), np.mean(resampled[name], axis=0)) for name in areas]
    _print_table([["rerun against", "pairs", *areas], *rows, ["mean of the rows", "", *means]])


if __name__ == "__main__":
    main()

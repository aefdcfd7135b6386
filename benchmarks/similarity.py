"""How well a similarity tells reruns from changes.

Run: python -m benchmarks.similarity [--most PAIRS] [--no-encoder]

Prints the area under the ROC curve with bootstrap intervals, for likeness, for ROUGE-L, BLEU and chrF, and
with the extra `semantic` for the encoder, each also as the mean of all rows.
Reads ../shared/data beside the repository; says so and stops where it is absent. LLMDrift has no reruns:
there, answers of one model to two prompts of a template are compared with answers of the old and the new
model to them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from sacrebleu import BLEU, CHRF

from evenkeel.core.pair import Answer, Pair
from evenkeel.lab.metrics.embeddings import available, load_embeddings
from evenkeel.metrics.similarity.likeness import likeness
from evenkeel.metrics.similarity.sequence import rouge_l
from tests.kit.public import DATA
from tests.kit.recorded import FREE_TEXT, runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenkeel.lab.metrics.embeddings import Embeddings

_RESAMPLES: Final = 500

Texts = tuple[str, str]


class Question(NamedTuple):
    """Pairs of a rerun, and of a change."""

    name: str
    close: list[Texts]
    far: list[Texts]


def _table(path: str) -> list[dict[str, str]]:
    with gzip.open(DATA / path, "rt", encoding="utf-8", newline="") as file:
        csv.field_size_limit(10**9)
        return list(csv.DictReader(file))


def _prompts_of_gpt4o() -> Question:
    texts = {(one.condition, one.question, one.run): one.text for one in runs() if one.condition in FREE_TEXT}
    close = [
        (text, texts[condition, question, 1])
        for (condition, question, run), text in texts.items()
        if not run and (condition, question, 1) in texts
    ]
    far = [
        (texts[first, question, 0], texts[second, question, 0])
        for question in sorted({question for _, question, _ in texts})
        for first in FREE_TEXT
        for second in FREE_TEXT
        if first < second and {(first, question, 0), (second, question, 0)} <= texts.keys()
    ]
    return Question("llm_stability: other prompt", close, far)


def _models_of_llm_stability() -> Question:
    path = DATA / "llm_stability" / "survivor_runs_8models.jsonl.gz"
    texts: dict[tuple[str, str], dict[tuple[str, int], str]] = defaultdict(dict)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            texts[row["task"], row["qid"]][row["model"], int(row["run"])] = str(row["response"])
    close, far = [], []
    for found in texts.values():
        first = sorted(model for model, run in found if run == 0)
        close += [(found[model, 0], found[model, 1]) for model in first if (model, 1) in found]
        far += [(found[one, 0], found[two, 0]) for one in first for two in first if one < two]
    return Question("llm_stability: other model", close, far)


def _pbss(rng: random.Random) -> list[Question]:
    texts: dict[tuple[str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    for path in sorted((DATA / "pbss").glob("results_*.csv.gz")):
        for row in _table(str(path.relative_to(DATA))):
            if row["output"].strip():
                texts[row["model"], row["origin"]][row["temperature"], row["variant_id"]] = row["output"]
    low, high = sorted({temperature for found in texts.values() for temperature, _ in found}, key=float)
    models = sorted({model for model, _ in texts})
    close, prompts, others = [], [], []
    for (model, origin), found in texts.items():
        variants = sorted(variant for temperature, variant in found if temperature == high)
        for (temperature, variant), text in found.items():
            if temperature != low or (high, variant) not in found:
                continue
            close.append((text, found[high, variant]))
            prompts.append((text, found[high, rng.choice([one for one in variants if one != variant])]))
            others += [
                (text, texts[other, origin][high, variant])
                for other in models
                if other != model and (high, variant) in texts[other, origin]
            ]
    return [
        Question("pbss: other prompt", close, prompts),
        Question("pbss: other model", close, others),
    ]


def _drift(rng: random.Random) -> list[Question]:
    found = []
    for task, family, old, new in (
        ("prime_full", "gpt-3.5", "gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613"),
        ("prime_full", "gpt-4", "gpt-4-0314", "gpt-4-0613"),
        ("countahappynumber", "gpt-3.5", "gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613"),
        ("countahappynumber", "gpt-4", "gpt-4-0314", "gpt-4-0613"),
    ):
        texts = {
            (row["model"].rpartition("/")[2], row["id"]): row["answer"]
            for row in _table(f"llm_drift/{task}_eval.csv.gz")
        }
        ids = sorted(place for model, place in texts if model == old and (new, place) in texts)
        pairs = [(one, rng.choice([other for other in ids if other != one])) for one in ids]
        close = [(texts[old, one], texts[old, two]) for one, two in pairs]
        far = [(texts[old, one], texts[new, two]) for one, two in pairs]
        found.append(Question(f"llm_drift: {task.partition('_')[0][:11]}, {family}", close, far))
    return found


def questions(most: int) -> list[Question]:
    """Everything that is asked, of so many pairs of a kind at most."""
    rng = random.Random(4)
    every = [_prompts_of_gpt4o(), _models_of_llm_stability(), *_pbss(rng), *_drift(rng)]
    return [
        Question(
            one.name,
            *(random.Random(one.name).sample(side, min(most, len(side))) for side in (one.close, one.far)),
        )
        for one in every
    ]


_CHRF: Final[Any] = CHRF()
_BLEU: Final[Any] = BLEU(effective_order=True)
MEASURES: Final[dict[str, Callable[[str, str], float]]] = {
    "likeness": likeness,
    "ROUGE-L": rouge_l,
    "BLEU": lambda first, second: float(_BLEU.sentence_score(second, [first]).score) / 100,
    "chrF": lambda first, second: float(_CHRF.sentence_score(second, [first]).score) / 100,
}


def scores(question: Question, encoder: Embeddings | None) -> dict[str, list[NDArray[np.float64]]]:
    """By measure: the values of reruns, and of changes."""
    sides = (question.close, question.far)
    found = {
        name: [np.array([measure(*texts) for texts in side]) for side in sides]
        for name, measure in MEASURES.items()
    }
    if encoder is not None:
        cosines = []
        for side in sides:
            given = encoder.score_all([Pair(Answer(first), Answer(second), "") for first, second in side])
            cosines.append(np.array([value if isinstance(value, float) else np.nan for value in given]))
        found["encoder"] = cosines
    return found


def area(close: NDArray[np.float64], far: NDArray[np.float64]) -> float:
    """Probability that a rerun scores above a change, ties counted half."""
    left, right = close[~np.isnan(close)][:, None], far[~np.isnan(far)][None, :]
    return float(((left > right) + (left == right) / 2).mean())


def _resampled(
    close: NDArray[np.float64], far: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    return np.array(
        [area(rng.choice(close, len(close)), rng.choice(far, len(far))) for _ in range(_RESAMPLES)]
    )


def _cell(value: float, drawn: NDArray[np.float64]) -> str:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{value:.3f} [{low:.2f}, {high:.2f}]"


def _show(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.similarity", description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=400, help="pairs of a kind")
    parser.add_argument(
        "--no-encoder", action="store_true", help="leave out the encoder, which takes minutes"
    )
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("benchmarks.similarity: no data beside the repository (../shared/data); nothing measured")
    encoder = load_embeddings() if available() and not options.no_encoder else None
    rng = np.random.default_rng(1)
    areas: dict[str, list[float]] = defaultdict(list)
    drawn: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    rows: list[list[str]] = []
    for question in questions(options.most):
        found = scores(question, encoder)
        for name, (close, far) in found.items():
            areas[name].append(area(close, far))
            drawn[name].append(_resampled(close, far, rng))
        cells = [_cell(areas[name][-1], drawn[name][-1]) for name in found]
        rows.append([question.name, f"{len(question.close)}/{len(question.far)}", *cells])
    means = [_cell(float(np.mean(areas[name])), np.mean(drawn[name], axis=0)) for name in areas]
    _show([["rerun against", "pairs", *areas], *rows, ["mean of the rows", "", *means]])


if __name__ == "__main__":
    main()

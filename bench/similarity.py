"""How well the cheap rating follows people and reality, on public data: where its cut-offs come from.

Run: python bench/similarity.py [--embeddings]

Reads ../shared/data beside the repository; says so and stops where it is absent. Prints, for kinds of
pairs whose right rating is roughly known, the quartiles of every metric and how often each rating was
given, then the area under the ROC curve between kinds that a metric ought to tell apart, and the speed.

Findings behind the defaults of `metrics.similarity.cheap.Cutoffs`:

- Content words tell best whether two texts say the same: on STS-B the area under the curve is .95,
  against .90 for ROUGE-L. 0.65 lies between the upper quarter of pairs that people find different
  (.46) and the lower quarter of those they find the same (.67). Below 0.35 are three quarters of the
  answers to other intents and questions, and one in fifty of the same.
- Details tell best whether a rerun came to another conclusion (.90). At 0.9 a 3 allows one detail
  in seven to differ; GPT-4o's reruns with the same conclusion have .92 and more three times in four.
- Edit similarity of unrelated answers is .35 to .45, and of different short sentences up to .63, so
  only 0.85 and more counts by itself.
- So rated, identical reruns of GPT-4o with the same conclusion get a 3 in 74 of 100 cases (the rest
  is the noise floor of this rater), reruns with another conclusion in 10, other questions in 0.
- The limit: answers to rephrased prompts of one intent (PBSS) are worded from scratch. By spelling they
  get a 1 in 74 of 100 cases, other intents in 92. With embeddings (`--embeddings --most 100`): 39
  against 74; the area under the curve of the embeddings alone is .77 there, .98 on STS-B.
- The conclusion is read from the same letters in brackets that count as a detail, which flatters
  `details` on the first two kinds a little.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.pair import Answer, Pair
from metrics.similarity import CheapRater, load_embeddings
from metrics.similarity.protocol import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterable

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
METRICS = ("rouge_l", "edit", "content_words", "details", "embeddings")
_OPTION = re.compile(r"boxed\{\s*(?:\\text\{)?\(?([A-D])|\(([A-D])\)")
_CLOSE, _FAR = 4.5, 2.0
"""Human similarity, of 5, from which STS-B pairs count as the same and below which as different."""

Kinds = dict[str, list[tuple[str, str]]]


def rows(path: str) -> list[dict[str, Any]]:
    """Rows of a gzipped JSONL file under the data folder."""
    with gzip.open(DATA / path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def table(path: Path, fields: list[str] | None = None) -> list[dict[str, str]]:
    """Rows of a gzipped CSV file, by column."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, fieldnames=fields))


def final_option(text: str) -> str | None:
    """The option a multiple-choice answer ends with; None if it names none near its end."""
    found = _OPTION.findall(text[-300:])
    return (found[-1][0] or found[-1][1]) if found else None


def gpt4o() -> Kinds:
    """GPT-4o at temperature 0 on mathematics: reruns of a prompt, other prompts, other questions.

    Only the first two runs, which hold every question; later ones are a biased selection.
    """
    runs: dict[tuple[str, str, int], str] = {
        (row["condition"], row["qid"], int(row["run"])): row["response"]
        for row in rows("llm_stability/gpt4o_math_10_prompt_conditions.jsonl.gz")
    }
    kinds: Kinds = defaultdict(list)
    plain = [text for (condition, _, run), text in runs.items() if condition == "0" and run == 0]
    for (condition, question, run), text in runs.items():
        if run == 0 and (again := runs.get((condition, question, 1))):
            ends = final_option(text), final_option(again)
            if all(ends):
                kind = "rerun, same conclusion" if ends[0] == ends[1] else "rerun, other conclusion"
                kinds[kind].append((text, again))
        original = runs.get(("0", question, 0), "")
        end = final_option(original)
        if run == 0 and condition != "0" and end and end == final_option(text):
            kinds["other prompt, same conclusion"].append((original, text))
    kinds["other question"] = list(zip(plain, [*plain[1:], plain[0]], strict=True))
    return kinds


def pbss(rng: random.Random) -> Kinds:
    """Three models' answers to rephrased prompts of one intent, and of two."""
    kinds: Kinds = defaultdict(list)
    for path in sorted((DATA / "pbss").glob("results_*.csv.gz")):
        answers: dict[str, list[str]] = defaultdict(list)
        found = table(path)
        coldest = min(row["temperature"] for row in found)
        for row in found:
            if row["temperature"] == coldest:
                answers[row["origin"]].append(row["output"])
        groups = list(answers.values())
        for group, other in zip(groups, [*groups[1:], groups[0]], strict=True):
            for _ in range(2):
                first, second = rng.sample(group, 2)
                kinds["PBSS, reworded prompt"].append((first, second))
                kinds["PBSS, other intent"].append((first, rng.choice(other)))
    return kinds


def stsb() -> Kinds:
    """Short English sentences by how similar people find them."""
    kinds: Kinds = defaultdict(list)
    for row in table(DATA / "stsb_multi_mt" / "stsb-en-test.csv.gz", ["first", "second", "score"]):
        score = float(row["score"])
        if score >= _CLOSE or score < _FAR:
            kinds["STS-B, people say same" if score >= _CLOSE else "STS-B, people say different"].append(
                (row["first"], row["second"])
            )
    return kinds


def area(close: Iterable[float], far: Iterable[float]) -> float:
    """Probability that a pair of `close` scores above one of `far`, ties counted half."""
    left, right = np.array(list(close))[:, None], np.array(list(far))[None, :]
    return float((left > right).mean() + (left == right).mean() / 2)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Measure the cheap similarity rating on public data.")
    parser.add_argument(
        "--embeddings", action="store_true", help="with sentence embeddings (extra `semantic`)"
    )
    parser.add_argument("--most", type=int, default=300, help="pairs of each kind at most (default 300)")
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("bench/similarity: no data beside the repository (../shared/data); nothing measured")
    rng = random.Random(20)
    rater = CheapRater(load_embeddings() if options.embeddings else None)
    kinds = gpt4o() | pbss(rng) | stsb()
    scores: dict[str, dict[str, list[float]]] = {}
    spent, scored = 0.0, 0
    names = METRICS if options.embeddings else METRICS[:-1]
    print(f"{'kind of pair':32}{'n':>4}  {'rated 3':>8}{'2':>6}{'1':>6}   quartiles of {', '.join(names)}")
    for kind, every in kinds.items():
        pairs = rng.sample(every, min(options.most, len(every)))
        start = time.perf_counter()
        ratings = [rater.rate_now(Pair(Answer(first), Answer(second), "")) for first, second in pairs]
        spent, scored = spent + time.perf_counter() - start, scored + len(pairs)
        # Equal after normalisation: every metric is 1, and none was computed.
        scores[kind] = {m: [r.details.get(m, 1.0) for r in ratings] for m in names}
        share = {step: sum(r.outcome == step for r in ratings) / len(ratings) for step in SCALE}
        spread = "  ".join(
            "/".join(f"{quartile:.2f}" for quartile in np.quantile(scores[kind][name], (0.25, 0.5, 0.75)))
            for name in names
        )
        print(f"{kind:32}{len(pairs):>4}  {share[3]:>8.2f}{share[2]:>6.2f}{share[1]:>6.2f}   {spread}")
    print("\narea under the ROC curve")
    for close, far in (
        ("rerun, same conclusion", "rerun, other conclusion"),
        ("rerun, same conclusion", "other prompt, same conclusion"),
        ("PBSS, reworded prompt", "PBSS, other intent"),
        ("STS-B, people say same", "STS-B, people say different"),
    ):
        areas = (f"{name} {area(scores[close][name], scores[far][name]):.2f}" for name in names)
        print(f"{close} > {far}: {'  '.join(areas)}")
    print(f"\n{1000 * spent / scored:.2f} ms a pair")


if __name__ == "__main__":
    main()

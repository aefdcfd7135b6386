"""What metrics say of degraded answers: mean scores by form, failure mode and severity.

Run: python -m benchmarks.degradations [--most 60] [--form prose] [--embeddings]

Reads ../shared/data beside the repository; says so and stops where it is absent. Prose and lists are
answers of GPT-4 and Claude to the questions of MT-Bench in eight languages, data are support tickets put
into JSON, YAML and XML, five a document, workflows are goldens of WorFBench. A variant is scored against the
answer as the variant's form writes it (`as_written`), so that only the damage counts.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, get_args
from xml.sax.saxutils import escape

import yaml

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.candidates import Candidate, Source, conditions, made
from evenkeel.lab.calibrate.degrade import SEVERITIES, Damage
from evenkeel.metrics.similarity.details import Details
from evenkeel.metrics.similarity.embeddings import load_embeddings
from evenkeel.metrics.similarity.sequence import RougeL
from evenkeel.metrics.structured.json_rouge import JsonRouge
from evenkeel.metrics.workflow.chain import ChainF1
from evenkeel.release.calibration.forms import Form, form_of
from tests.kit.public import DATA, LANGUAGES
from tests.kit.recorded import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.metrics.protocol import Metric

_CLAUDE: Final = ("claude-3-5-sonnet-20240620", "claude-3-opus-20240229")
_TICKETS = 5
_LEAST_UNITS = 5


def spoken() -> Iterator[tuple[str, str]]:
    """Ids and texts of answers to MT-Bench."""
    files = [f"{language}_gpt-4_answer" for language in LANGUAGES]
    files += [f"en_model_answer_{model}" for model in _CLAUDE]
    for name in files:
        for row in rows_of(f"mt_bench/{name}.jsonl.gz"):
            yield f"{name}:{row['question_id']}", row["choices"][0]["turns"][0]


def tickets() -> Iterator[tuple[str, str]]:
    """Ids and texts of documents, in each format in turn."""
    with gzip.open(
        DATA / "it_tickets" / "soba101_500_tickets.csv.gz", "rt", encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))
    for number in range(0, len(rows) - _TICKETS, _TICKETS):
        document = {"tickets": rows[number : number + _TICKETS]}
        match number // _TICKETS % 3:
            case 0:
                yield f"json:{number}", json.dumps(document, indent=2, ensure_ascii=False)
            case 1:
                yield f"yaml:{number}", yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
            case _:
                yield f"xml:{number}", _xml(document["tickets"])


def _xml(rows: list[dict[str, str]]) -> str:
    parts = [
        "<ticket>" + "".join(f"<{key}>{escape(text)}</{key}>" for key, text in row.items()) + "</ticket>"
        for row in rows
    ]
    return "<tickets>\n" + "\n".join(parts) + "\n</tickets>"


def workflows() -> Iterator[tuple[str, str]]:
    """Ids and texts of goldens with at least five steps."""
    for row in rows_of("worfbench/worfbench_gold.jsonl.gz"):
        if len(row["nodes"]) >= _LEAST_UNITS + 2:
            yield f"{row['source']}:{row['id']}", row["gold_text"]


def goldens(most: int) -> dict[Form, list[tuple[str, Answer]]]:
    """Answers by form: at most so many, spread evenly over all that there are."""
    found: defaultdict[Form, list[tuple[str, Answer]]] = defaultdict(list)
    for golden, text in (*spoken(), *tickets(), *workflows()):
        answer = Answer(text)
        form = form_of(answer, None)
        if not isinstance(form, Failure):
            found[form].append((golden, answer))
    return {form: each[:: max(1, -(-len(each) // most))] for form, each in sorted(found.items())}


def measure(
    golden: str, answer: Answer, form: Form, metrics: list[Metric]
) -> Iterator[tuple[str, float, str, float | str]]:
    """Mode, severity, metric and score of each variant; instead of a score the reason why there is none."""
    for each in made(Source(golden, answer, "", None), Damage(form), 0, {}, conditions(Damage(form))):
        if not isinstance(each, Candidate):
            yield each.key.mode, each.key.severity, "", str(each.undegradable)
            continue
        for metric in metrics:
            score = metric.score(each.pair)
            if not isinstance(score, Failure):
                yield each.key.mode, each.key.severity, metric.name, score


def main() -> None:
    """Print a table for each form."""
    parser = argparse.ArgumentParser(description="What metrics say of degraded answers.")
    parser.add_argument("--most", type=int, default=60, help="goldens of each form")
    parser.add_argument("--form", choices=get_args(Form), help="only these")
    parser.add_argument("--embeddings", action="store_true", help="score with MiniLM too (English only)")
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"the data are not there: {DATA}")
    metrics: list[Metric] = [RougeL(), Details(), JsonRouge(), ChainF1()]
    if options.embeddings:
        metrics.append(load_embeddings())
    for form, answers in goldens(options.most).items():
        if options.form not in (None, form):
            continue
        scores: defaultdict[tuple[str, str], defaultdict[float, list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )
        refused: Counter[tuple[str, float, str]] = Counter()
        for golden, answer in answers:
            for mode, severity, metric, score in measure(golden, answer, form, metrics):
                if isinstance(score, str):
                    refused[mode, severity, score] += 1
                else:
                    scores[mode, metric][severity].append(score)
        print(f"\n{form}: {len(answers)} goldens, means at {' / '.join(map(str, SEVERITIES))} (variants)")
        for (mode, metric), by_severity in scores.items():
            told = " / ".join(f"{sum(each) / len(each):.3f}" for _, each in sorted(by_severity.items()))
            counts = "/".join(str(len(each)) for _, each in sorted(by_severity.items()))
            print(f"  {mode:11} {metric:12} {told}  ({counts})")
        for (mode, severity, reason), count in sorted(refused.items()):
            print(f"  {mode:11} at {severity}: {count} without variant: {reason}")


if __name__ == "__main__":
    main()

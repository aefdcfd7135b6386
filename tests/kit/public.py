"""Texts and prompts from the public data that lies beside the repository (../shared/data)."""

import csv
import gzip
import json
from pathlib import Path

from evenkeel.metrics.workflow.workflow import workflow

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
WORFBENCH = DATA / "worfbench" / "worfbench_gold.jsonl.gz"
_WORFBENCH_SOURCES = frozenset(("wikihow", "alfworld", "webshop", "lumos", "toolbench", "os", "toolalpaca"))
_LEAST_STEPS = 5
LANGUAGES = ("en", "de", "es", "fr", "it", "ja", "nl", "pt")
_LEAST_CHARACTERS = 20
"""Shorter strings in data are names and codes, not texts."""


def worfbench():
    """Workflows of at least five steps from the seven sources of WorkflowPerturb: 417 of its 4,973.

    The data count steps from 1, with 0 for the start and one more than there are steps for the end.
    """
    with gzip.open(WORFBENCH, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    flows = []
    for row in rows:
        size = len(row["nodes"])
        if row["source"] in _WORFBENCH_SOURCES and size >= _LEAST_STEPS:
            edges = [(start - 1, end - 1) for start, end in row["edges"] if start >= 1 and end <= size]
            flows.append(workflow(row["nodes"], edges))
    return flows


def texts_of(path):
    """Every text of a data file: strings in JSON, cells of tables, or the whole of a log."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = content.decode("utf-8", "replace")
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        texts = [
            string for line in text.splitlines() if line.strip() for string in _strings(json.loads(line))
        ]
    elif name.endswith(".json"):
        texts = list(_strings(json.loads(text)))
    elif name.endswith(".csv"):
        texts = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
    else:
        texts = [text]
    return [text for text in dict.fromkeys(texts) if len(text) >= _LEAST_CHARACTERS]


def _strings(value):
    match value:
        case str():
            yield value
        case list():
            for inner in value:
                yield from _strings(inner)
        case dict():
            for inner in value.values():
                yield from _strings(inner)


def questions(language):
    """The turns of the 80 questions in one language; a few were left untranslated and are empty."""
    path = DATA / "mt_bench" / f"{language}_question.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [turn for line in lines for turn in json.loads(line)["turns"] if turn.strip()]


def tickets():
    """500 tickets, a line for each field that is filled in."""
    path = DATA / "it_tickets" / "soba101_500_tickets.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as rows:
        return [
            "\n".join(f"{name}: {cell}" for name, cell in row.items() if cell)
            for row in csv.DictReader(rows)
        ]  # fmt: skip


def chat_logs():
    """The twenty support chat logs, whole."""
    return [texts_of(path)[0] for path in sorted((DATA / "ubuntu_irc").rglob("*.ascii.txt.gz"))]


def rephrased():
    """The 750 phrasings of PBSS."""
    return texts_of(DATA / "pbss" / "prompts.json")


def shared_prompts():
    """Two hundred prompts of seven data sets as chat messages, by data set and row."""
    texts = {}
    for language in LANGUAGES:
        for row in rows_of(f"mt_bench/{language}_question.jsonl.gz")[::8]:
            turns = [turn for turn in row["turns"] if turn.strip()]
            texts |= {f"mt_bench/{language}/{row['question_id']}": _asked(turns[0])} if turns else {}
    for row in rows_of("worfbench/worfbench_gold.jsonl.gz")[::90]:
        texts[f"worfbench/{row['id']}"] = _asked(row["task"])
    conditions = set()
    for name in ("gpt4o_strict_json_7tasks_5runs", "gpt4o_math_10_prompt_conditions"):
        for number, row in enumerate(rows_of(f"llm_stability/{name}.jsonl.gz")):
            if (row["task"], row["condition"]) not in conditions:
                conditions.add((row["task"], row["condition"]))
                texts[f"llm_stability/{name}/{number}"] = row["prompt"]
    for name in ("Natural", "Adversarial_Manual", "Adversarial_GPTInst"):
        rows = json.loads(gzip.decompress((DATA / "llmbar" / f"{name}.json.gz").read_bytes()))
        texts |= {f"llmbar/{name}/{place}": _asked(rows[place]["input"]) for place in range(0, len(rows), 7)}
    for name in ("leetcode_easy", "opinionqa", "sensitiveq", "countahappynumber"):
        with gzip.open(DATA / f"llm_drift/{name}_eval.csv.gz", "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))[:120]
        texts |= {f"llm_drift/{name}/{place}": _asked(rows[place]["query"]) for place in range(0, 120, 12)}
    phrasings = json.loads((DATA / "pbss" / "prompts.json").read_text("utf-8"))
    return texts | {f"pbss/{name}": _asked(texts[0]) for name, texts in list(phrasings.items())[::5]}


def rows_of(path):
    """The rows of a file of JSON lines."""
    with gzip.open(DATA / path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _asked(text):
    return [{"role": "user", "content": text}]

"""The goldens that the paper's selection leaves of the public part of WorFBench."""

from __future__ import annotations

import gzip
import json
from typing import Final

from samples.public import DATA

from evenkeel.metrics.workflow.workflow import Workflow, workflow

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

"""How reliably a recorded endpoint finds the prompt that a perturbed one was made of.

Run: python -m benchmarks.recorded [FILE…] [--every N] [--severity SHARE]

Every built-in perturbation that needs no rewriter is made of every N-th recorded prompt and looked up. Counts
those that found their own prompt, another one, or none, by kind, and measures the look-up. Then half of the
prompts are left out and asked: counts those that were taken for another one, and those that were although a
number differs. Reads ../shared/data/llm_drift beside the repository if no file is named.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from evenkeel.cli.perturb import read_prompt, try_all
from evenkeel.shadow.perturbations import BUILTIN
from evenkeel.shadow.prompt.segments import TYPED
from evenkeel.shadow.prompt.template import TemplateLearner
from evenkeel.simulate.prompt_index import PromptIndex
from evenkeel.simulate.recorded import RecordedAnswers, RecordedPrompt
from evenkeel.simulate.requests import read_messages
from tests.kit.public import DATA

_NUMBER = re.compile(r"\d+")


def variants(prompt: RecordedPrompt, severity: float) -> list[tuple[str, Any]]:
    """The perturbed forms of a prompt, each with the name of its kind and its messages."""
    body = json.dumps({"messages": [{"role": one.role, "content": one.text} for one in prompt.messages]})
    view = read_prompt(body, "prompt", "chat", TemplateLearner().classifier("")).changing(TYPED)
    return [
        (tried.name, read_messages(json.loads(tried.variant.body())["messages"]))
        for tried in try_all(view, BUILTIN, severity, "0")
        if tried.variant is not None
    ]


def perturbed(recorded: RecordedAnswers, every: int, severity: float) -> None:
    """Print how many perturbed forms find their prompt."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    spent_ms = []
    for place, prompt in list(enumerate(recorded.prompts))[::every]:
        for kind, messages in variants(prompt, severity):
            start = time.perf_counter()
            found = recorded.find(messages)
            spent_ms.append((time.perf_counter() - start) * 1000)
            ended = "none" if found is None else "right" if found.place == place else "other"
            counts[kind][ended] += 1
    for kind, ends in sorted(counts.items()):
        print(f"{kind:32} {dict(ends)}")
    total: Counter[str] = sum(counts.values(), Counter())
    middle, late = np.percentile(spent_ms, (50, 99))
    print(f"severity {severity}: {total.total():,} forms, {dict(total)}")
    print(f"look-up: {middle:.2f} ms median, {late:.2f} ms p99")


def left_out(recorded: RecordedAnswers) -> None:
    """Print how many prompts that are not recorded are taken for one that is."""
    known = recorded.prompts[1::2]
    index = PromptIndex([prompt.messages for prompt in known])
    asked = recorded.prompts[::2]
    taken = [
        (prompt, known[found.place]) for prompt in asked if (found := index.find(prompt.messages)) is not None
    ]
    differing = sum(_numbers(one) != _numbers(other) for one, other in taken)
    print(f"left out: {len(asked):,} asked, {len(taken):,} taken for another, {differing} with other numbers")


def _numbers(prompt: RecordedPrompt) -> Counter[str]:
    return Counter(_NUMBER.findall(prompt.text))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[DATA / "llm_drift"])
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--severity", type=float, default=0.07)
    options = parser.parse_args()
    recorded = RecordedAnswers.load(*options.files)
    print(f"RECORDED answers: {len(recorded.prompts):,} prompts, every {options.every}th perturbed")
    perturbed(recorded, options.every, options.severity)
    left_out(recorded)


if __name__ == "__main__":
    main()

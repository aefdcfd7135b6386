"""Prompts of an application whose tasks the simulated model knows."""

import json
import random
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from evenkeel.simulate.cases import make_case

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_FIELD = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
SCHEMA = _WORDS["slot_filling"]["schema"]
"""The entities of a case, as the prompt shows them."""


class Template(NamedTuple):
    """The words of a prompt that are the same in every request of a task."""

    system: str
    """"" = everything stands in the user's message."""
    before: str
    """Words before the input."""
    after: str
    """Words after it."""


def template_of(task):
    """The words of a task."""
    words = _WORDS[task]
    system = words["system"].replace("{schema}", json.dumps(SCHEMA, indent=2))
    return Template(system, words["before"], words["after"])


def input_of(task, case, rng):
    """The case as a task's input; differs from case to case."""
    known = {
        "text": case.text,
        "line": " ".join(case.text.split()),
        "first": case.topic.first,
        "second": case.topic.second,
        "one": case.details.first,
        "two": case.details.second,
        "case": case.details,
    }

    def filled(field):
        if field[1] not in known:
            return str(rng.choice(_WORDS[task][field[1]]))
        piece = known[field[1]]
        return str(getattr(piece, field[2]) if field[2] else piece)

    return _FIELD.sub(filled, _WORDS[task]["input"])


def make_prompt(task, seed):
    """The messages of a request: the case of the seed between instructions and output instructions."""
    template = template_of(task)
    # Not the case's own generator: its draws must not depend on the task.
    text = input_of(task, make_case(seed), random.Random(f"{task} {seed}"))
    user = f"{template.before}\n\n{text}\n\n{template.after}"
    system = [{"role": "system", "content": template.system}] if template.system else []
    return [*system, {"role": "user", "content": user}]

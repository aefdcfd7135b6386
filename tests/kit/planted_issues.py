"""Issues of the benchmark out of the simulation's cases, whose truth is known."""

import json
import random

from evenkeel.simulate import Condition, make_case
from evenkeel.simulate.model import tell
from evenkeel.simulate.phrases import ENGLISH
from evenkeel.simulate.tasks import SLOT_FILLING
from tests.kit.simulated_prompts import SCHEMA, input_of


def planted_issue(seed):
    """The case of a seed, told in four ways."""
    case = make_case(seed)
    *documents, question = input_of("question_answering", case, random.Random(seed)).split("\n\n")
    told = tell(case.topic, case.details, Condition.GOOD, ENGLISH)
    return {
        "id": f"case-{seed}",
        "issue": case.topic.name,
        "case": case.text,
        "chat": input_of("chat_summary", case, random.Random(seed)),
        "question": question.removeprefix("Question: "),
        "documents": [
            {"title": f"Note {number}", "text": text.partition(": ")[2]}
            for number, text in enumerate(documents, start=1)
        ],
        "message": " ".join(case.text.split()),
        "schema": [
            {
                "name": name,
                "type": "number" if slot["type"] == "integer" else "string",
                "description": slot.get("description", name.replace("_", " ")),
            }
            for name, slot in SCHEMA["properties"].items()
        ],
        "entities": dict(SLOT_FILLING.items(told)),
    }


def planted_issues(path, count):
    """A file of so many of them."""
    path.write_text("".join(json.dumps(planted_issue(seed)) + "\n" for seed in range(count)))
    return path

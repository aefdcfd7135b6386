"""Approved workflows made up for calibrations."""

import json
import random

import yaml
from pydantic import TypeAdapter

from evenkeel.lab.calibrate.calibration import Calibration
from tests.cases import cases

THINGS, PARTS, PLACES, PEOPLE, SENTENCES = cases(__file__).values()


def sentence(rng):
    return rng.choice(SENTENCES).format(
        who=rng.choice(PEOPLE), thing=rng.choice(THINGS), part=rng.choice(PARTS),
        place=rng.choice(PLACES), hour=rng.randint(1, 12), number=rng.randint(2, 900),
    )  # fmt: skip


def steps(rng):
    verbs = ("Check", "Clean", "Replace", "Photograph", "Measure", "Tighten")
    return [
        f"{rng.choice(verbs)} the {rng.choice(PARTS)} of the {rng.choice(THINGS)} in {rng.choice(PLACES)}"
        for _ in range(rng.randint(6, 12))
    ]


def workflow(rng):
    lines = "\n".join(f"{number}. {step}" for number, step in enumerate(steps(rng), 1))
    return {"prompt": "Plan the repair.", "answer": lines, "task": "workflow"}


def write_goldens(path, count, make=workflow, seed=1):
    """Write so many goldens, one a line, with ids g000, g001 and so on."""
    rng = random.Random(seed)
    rows = [{"id": f"g{i:03d}", **make(rng)} for i in range(count)]
    asked = random.Random(f"{seed} prompts")
    for row in rows:  # near-equal prompts would be one cluster
        row["prompt"] = " ".join([*(sentence(asked) for _ in range(4)), row["prompt"]])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def calibration_in(folder):
    """The calibration that a run wrote."""
    return TypeAdapter(Calibration).validate_python(yaml.safe_load((folder / "calibration.yaml").read_text()))

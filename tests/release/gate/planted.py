"""Goldens of a simulated model."""

import random

from evenkeel.simulate import PromptMessage, SimulatedModel, make_case, summary_prompt


def planted_golden(seed):
    """A support case with the good answer of the simulated model, as a line of a file has it."""
    prompt = summary_prompt(make_case(seed))
    answer = SimulatedModel().answer([PromptMessage("user", prompt)], random.Random(0))
    return {"id": f"case-{seed}", "cluster": str(seed), "prompt": prompt, "answer": answer, "model": "in-use"}

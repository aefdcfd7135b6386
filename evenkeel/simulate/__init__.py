"""A local OpenAI-compatible model of planted fragility, for the demo and the tests.

`cases` makes support cases from the catalogue in `topics`; `tasks` are the forms of answers. `model` answers
prompts: it recognises topic, identifiers and language (`recognition`) and picks one of three answers; a
hash of the prompt or a random draw decides which. The same `content`, in the languages of `phrases`, is put
into every format. A simulated `rewriter` and a simulated `judge` are served with it, for evenkeel's own
prompts. `server` puts all of them behind HTTP under some `apis`, with a
`simulation` whose models can be changed while it runs and which knows the truth about every delta. More APIs,
and recorded answers to serve in place of simulated ones, are in `evenkeel.lab`. Nothing here is a language
model.
"""

from evenkeel.simulate.cases import INSTRUCTIONS, SupportCase, make_case, summary_prompt
from evenkeel.simulate.content import Condition
from evenkeel.simulate.judge import JUDGE_MODEL
from evenkeel.simulate.model import PromptMessage, SimulatedModel
from evenkeel.simulate.rewriter import REWRITER_MODEL
from evenkeel.simulate.server import create_app, run, serving
from evenkeel.simulate.simulation import (
    DEFAULT_MODEL,
    ModelState,
    PlantedTruth,
    Simulation,
    SimulationSettings,
    planted,
)
from evenkeel.simulate.tasks import TaskName

__all__ = [
    "DEFAULT_MODEL",
    "INSTRUCTIONS",
    "JUDGE_MODEL",
    "REWRITER_MODEL",
    "Condition",
    "ModelState",
    "PlantedTruth",
    "PromptMessage",
    "SimulatedModel",
    "Simulation",
    "SimulationSettings",
    "SupportCase",
    "TaskName",
    "create_app",
    "make_case",
    "planted",
    "run",
    "serving",
    "summary_prompt",
]

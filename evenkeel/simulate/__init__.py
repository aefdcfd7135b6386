"""A local OpenAI-compatible model of planted fragility, for the demo and the tests.

`cases` makes support cases from the catalogue in `topics`. `model` answers prompts: it recognises the
topic (`recognition`), reads the identifiers (`details`) and picks one of three `answers`; a hash of the
prompt or a random draw decides which. `truth` says what that means for every delta, in closed form.
`server` puts it behind HTTP, with a `simulation` whose models can be changed while it runs.
"""

from evenkeel.simulate.cases import INSTRUCTIONS, Case, make_case, summary_prompt
from evenkeel.simulate.model import Condition, Message, SimulatedModel
from evenkeel.simulate.server import create_app, run, serving
from evenkeel.simulate.simulation import (
    DEFAULT_MODEL,
    ModelState,
    Simulation,
    SimulationSettings,
)
from evenkeel.simulate.truth import Planted, planted

__all__ = [
    "DEFAULT_MODEL",
    "INSTRUCTIONS",
    "Case",
    "Condition",
    "Message",
    "ModelState",
    "Planted",
    "SimulatedModel",
    "Simulation",
    "SimulationSettings",
    "create_app",
    "make_case",
    "planted",
    "run",
    "serving",
    "summary_prompt",
]

"""Models of a simulation that repeat recorded answers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NoReturn

from litestar import get, put

from evenkeel.simulate import Simulation
from evenkeel.simulate.model import prompt_digest
from evenkeel.simulate.requests import WireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.connection import Request

    from evenkeel.lab.recorded.answers import RecordedEndpoint
    from evenkeel.simulate import ModelState
    from evenkeel.simulate.requests import ModelRequest
    from evenkeel.simulate.simulation import ModelReply


class RecordedSimulation(Simulation):
    """Recorded answers behind the names of an endpoint; nothing is planted in them."""

    owner = "recorded"

    def __init__(self, endpoint: RecordedEndpoint, models: Sequence[ModelState], **options: Any) -> None:
        """Take recorded answers.

        Args:
            endpoint: Answers by model name.
            models: A state for each of its names.
            options: Of a `Simulation`.
        """
        super().__init__(models, **options)
        self._endpoint = endpoint

        @get("/simulate/recorded", sync_to_thread=False)
        def recorded() -> dict[str, Any]:
            return endpoint.state()

        @put("/simulate/recorded")
        async def change_recorded(request: Request[Any, Any, Any]) -> dict[str, Any]:
            name = endpoint.change(await request.body())
            self.change(name, {})
            return endpoint.state()

        self.handlers = (recorded, change_recorded)

    def truth(self, state: ModelState) -> NoReturn:  # noqa: ARG002 - true of each of them
        """Refuse: nobody knows how fragile a recorded model was."""
        raise WireError(404, "Recorded answers have no planted truth.")

    def reply(self, state: ModelState, request: ModelRequest) -> ModelReply:
        """Return a recorded answer; in a deterministic simulation the prompt decides which sample."""
        deterministic = self.settings.deterministic
        rng = random.Random(prompt_digest(request.messages)) if deterministic else self.rng
        return self._endpoint.reply(state.name, request.messages, request.temperature, rng)

"""What happens when a model, a prompt or the traffic of a route changes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evenkeel.settings.values import Rate, Section


class Changes(Section):
    """What is done about changes. All of it stays within the budgets."""

    burst_rate: Rate = 1.0
    """Share of a route's requests that is sampled after a change; a route that samples more goes on so."""
    burst_minutes: Annotated[float, Field(ge=0)] = 30.0
    """How long at most; 0 = no burst."""
    burst_exchanges: Annotated[int, Field(ge=1)] = 300
    """Sampled exchanges after which it ends earlier."""
    replay_goldens: bool = True
    """Whether the goldens of a route are asked again after a change."""
    canary_hours: Annotated[float, Field(ge=0)] = 24.0
    """Hours between two rounds of a route's goldens, to notice what nobody announces; 0 = none."""
    goldens_per_round: Annotated[int, Field(ge=1, le=1000)] = 50
    """Goldens of a route that are asked in one round, always the same ones."""

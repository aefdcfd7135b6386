"""`simulate`."""

from __future__ import annotations

import os

import click

from evenkeel.runtime.supervisor import ListenError
from evenkeel.settings import SettingsError


@click.command()
@click.option("--host", default="127.0.0.1")
@click.option("--port", default=8102, help="0 picks a free one.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A model to serve; repeat for several.  [simulated-1]",
)
@click.option("--fragility", default=0.02, help="Share of prompts answered badly, always.")
@click.option("--noise", default=0.03, help="Share of calls answered badly, by chance.")
@click.option("--worse-share", default=0.5, help="Share of bad answers that are worse.")
@click.option("--latency", default=0.0, metavar="SECONDS", help="Duration of an answer.")
@click.option("--deterministic", is_flag=True, help="Same request, same bytes: for comparing wires.")
def simulate(host: str, port: int, models: tuple[str, ...], *, deterministic: bool, **planted: float) -> None:
    """Serve a SIMULATED OpenAI-compatible model whose robustness is known exactly.

    It answers support-case prompts (summaries, chat notes, questions on documents, slots of a schema) in the
    format and language that they ask for. A hash of the prompt makes it fail on a fixed share of prompts
    (fragility), a random draw on a share of calls (noise). Change it while it runs:

    \b
      curl -X PUT localhost:8102/simulate/models/simulated-1 -d '{"fragility": 0.3}'
      curl localhost:8102/simulate/truth

    Always served beside it, simulated too: simulated-judge, which rates answers by the planted truth, and
    simulated-rewriter, which "translates" and rewords by rule. To measure with them:

    \b
      evenkeel up --upstream http://localhost:8102 --judge-url http://localhost:8102/v1 \\
        --judge-model simulated-judge
      curl -X PUT localhost:8102/simulate/models/simulated-judge -d '{"judge_noise": 0.1}'

    APIs: /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages.
    """
    from evenkeel.simulate import (
        DEFAULT_MODEL,
        ModelState,
        Simulation,
        SimulationSettings,
        run,
    )

    try:
        states = [
            ModelState(
                name,
                fragility=planted["fragility"],
                noise=planted["noise"],
                worse_share=planted["worse_share"],
                latency_s=planted["latency"],
            )
            for name in models or (DEFAULT_MODEL,)
        ]
        for state in states:
            state.truth  # noqa: B018 - raises for a share outside [0, 1]
    except ValueError as error:
        raise SettingsError(str(error)) from error
    simulation = Simulation(states, SimulationSettings(deterministic=deterministic))
    try:
        run(
            simulation,
            host,
            port,
            on_listening=lambda url: click.echo(f"SIMULATED model, not a real one: {url}/v1"),
        )
    except OSError as error:
        raise ListenError(
            f"cannot listen on {host}:{port}: {_reason(error)}; choose another with --port"
        ) from error


def _reason(error: OSError) -> str:
    """Without the address, which asyncio repeats in its own words."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)

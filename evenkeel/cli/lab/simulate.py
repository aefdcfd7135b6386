"""`simulate`."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from evenkeel.cli.options import NumberRange, announce, log_options
from evenkeel.runtime.supervisor import ListenError
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.simulate import Simulation

_RECORDED_ONLY = ("form", "version_from")
_SIMULATED_ONLY = ("fragility", "noise", "worse_share")
_SHARE = NumberRange(0, 1)
_FORMATS = ("evenkeel", "llm_stability", "llm_drift", "pbss")


@click.command()
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8102, help="Port to listen on; 0 picks a free one."
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="Model to serve; repeatable.  [default: simulated-1]  With --recorded: NAME=VERSION, the version to "
    "serve under this name.  [default: the first, under its own]",
)
@click.option(
    "--fragility",
    type=_SHARE,
    default=0.02,
    metavar="SHARE",
    help="Share of prompts that always get a bad answer.",
)
@click.option(
    "--noise",
    type=_SHARE,
    default=0.03,
    metavar="SHARE",
    help="Share of calls that get a bad answer at random.",
)
@click.option(
    "--worse-share",
    type=_SHARE,
    default=0.5,
    metavar="SHARE",
    help="Share of bad answers that are worse, not just different.",
)
@click.option(
    "--latency",
    type=NumberRange(0),
    default=0.0,
    metavar="SECONDS",
    help="Delay before an answer.",
)
@click.option("--deterministic", is_flag=True, help="Answer equal requests with equal bytes.")
@click.option("--seed", type=int, help="Random seed.  [default: random]")
@click.option(
    "--recorded",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="File or folder of RECORDED answers to serve; repeatable.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Format of the recorded answers.  [default: detected]",
)
@click.option(
    "--version-from",
    type=click.Choice(("model", "condition")),
    default="model",
    help="Field that names the version in llm_stability files.",
)
@log_options
@click.pass_context
def simulate(context: click.Context, /, host: str, port: int, **options: Any) -> None:
    """Serve a SIMULATED OpenAI-compatible model of known robustness, or RECORDED answers.

    It answers support-case prompts (summaries, chat notes, questions on documents, slot filling) in the
    requested format and language. It fails on a fixed share of prompts, chosen by hash (fragility), and on a
    random share of calls (noise). Change it while it runs:

    \b
      curl -X PUT localhost:8102/simulate/models/simulated-1 -d '{"fragility": 0.3}'
      curl localhost:8102/simulate/truth

    Always served too: simulated-judge, which rates answers by the planted truth, and simulated-rewriter,
    which "translates" and rewords by rule. To use them:

    \b
      evenkeel up --upstream http://localhost:8102 --judge-url http://localhost:8102/v1 \\
        --judge simulated-judge
      curl -X PUT localhost:8102/simulate/models/simulated-judge -d '{"judge_noise": 0.1}'

    With --recorded it repeats what real models answered to the same prompts, also if these are slightly
    reworded. To swap in the next version under the same name:

    \b
      evenkeel simulate --recorded answers.jsonl --model gpt-4=gpt-4-0314
      curl -X PUT localhost:8102/simulate/recorded -d '{"version": "gpt-4-0613"}'
      curl localhost:8102/simulate/recorded

    APIs: /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages.

    Exit code: 0 stopped, 2 invalid options or port in use.
    """
    from evenkeel.simulate import run

    stated = set()
    for name in options:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            stated.add(name)
    recorded: tuple[Path, ...] = options["recorded"]
    for name in sorted(stated.intersection(_SIMULATED_ONLY if recorded else _RECORDED_ONLY)):
        flag = "--format" if name == "form" else f"--{name.replace('_', '-')}"
        raise SettingsError(
            f"{flag}: plants errors in simulated models, and --recorded serves none; leave it out"
            if recorded
            else f"{flag}: is about recorded answers; name their file with --recorded"
        )
    try:
        if recorded:
            simulation = _recorded(options)
            kind = "RECORDED answers, not a live model"
        else:
            simulation = _simulated(options)
            kind = "SIMULATED model, not a real one"
    except ValueError as error:
        raise SettingsError(str(error)) from error
    try:
        run(simulation, host, port, on_listening=lambda url: announce(f"{kind}: {url}/v1"))
    except OSError as error:
        raise ListenError(
            f"cannot listen on {host}:{port}: {_reason(error)}; choose another with --port"
        ) from error


def _simulated(options: dict[str, Any]) -> Simulation:
    """Build the simulated models that the options describe.

    Raises: ValueError if a model is named twice.
    """
    from evenkeel.lab.bench.items import builtin_items
    from evenkeel.lab.bench.subjects import IssueSubjects
    from evenkeel.lab.simulated_apis import APIS
    from evenkeel.simulate import DEFAULT_MODEL, ModelState, Simulation, SimulationSettings

    states = []
    for name in options["models"] or (DEFAULT_MODEL,):
        states.append(
            ModelState(
                name,
                fragility=options["fragility"],
                noise=options["noise"],
                worse_share=options["worse_share"],
                latency_s=options["latency"],
            )
        )
    settings = SimulationSettings(deterministic=options["deterministic"])
    subjects = IssueSubjects(builtin_items())
    return Simulation(states, settings, apis=APIS, subjects=subjects, rng=random.Random(options["seed"]))


def _recorded(options: dict[str, Any]) -> Simulation:
    """Load the recorded answers that the options name, under the model names that serve them.

    Raises: ValueError if nothing can be read, or a version is unknown.
    """
    from evenkeel.lab.recorded.answers import RecordedAnswers, RecordedEndpoint
    from evenkeel.lab.recorded.simulation import RecordedSimulation
    from evenkeel.lab.simulated_apis import APIS
    from evenkeel.simulate import ModelState, SimulationSettings

    recorded = RecordedAnswers.load(
        *options["recorded"], form=options["form"], version_from=options["version_from"]
    )
    models = _names(options["models"], recorded.versions[0])
    endpoint = RecordedEndpoint(recorded, models)
    now = " ".join(f"Now {name} is {version}." for name, version in models.items())
    versions = ", ".join(recorded.versions)
    click.echo(
        f"{len(recorded.prompts):,} prompts, {len(recorded.versions):,} versions: {versions}. {now}", err=True
    )
    if recorded.skipped:
        first = recorded.skipped[0]
        click.echo(f"{len(recorded.skipped):,} lines or files skipped, the first: {first}", err=True)
    states = []
    for name in endpoint.models:
        states.append(ModelState(name, latency_s=options["latency"]))
    settings = SimulationSettings(deterministic=options["deterministic"])
    rng = random.Random(options["seed"])
    return RecordedSimulation(endpoint, states, settings=settings, apis=APIS, rng=rng)


def _names(pairs: Sequence[str], first: str) -> dict[str, str]:
    """Return the version behind each model name that requests use, the default first.

    Raises: ValueError if a pair has no "=".
    """
    named = {}
    for pair in pairs:
        served, equals, meant = pair.partition("=")
        if not equals:
            raise ValueError(f"--model {pair}: with --recorded, say which version answers: {pair}=VERSION")
        named[served] = meant
    return named or {first: first}


def _reason(error: OSError) -> str:
    """Return the reason of an error without the address, which asyncio repeats in its own words."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)

"""The command line."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import click

from evenkeel import __version__, children
from evenkeel.settings import Settings, SettingsError, load
from evenkeel.supervisor import ListenError
from metrics.stores.sqlite import StoreError

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Group(click.Group):
    """Shows every expected error as one line and exits with 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (SettingsError, ListenError, StoreError) as error:
            click.echo(f"evenkeel: {error}", err=True)
            ctx.exit(2)


@click.group(cls=_Group, context_settings=_HELP)
@click.version_option(__version__, prog_name="evenkeel")
def main() -> None:
    """See, live, whether a model endpoint still gives the same answer when the question wobbles.

    evenkeel stands between your applications and an OpenAI-compatible endpoint. It forwards their
    traffic untouched, replays a sample in the background with small changes of the wording, scores how
    far the answers move, and raises an alert when that grows.

    \b
    Start here:
      evenkeel up --upstream https://api.openai.com/v1
      evenkeel demo
    """
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", datefmt="%H:%M:%S", stream=sys.stderr
    )
    for noisy in ("uvicorn", "httpx2", "httpcore2", "openai", "httpx", "httpcore", "sentence_transformers"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _settings_options(command: Any) -> Any:
    options = [
        click.option("--upstream", metavar="URL", help="OpenAI-compatible endpoint to forward to."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Settings file (YAML); the options below win over it.",
        ),
        click.option("--host", metavar="ADDRESS", help="Where applications connect.  [127.0.0.1]"),
        click.option("--port", type=int, help="Port for applications; 0 picks one.  [8100]"),
        click.option(
            "--processes", type=int, metavar="N", help="Data-plane processes that share the port.  [1]"
        ),
        click.option("--admin-port", type=int, help="Port for console and metrics.  [8101]"),
        click.option(
            "--data-dir", type=click.Path(path_type=Path), metavar="DIR", help="Store.  [./evenkeel-data]"
        ),
        click.option(
            "--sampling-rate", type=float, metavar="SHARE", help="Share of requests replayed, 0–1.  [0.1]"
        ),
        click.option("--task", help="Task of the requests, e.g. case_summary."),
        click.option("--budget-usd", type=float, metavar="USD", help="Most spent on replays a day.  [10]"),
        click.option("--budget-tokens", type=int, metavar="N", help="Most tokens a day.  [5000000]"),
        click.option("--judge-model", metavar="NAME", help="Model that rates answers; none: cheap metrics."),
        click.option("--judge-url", metavar="URL", help="Its endpoint.  [https://api.openai.com/v1]"),
        click.option("--judge-key-env", metavar="VARIABLE", help="Holds its key.  [EVENKEEL_JUDGE_API_KEY]"),
        click.option("--webhook", metavar="URL", help="Gets each alert as a JSON POST."),
        click.option("--simulated", is_flag=True, default=None, hidden=True),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _settings(config: Path | None, given: dict[str, Any]) -> Settings:
    places = {
        "host": ("listen", "host"),
        "port": ("listen", "port"),
        "processes": ("listen", "processes"),
        "admin_port": ("admin", "port"),
        "data_dir": ("data_dir",),
        "budget_usd": ("budget", "usd_per_day"),
        "budget_tokens": ("budget", "tokens_per_day"),
        "judge_model": ("judge", "model"),
        "judge_url": ("judge", "base_url"),
        "judge_key_env": ("judge", "api_key_env"),
        "webhook": ("alert", "webhook"),
        "simulated": ("simulated",),
    }
    overrides: dict[str, Any] = {}
    for name, path in places.items():
        if given[name] is not None:
            section = overrides
            for part in path[:-1]:
                section = section.setdefault(part, {})
            section[path[-1]] = given[name]
    route = {name: given[name] for name in ("upstream", "sampling_rate", "task") if given[name] is not None}
    return load(config, overrides, route)


@main.command()
@_settings_options
def up(config: Path | None, **given: Any) -> None:
    """Run proxy, worker, monitor and console on this machine.

    \b
    Then point your applications at it:
      OpenAI(base_url="http://127.0.0.1:8100/v1")

    Replays use their own credential: put it into EVENKEEL_SHADOW_API_KEY if the endpoint needs one.
    """
    from evenkeel.choices import check  # noqa: PLC0415 - keeps `--help` quick
    from evenkeel.up import up as serve  # noqa: PLC0415 - as above

    settings = _settings(config, given)
    check(settings, str(config or "settings"))
    serve(settings, say=click.echo)


@main.command()
@_settings_options
def proxy(config: Path | None, **given: Any) -> None:
    """Run the data plane alone: forward, sample, and queue in the data folder.

    Metrics and health are served only with --admin-port.
    """
    from evenkeel.standalone import proxy as serve  # noqa: PLC0415 - as above

    serve(_settings(config, given), admin=given["admin_port"] is not None, say=click.echo)


@main.command("check-config")
@_settings_options
def check_config(config: Path | None, **given: Any) -> None:
    """Check settings, credentials and upstreams without starting; exit code 1 if something is wrong."""
    from evenkeel.choices import check  # noqa: PLC0415 - as above
    from evenkeel.preflight import missing_keys, unreachable_upstreams  # noqa: PLC0415 - as above

    settings = _settings(config, given)
    check(settings, str(config or "settings"))
    problems = [*missing_keys(settings), *unreachable_upstreams(settings)]
    for problem in problems:
        click.echo(f"evenkeel: {problem}", err=True)
    if problems:
        sys.exit(1)
    click.echo(f"settings are good: {len(settings.routes)} route(s), all upstreams reachable")


@main.command()
@click.argument("variable")
def fingerprint(variable: str) -> None:
    """Print the fingerprint of the API key in the environment variable VARIABLE.

    A route's `key_fingerprints` name the keys whose requests it takes, without giving them away.
    """
    from proxy.credentials import fingerprint as fingerprint_of  # noqa: PLC0415 - as above

    key = os.environ.get(variable)
    if not key:
        raise SettingsError(f"the variable {variable} is empty; export the API key in it first")
    click.echo(fingerprint_of(key.encode()))


@main.command(hidden=True)
@click.argument("name")
def child(name: str) -> None:
    """Run one part under the supervisor, which writes the briefing to standard input."""
    del name  # shows the part in process lists
    briefing = children.receive()
    if briefing.role == "proxy":
        from evenkeel import data_plane  # noqa: PLC0415 - each part loads only what it needs

        data_plane.run(briefing)
    else:
        from evenkeel import back_plane  # noqa: PLC0415 - as above

        back_plane.run(briefing)


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8102, show_default=True, help="0 picks a free one.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A model to serve; repeat for several.  [simulated-1]",
)
@click.option("--fragility", default=0.02, show_default=True, help="Share of prompts answered badly, always.")
@click.option("--noise", default=0.03, show_default=True, help="Share of calls answered badly, by chance.")
@click.option("--worse-share", default=0.5, show_default=True, help="Share of bad answers that are worse.")
@click.option("--latency", default=0.0, show_default=True, metavar="SECONDS", help="Duration of an answer.")
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
    from evenkeel.simulate import DEFAULT_MODEL, ModelState, Simulation, SimulationSettings, run  # noqa: PLC0415 - as above

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
            f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port"
        ) from error


@main.command()
@click.option("--headless", is_flag=True, help="Exit at the end: 0 if all was measured as planted, else 1.")
def demo(*, headless: bool) -> None:
    """Watch the whole product work against a simulated model that is swapped for a fragile one.

    Takes about a minute, needs no key and no network, then goes on serving until Ctrl-C.
    """
    from evenkeel.demo import run_demo  # noqa: PLC0415 - as above

    sys.exit(run_demo(headless=headless))


@main.command("judge-audit")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--judge-model", metavar="NAME", help="The judge to ask.")
@click.option("--judge-url", metavar="URL", default="https://api.openai.com/v1", show_default=True)
@click.option("--judge-key-env", metavar="VARIABLE", default="EVENKEEL_JUDGE_API_KEY", show_default=True)
@click.option(
    "--recorded", type=click.Path(path_type=Path), metavar="FILE", help="Ratings a judge gave earlier."
)
@click.option("--strategies", metavar="LIST", help="Of zero_shot, knowledge, few_shot, step_by_step.  [all]")
@click.option(
    "--attack", metavar="LIST", help='Strategies under which to attack; "none" for none.  [all of them]'
)
@click.option("--again", is_flag=True, help="Also put each plain question twice: shows the judge's noise.")
@click.option(
    "--rubric", type=click.Path(path_type=Path), metavar="FILE", help="Definitions of metrics (YAML)."
)
@click.option(
    "--scale", "scales", multiple=True, metavar="METRIC=LOW-HIGH", help="Where the file has no scale."
)
@click.option("--rater-columns", metavar="LIST", help="Columns with ratings, if not named rater_….")
@click.option(
    "--max-items", type=click.IntRange(1), metavar="N", help="Ask about a sample of this size only."
)
@click.option("--seed", default=0, show_default=True, help="Of samples, examples and intervals.")
@click.option(
    "--resamples", type=click.IntRange(0), default=1000, show_default=True, help="Behind intervals."
)
@click.option("--concurrency", type=click.IntRange(1), default=4, show_default=True, help="Calls at a time.")
@click.option("--timeout", type=float, default=60.0, show_default=True, metavar="SECONDS")
@click.option(
    "--cache", type=click.Path(path_type=Path), metavar="FILE", help="Keeps answers; a stopped run goes on."
)
@click.option(
    "--record", type=click.Path(path_type=Path), metavar="FILE", help="Write ratings for --recorded."
)
@click.option("--json", type=click.Path(path_type=Path), metavar="FILE", help="Write everything as JSON.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a page with plots.")
@click.option("--price", metavar="IN/OUT", help="USD per million tokens, if the public list lacks the judge.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
def judge_audit(files: tuple[Path, ...], *, yes: bool, **given: Any) -> None:
    """Measure how far a judge can be believed: against people, and against a false hint.

    FILES holds human ratings (JSONL or CSV), or pairs of answers with the better one marked. The judge
    is asked in four ways, with and without the claim that an expert gave the opposite rating.

    \b
      evenkeel judge-audit ratings.csv --judge-model gpt-4o-mini --cache calls.jsonl --html audit.html
      evenkeel judge-audit ratings.csv --recorded judge.jsonl
      evenkeel judge-audit GPT-4_Vanilla.json ChatGPT_Vanilla.json
    """
    from evenkeel.judge_audit.arguments import run_from_command_line  # noqa: PLC0415 - as above

    sys.exit(run_from_command_line(files, given, confirmed=yes))


@main.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help='Kinds to try, such as "general.*" or "format"; repeat for several.  [all]',
)
@click.option(
    "--severity",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    help="Share of the places changed.",
)
@click.option(
    "--seed", default="0", show_default=True, metavar="TEXT", help="An exchange's id gives its variants."
)
@click.option(
    "--api",
    type=click.Choice(["chat", "completions", "responses", "messages"]),
    help="API of the request body.  [told by its members]",
)
@click.option(
    "--template",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The prompt with {placeholders} for its inputs.  [told by the roles of messages]",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings file: kinds and template of its first route, or of that for --task.",
)
@click.option("--task", metavar="NAME", help="Chooses the route of the settings file by its task.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, with the variants' bodies.")
def perturb(file: Path, **given: Any) -> None:
    """Show what each perturbation would do to the prompt in FILE, or on standard input (-).

    FILE holds a request body in JSON, of any API that is captured, or a prompt as plain text. Nothing is
    sent anywhere. You see how the prompt is cut into template and input, what of the input is protected,
    each variant as a diff, which kinds would ask a rewriter for text, and why the others do not apply.

    \b
      evenkeel perturb request.json
      evenkeel perturb request.json --only general --severity 0.5
      evenkeel perturb request.json --template prompt.txt --only "positional.*" --only format.json
      echo "Why does my printer stop?" | evenkeel perturb - --json
    """
    from evenkeel.perturb.command import PerturbOptions, run_perturb  # noqa: PLC0415 - as above

    run_perturb(PerturbOptions(None if str(file) == "-" else file, **given))

"""The entry of the command line: which commands there are, and how their errors are shown."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import Any, Final

import click

from evenkeel.core.errors import UserError
from evenkeel.core.text import UNWRITABLE
from evenkeel.core.version import VERSION

COMMANDS: Final = {
    "up": "Run proxy, worker, monitor and console on this machine.",
    "proxy": "Run the data plane alone.",
    "worker": "Run a worker: make the trials of exchanges that are in Redis.",
    "monitor": "Run a monitor: fold the verdicts in Redis, raise alerts, serve the console.",
    "check-config": "Check settings, credentials and upstreams without starting.",
    "perturb": "Show what each perturbation would do to a prompt.",
    "score": "Score pairs of answers in a file.",
    "backtest": "Run verdicts of the past through the monitor: which alerts would there have been?",
    "goldens": "Approve exchanges as goldens, the measure of what comes later.",
    "changes": "Show what changed on a route, its effect, and what coincided with it.",
    "baseline": "Approve what a cell's share of shifted answers is compared with.",
    "report": "Write a report on live traffic between two dates, or around a change.",
    "gate": "Decide whether a candidate answers your goldens worse than before.",
    "bench": "Measure offline how robust some models are.",
    "calibrate": "Find out what a score means, and set thresholds.",
    "judge-audit": "Measure how far a judge can be believed.",
    "feedback": "List and export what people say of verdicts.",
    "simulate": "Serve a SIMULATED model whose robustness is known exactly, or RECORDED answers.",
    "demo": "Watch the whole product work against a simulated model.",
    "fingerprint": "Print the fingerprint of an API key.",
    "child": "",
}
"""What each command does, in the order of the help; those without words are hidden.

`judge-audit` is `judge_audit` in the module `evenkeel.cli.judge_audit`. The words stand here because the help
of the program would otherwise have to load every command, which takes seconds.
"""

_HELP: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
_NOISY: Final = ("uvicorn", "httpx2", "httpcore2", "openai", "httpx", "httpcore", "sentence_transformers")


class _Lines(logging.Formatter):
    """One line a record: nothing that clients or endpoints say begins another one or steers a terminal."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """The line, with escapes for line ends and controls."""
        return _escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """The traceback, set in."""
        return "\n".join("  " + _escaped(line) for line in super().formatException(ei).split("\n"))


def _escaped(text: str) -> str:
    return UNWRITABLE.sub(lambda found: ascii(found[0])[1:-1], text)


class _Commands(click.Group):
    """Loads a command when it runs, and shows every expected error as one line with exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"evenkeel.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, summary in COMMANDS.items() if summary])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            click.echo(f"evenkeel: {error}", err=True)
            ctx.exit(2)


@click.group(cls=_Commands, context_settings=_HELP)
@click.version_option(VERSION, prog_name="evenkeel")
def main() -> None:
    """See, live, whether a model endpoint still gives the same answer when the question is reworded.

    evenkeel stands between your applications and an OpenAI-compatible endpoint. It forwards their
    traffic untouched, replays a sample in the background with small changes of the wording, scores how
    far the answers move, and raises an alert when that grows.

    \b
    Start here:
      evenkeel up --upstream https://api.openai.com/v1
      evenkeel demo
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines("%(asctime)s %(name)s: %(message)s", datefmt="%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)

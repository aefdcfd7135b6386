"""The entry of the command line: which commands there are, and how their errors are shown."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import Any, Final

import click

from evenkeel import __version__
from evenkeel.core.errors import UserError

COMMANDS: Final = (
    "up",
    "proxy",
    "worker",
    "monitor",
    "check-config",
    "perturb",
    "goldens",
    "changes",
    "baseline",
    "report",
    "gate",
    "bench",
    "calibrate",
    "judge-audit",
    "feedback",
    "simulate",
    "demo",
    "fingerprint",
    "child",
)
"""In the order of the help. `judge-audit` is `judge_audit` in the module `evenkeel.cli.judge_audit`."""

_HELP: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_NOISY: Final = ("uvicorn", "httpx2", "httpcore2", "openai", "httpx", "httpcore", "sentence_transformers")


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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            click.echo(f"evenkeel: {error}", err=True)
            ctx.exit(2)


@click.group(cls=_Commands, context_settings=_HELP)
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
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)

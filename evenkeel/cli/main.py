"""The command line."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from evenkeel import __version__
from evenkeel.cli import COMMANDS
from evenkeel.experiments.kit.arguments import InputError
from evenkeel.runtime.supervisor import ListenError
from evenkeel.settings import SettingsError
from evenkeel.stores.errors import StoreError
from evenkeel.stores.goldens import GoldenError

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Group(click.Group):
    """Shows every expected error as one line and exits with 2; lists commands in the order they are added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (SettingsError, InputError, ListenError, StoreError, GoldenError) as error:
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


for command in COMMANDS:
    main.add_command(command)

"""`demo`."""

from __future__ import annotations

import sys

import click

from evenkeel import logs
from evenkeel.cli.options import log_options
from evenkeel.simulate.demo import run_demo


@click.command()
@click.option("--headless", is_flag=True, help="Exit at the end: 0 if all was measured as planted, else 1.")
@log_options
def demo(*, headless: bool, log_level: str | None, log_format: str | None) -> None:
    """Watch an incident from the swap of a simulated model to its rollback.

    Takes about a minute, needs no key and no network, then goes on serving until Ctrl-C. Its processes log
    to files in a folder that is removed at the end.

    \b
      evenkeel demo
      evenkeel demo --headless
    """
    # Passed on as variables, because the demo starts processes of its own.
    variables = {}
    for name, value in ((logs.LEVEL_VARIABLE, log_level), (logs.FORMAT_VARIABLE, log_format)):
        if value:
            variables[name] = value
    sys.exit(run_demo(headless=headless, variables=variables))

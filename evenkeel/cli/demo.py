"""`demo`."""

from __future__ import annotations

import sys

import click

from evenkeel.simulate.demo import run_demo


@click.command()
@click.option("--headless", is_flag=True, help="Exit at the end: 0 if all was measured as planted, else 1.")
def demo(*, headless: bool) -> None:
    """Watch an incident from the swap of a simulated model to its rollback.

    Takes about a minute, needs no key and no network, then goes on serving until Ctrl-C.

    \b
      evenkeel demo
      evenkeel demo --headless
    """
    sys.exit(run_demo(headless=headless))

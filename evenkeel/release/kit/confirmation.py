"""The question before anything is spent."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from evenkeel.core.errors import UserError
from evenkeel.release.kit.arguments import InputError

Confirm = Callable[[object], None]
"""Shows an estimate of the cost and raises NotConfirmedError unless it may be spent."""


class NotConfirmedError(UserError):
    """The user did not want to spend what the run would have cost."""

    exit_code = 1

    def __init__(self) -> None:
        """Say what is not done, and how to do it."""
        super().__init__("no more calls are made; add --yes to run without confirmation")


def confirmation(*, confirmed: bool, in_pipelines: bool = False) -> Confirm:
    """Asks whether an estimate may be spent; only shows it if that is confirmed already.

    Args:
        confirmed: Whether --yes was given.
        in_pipelines: For commands that pipelines run: without a terminal there is nobody to ask, which is
            an error of its own. Otherwise the answer may come out of a pipe, and no answer is a no.

    Returns: a function of the estimate, which raises InputError if nobody can be asked.
    """

    def confirm(estimate: object) -> None:
        if confirmed:
            click.echo(f"{estimate}.", err=True)
            return
        # A pipeline that waits for an answer would hang until it is killed.
        if in_pipelines and not on_a_terminal():
            raise InputError(
                f"{estimate}: cannot ask for confirmation without a terminal; add --yes to accept"
            )
        if not agreed(f"{estimate}. Go ahead?"):
            raise NotConfirmedError

    return confirm


def on_a_terminal() -> bool:
    """Return whether there is somebody to ask."""
    return sys.stdin.isatty()


def agreed(question: str) -> bool:
    """Ask on standard error; no answer, as where nobody is there, is a no."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        # The prompt ended without a line break.
        click.echo(err=True)
        return False

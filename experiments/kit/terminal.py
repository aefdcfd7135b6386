"""What the bodies of commands share: consoles, the question before money is spent, lists and prices."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, NamedTuple

import click
from rich.console import Console

from evenkeel.llm.price import ModelPrice
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable


class Consoles(NamedTuple):
    """Where a command prints."""

    out: Console
    err: Console


def consoles(piped_width: int) -> Consoles:
    """Standard output and error; the output is at least so many columns wide where it is no terminal."""
    out = plain_console(stderr=False)
    if not out.is_terminal:
        out.width = max(out.width, piped_width)
    return Consoles(out, plain_console(stderr=True))


def plain_console(*, stderr: bool) -> Console:
    """A console that shows names out of files as they are, not as markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def confirmation(*, confirmed: bool, in_pipelines: bool = False) -> Callable[[str], bool]:
    """Asks whether an estimate may be spent; only shows it where that is confirmed already.

    Args:
        confirmed: Whether --yes was given.
        in_pipelines: For commands that pipelines run: without a terminal there is nobody to ask, and that is
            an error of its own. Otherwise the answer may come out of a pipe, and none is a no.

    Returns: a function of the estimate, in words; it raises SettingsError where nobody can be asked.
    """

    def ask(estimate: str) -> bool:
        if confirmed:
            click.echo(f"{estimate}.", err=True)
            return True
        if in_pipelines and not on_a_terminal():
            raise SettingsError(
                f"{estimate}: there is no terminal to ask on whether that may be spent; add --yes"
            )
        try:
            return click.confirm(f"{estimate}. Go ahead?", err=True)
        except click.Abort:
            return False

    return ask


def agreed(question: str) -> bool:
    """Whether the answer to a question is yes; none, as where nobody is there, is a no."""
    try:
        return click.confirm(question)
    except click.Abort:
        click.echo()
        return False


def on_a_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()


def words(text: str | None) -> tuple[str, ...]:
    """The parts of a list with commas; () for None."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def price(text: str) -> ModelPrice:
    """Read "0.15/0.60": US dollars per million prompt and completion tokens.

    Raises: SettingsError if it is not written so.
    """
    found = _price(text)
    if found is None:
        raise _not_a_price(text, "0.15/0.60")
    return found


def named_price(text: str) -> tuple[str, ModelPrice]:
    """Read "MODEL=0.15/0.60"; the name may hold equals signs.

    Raises: SettingsError if it is not written so.
    """
    model, _, said = text.rpartition("=")
    found = _price(said)
    if not model or found is None:
        raise _not_a_price(text, "MODEL=0.15/0.60")
    return model, found


def _price(text: str) -> ModelPrice | None:
    asked, _, answered = text.partition("/")
    try:
        found = ModelPrice(float(asked), float(answered))
    except ValueError:
        return None
    return found if all(0 <= usd < math.inf for usd in (found.input_usd, found.output_usd)) else None


def _not_a_price(text: str, like: str) -> SettingsError:
    return SettingsError(
        f'--price: "{text}" is not a price; write it like {like}, US dollars per million prompt and '
        "completion tokens"
    )

"""Entry point of the command line: the list of commands, and the display of their errors."""

from __future__ import annotations

import contextlib
import difflib
import errno
import json
import os
import re
import sqlite3
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

import click
from click.shell_completion import CompletionItem

from evenkeel import logs
from evenkeel.core.errors import UserError
from evenkeel.core.text import escaped, visible
from evenkeel.core.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS: Final = {
    "check": "Measure how fragile a prompt is with a model, without a proxy.",
    "up": "Run proxy, worker, monitor and console on this machine.",
    "proxy": "Run the data plane alone: forward and sample requests.",
    "worker": "Run a worker: replay and score sampled requests from Redis.",
    "monitor": "Run a monitor on Redis: raise incidents, serve the console.",
    "check-config": "Check settings, credentials and upstreams without starting.",
    "perturb": "Show what each perturbation does to a prompt.",
    "score": "Score pairs of answers in a file.",
    "backtest": "Run past verdicts through the monitor to see which alerts it would have raised.",
    "goldens": "Approve exchanges as goldens, the reference for later answers.",
    "incidents": "List, show, acknowledge and close incidents.",
    "changes": "List the changes on each route and their effect.",
    "baseline": "Approve the level that drift is measured from.",
    "report": "Write a report on live traffic between two dates.",
    "gate": "Check whether a candidate answers your goldens worse than what you run today.",
    "challenge": "Ask another model the same live requests: may it take over?",
    "bench": "Measure offline how robust models are.",
    "calibrate": "Work out what scores mean, and set thresholds and limits.",
    "judge-audit": "Measure how far a judge agrees with people and resists a false hint.",
    "feedback": "Export people's ratings of trials.",
    "simulate": "Serve a SIMULATED model of known robustness, or RECORDED answers.",
    "demo": "Watch the whole product work against a simulated model.",
    "child": "",
}
"""Help text of each command, in the order of the help; commands with an empty text are hidden.

`check-config` is `check_config` in the module `evenkeel.cli.check_config`. The words stand here because the
help of the program would otherwise have to load every command, which takes seconds.
"""

# Commands in `evenkeel.cli.lab`, which may import `evenkeel.lab`; the others may not.
_OF_LAB: Final = frozenset({"backtest", "bench", "calibrate", "judge-audit", "report", "simulate"})

# Commands in `evenkeel.cli.roles`.
_ROLES: Final = frozenset({"up", "proxy", "worker", "monitor", "demo"})
# Exit code where the machine is in the way: the same as for settings that cannot be used.
_ENVIRONMENT: Final = 2
# Exit code after Ctrl-C, as of a shell.
_INTERRUPTED: Final = 130
# Errors of a full disk, a quota and a limit on the size of files.
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_HELP: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
# Key in the context's `meta` that tells whether the command was asked for JSON.
_AS_JSON: Final = "evenkeel.json"
# A carriage return lets later text cover what stood before it.
_OVERPRINTS: Final = re.compile("\r(?!\n)")


class _Commands(click.Group):
    """Loads a command when it runs, and shows every expected error as one line with exit code 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        before = sys.stdout, sys.stderr
        # Before anything is printed: names of routes, models and prompts come from elsewhere.
        sys.stdout, sys.stderr = GuardedStream(_opened(sys.stdout)), GuardedStream(_opened(sys.stderr))
        try:
            return super().main(*args, **extra)
        except OSError as error:  # of the help itself, which no command prints
            click.echo(f"evenkeel: {_in_the_way(error)}", err=True)
            sys.exit(_ENVIRONMENT)
        finally:
            sys.stdout, sys.stderr = before

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        package = "evenkeel.cli.lab" if cmd_name in _OF_LAB else "evenkeel.cli"
        module = "roles" if cmd_name in _ROLES else name
        command: click.Command = getattr(import_module(f"{package}.{module}"), name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # Click would load every command for its help, at each press of the key.
        names = []
        for name in COMMANDS:
            if COMMANDS[name] and name.startswith(incomplete):
                names.append(name)
        return [CompletionItem(name, help=COMMANDS[name]) for name in names] or super().shell_complete(
            ctx, incomplete
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, summary in COMMANDS.items() if summary])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            # Click knows no names to suggest, since no command is loaded yet.
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean '{near[0]}'?" if near else ""))
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Before click reads the options, since its errors about them have to be JSON as well.
        ctx.meta[_AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if not ctx.meta[_AS_JSON]:
                raise
            _fail_as_json(error.format_message(), error.exit_code)
            ctx.exit(error.exit_code)
        except UserError as error:
            _report(ctx, str(error), error.exit_code)
        except (KeyboardInterrupt, click.Abort):
            # Click would end with 1, which means a regression to whoever runs the gate.
            _report(ctx, "stopped", _INTERRUPTED)
        except (OSError, sqlite3.OperationalError) as error:
            logs.log.debug("the machine is in the way", exc_info=True)
            _report(ctx, _in_the_way(error), _ENVIRONMENT)
        except Exception:
            # The boundary of the process: in a log of events a crash is one event, not a hundred lines.
            if not logs.is_json():
                raise
            logs.log.critical("evenkeel ended with an error of its own", exc_info=True)
            ctx.exit(1)


def _report(ctx: click.Context, message: str, exit_code: int) -> NoReturn:
    """Show why a command ends: as JSON if it was asked for that, as an event, or as a line of text."""
    if ctx.meta[_AS_JSON]:
        _fail_as_json(message, exit_code)
    elif logs.is_json():
        logs.log.error("%s", message)
    else:
        click.echo(f"evenkeel: {message}", err=True)
    ctx.exit(exit_code)


def _in_the_way(error: OSError | sqlite3.OperationalError) -> str:
    """Say in one line what the machine refused: a full disk, a folder without permission, a locked store."""
    if isinstance(error, OSError):
        if error.filename is not None:
            return f"{error.filename}: {error.strerror}"
        if error.errno in _NO_ROOM:
            return f"nothing more can be written: {error.strerror}; free some space, or write elsewhere"
        return f"{type(error).__name__}: {error}"
    return f"the store cannot be used: {error}; check the space and the permissions of the data folder"


def _opened(stream: TextIO | None) -> TextIO:
    """Return a standard stream, or one to nowhere for one that was closed before the start (`>&-`)."""
    return stream or Path(os.devnull).open("w", encoding="utf-8")


def _fail_as_json(message: str, exit_code: int) -> None:
    """Report on standard error, in one line, why a command that should print JSON prints none."""
    error = {"error": {"message": message, "exit_code": exit_code}}
    click.echo(escaped(json.dumps(error, ensure_ascii=False)), err=True)


class GuardedStream:
    """A standard stream whose reader may leave, and whose texts cannot steer a terminal.

    Once the reader has left, as `| head` does, what is written goes nowhere, so that the command goes on to
    its own end and exit code. Control characters are shown as U+FFFD, but in bytes and in what rich draws on
    a terminal: its own colours and bars.
    """

    def __init__(self, stream: Any, *, shown: bool = True) -> None:
        """Wrap a stream; `shown` is False for bytes, and for text that is ours."""
        self._stream = stream
        self._shown = shown

    def write(self, text: Any) -> int:
        """Write what a terminal shows of a text; a carriage return stays only before a line's end."""
        with self._left():
            self._stream.write(visible(_OVERPRINTS.sub("\ufffd", text)) if self._shown else text)
        return len(text)

    def flush(self) -> None:
        """Write what waits."""
        with self._left():
            self._stream.flush()

    @property
    def buffer(self) -> Any:
        """Stream for bytes."""
        return GuardedStream(self._stream.buffer, shown=False)

    @property
    def rich_proxied_file(self) -> Any:
        """Stream that rich writes to: the text as it is on a terminal, or if colors are forced."""
        plain = self._stream.isatty() or "FORCE_COLOR" in os.environ
        return GuardedStream(self._stream, shown=False) if plain else self

    @contextlib.contextmanager
    def _left(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            # At the descriptor, so that what Python still holds has somewhere to go at the exit.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@click.group(cls=_Commands, context_settings=_HELP)
@click.version_option(VERSION, "-V", "--version", prog_name="evenkeel", help="Show the version and exit.")
def main() -> None:
    """Find out, live, when a model endpoint stops giving the same answer to the same question.

    evenkeel is a proxy in front of an OpenAI-compatible endpoint. It forwards traffic untouched, replays a
    sample in the background with small rewordings, scores how far the answers move, and raises one incident
    when a model or prompt change has made them fragile, worse or different.

    \b
    Start here:
      evenkeel check prompt.txt --model simulated
      evenkeel demo
      evenkeel up --upstream https://api.openai.com/v1

    \b
    An incident is open? Start here:
      evenkeel incidents list --state open

    \b
    Completion in bash; zsh_source and fish_source are the other shells:
      eval "$(_EVENKEEL_COMPLETE=bash_source evenkeel)"
    """
    click.get_current_context().with_resource(logs.collected())
    logs.from_environment(serving=False)

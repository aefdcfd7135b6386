"""`completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
      echo 'eval "$(evenkeel completion bash)"' >> ~/.bashrc
      echo 'eval "$(evenkeel completion zsh)"' >> ~/.zshrc
      evenkeel completion fish > ~/.config/fish/completions/evenkeel.fish

    Completes commands, options and choices. bash needs version 4.4 or later.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "evenkeel", "_EVENKEEL_COMPLETE").source())

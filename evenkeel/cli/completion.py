"""`completion`."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

# Lines that load zsh's completion system, which a zsh without a framework does not do by itself.
_BEFORE: Final = {"zsh": "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"}


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
      echo 'eval "$(evenkeel completion bash)"' >> ~/.bashrc
      echo 'eval "$(evenkeel completion zsh)"' >> ~/.zshrc
      mkdir -p ~/.config/fish/completions
      evenkeel completion fish > ~/.config/fish/completions/evenkeel.fish

    Completes commands, options and choices. bash needs version 4.4 or later.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root().command
    click.echo(_BEFORE.get(shell, "") + kind(root, {}, "evenkeel", "_EVENKEEL_COMPLETE").source())

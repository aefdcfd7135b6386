"""`fingerprint`."""

from __future__ import annotations

import os

import click

from evenkeel.cli.options import emit, json_option
from evenkeel.settings import SettingsError


@click.command()
@click.argument("variable")
@json_option
def fingerprint(variable: str, *, as_json: bool) -> None:
    """Print the fingerprint of the API key in the environment variable VARIABLE.

    The setting `routes[].key_fingerprints` selects requests by their key without storing it.

    \b
      evenkeel fingerprint TEAM_A_KEY

    Exit code: 0 done, 2 the variable is empty.
    """
    from evenkeel.proxy.credentials import fingerprint as fingerprint_of

    key = os.environ.get(variable)
    if not key:
        raise SettingsError(f"the variable {variable} is empty; export the API key in it first")
    digest = fingerprint_of(key.encode())
    if as_json:
        emit({"variable": variable, "fingerprint": digest})
    else:
        click.echo(digest)

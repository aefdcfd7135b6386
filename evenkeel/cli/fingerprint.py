"""`fingerprint`."""

from __future__ import annotations

import os

import click

from evenkeel.settings import SettingsError


@click.command()
@click.argument("variable")
def fingerprint(variable: str) -> None:
    """Print the fingerprint of the API key in the environment variable VARIABLE.

    A route's `key_fingerprints` name the keys whose requests it takes, without giving them away.
    """
    from evenkeel.proxy.credentials import fingerprint as fingerprint_of

    key = os.environ.get(variable)
    if not key:
        raise SettingsError(f"the variable {variable} is empty; export the API key in it first")
    click.echo(fingerprint_of(key.encode()))

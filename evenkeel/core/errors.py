"""Errors that a person has to put right."""

from __future__ import annotations


class UserError(Exception):
    """What a person asked for cannot be done. The message is one line: where, what is wrong, what to do."""

    exit_code = 2
    """Of a command that ends with it."""

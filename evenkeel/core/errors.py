"""Errors that the user can fix."""

from __future__ import annotations


class UserError(Exception):
    """An error that the user can fix. The message is one line: where, what is wrong, what to do."""

    exit_code = 2
    """Exit code of a command that fails with this error."""

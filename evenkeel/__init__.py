"""Composition root: the command line, the settings file, and the roles wired together."""

from evenkeel.core.version import VERSION

__version__ = VERSION

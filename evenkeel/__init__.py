"""Composition root: the command line, the settings file, and the roles wired together."""

from importlib.metadata import version

__version__ = version("evenkeel-proxy")

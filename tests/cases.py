"""Tables of cases that stand in a YAML file beside a module of tests."""

from pathlib import Path

import yaml


def cases(module):
    """The tables of a module, whose `__file__` is given, by their names."""
    text = Path(module).with_suffix(".yaml").read_text(encoding="utf-8")
    # Every worker reads all tables before its first test: the reader in C takes a tenth of the time.
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def tupled(value):
    """The same value with tuples for lists, which YAML has in their place."""
    if isinstance(value, dict):
        return {key: tupled(item) for key, item in value.items()}
    return tuple(map(tupled, value)) if isinstance(value, list) else value

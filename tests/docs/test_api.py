"""The public Python API: what `metrics` and `shadow` offer without a proxy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenkeel import metrics
from tests.docs.documentation import DOCS, inline_code_of


def test_public_names_can_be_imported_and_are_on_their_page():
    """Each of `__all__` is an object of that name, listed by `dir` and mentioned; no other is there."""
    assert len(set(metrics.__all__)) == len(metrics.__all__)
    for name in metrics.__all__:
        value = getattr(metrics, name)
        assert getattr(value, "__name__", name).endswith(name)
    mentioned = {code for part in inline_code_of(DOCS / "api.md") for code in part.split(".")}
    assert set(metrics.__all__) <= set(dir(metrics)) & mentioned
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = metrics.nonsense


def test_a_public_name_is_the_object_of_its_module():
    from evenkeel.core.pair import Pair  # noqa: PLC0415 - the other way to it

    assert metrics.Pair is Pair


def test_importing_the_packages_loads_nothing_of_them():
    """The data plane imports submodules of both and must not pay for the rest."""
    script = (
        "import sys, metrics, shadow\n"
        "print(*[name for name in sys.modules if name.partition('.')[0] in ('metrics', 'shadow')])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["metrics", "shadow"]

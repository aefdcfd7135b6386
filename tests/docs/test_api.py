"""The public Python API: what `metrics` and `shadow` offer without a proxy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenkeel import metrics, shadow
from tests.docs.documentation import DOCS, inline_code_of

PUBLIC = (metrics, shadow)


@pytest.mark.parametrize("package", PUBLIC, ids=lambda package: package.__name__)
def test_public_names_can_be_imported_and_are_on_their_page(package):
    """Each of `__all__` is an object of that name, listed by `dir` and mentioned; no other is there."""
    assert len(set(package.__all__)) == len(package.__all__)
    for name in package.__all__:
        value = getattr(package, name)
        assert getattr(value, "__name__", name).endswith(name)
    mentioned = {code for part in inline_code_of(DOCS / "api.md") for code in part.split(".")}
    assert set(package.__all__) <= set(dir(package)) & mentioned
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense


def test_a_public_name_is_the_object_of_its_module():
    from evenkeel.core.pair import Pair  # noqa: PLC0415 - the other way to it
    from evenkeel.shadow.prompt import PromptView  # noqa: PLC0415

    assert metrics.Pair is Pair
    assert shadow.PromptView is PromptView


def test_importing_the_packages_loads_nothing_of_them():
    """The data plane imports submodules of both and must not pay for the rest."""
    script = (
        "import sys, metrics, shadow\n"
        "print(*[name for name in sys.modules if name.partition('.')[0] in ('metrics', 'shadow')])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["metrics", "shadow"]

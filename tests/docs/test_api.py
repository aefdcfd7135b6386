"""The public Python API: what `metrics` and `shadow` offer without a proxy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenkeel import metrics, shadow
from tests.docs.documentation import DOCS, inline_code_of

PUBLIC = (metrics, shadow)


@pytest.mark.parametrize("package", PUBLIC, ids=lambda package: package.__name__)
def test_every_public_name_can_be_imported(package):
    """Each name of `__all__` leads to an object of that name, and is listed by `dir`."""
    assert len(set(package.__all__)) == len(package.__all__)
    for name in package.__all__:
        found = getattr(package, name)
        assert getattr(found, "__name__", name).endswith(name)
    assert set(package.__all__) <= set(dir(package))


@pytest.mark.parametrize("package", PUBLIC, ids=lambda package: package.__name__)
def test_every_public_name_is_on_its_page(package):
    """A name that the page does not mention is not public."""
    named = {code for part in inline_code_of(DOCS / "api.md") for code in part.split(".")}
    assert set(package.__all__) <= named


@pytest.mark.parametrize("package", PUBLIC, ids=lambda package: package.__name__)
def test_a_name_that_does_not_exist_says_so(package):
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

"""The public Python API: what `metrics` and `shadow` offer without a proxy."""

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

import re
from importlib.resources import files

import pytest

from tests.cases import cases

CASES = cases(__file__)
_CSS = files("evenkeel.console").joinpath("static/console.css").read_text(encoding="utf-8")
_SCHEMES = {"light": _CSS.partition("@media")[0], "dark": _CSS.partition("@media")[2].partition("\n}")[0]}


def _colours(scheme):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", _SCHEMES[scheme]))


def _luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one, other):
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("pair", CASES["grounds"])
def test_text_can_be_read_on_every_ground(scheme, pair):
    """Contrast is at least 4.5 to 1 (WCAG AA), in light and in dark."""
    colours = _colours(scheme)
    ink, ground = pair.split(" on ")
    assert _contrast(colours[ink], colours[ground]) >= 4.5


def test_dark_scheme_defines_every_colour():
    """Nothing falls back to a light colour at night."""
    assert _colours("dark").keys() == _colours("light").keys()


def test_every_selector_is_complete():
    """A browser drops a whole rule, without a word, where a selector has a bracket too many."""
    for selector in re.findall(r"[^{};]+(?={)", re.sub(r"/\*.*?\*/", "", _CSS, flags=re.DOTALL)):
        assert selector.count("(") == selector.count(")"), selector


def test_static_files_ask_nobody_else():
    for entry in files("evenkeel.console").joinpath("static").iterdir():
        text = entry.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        for forbidden in ("http:", "https:", "@import", "@font-face", "//cdn"):
            assert forbidden not in text, f"{entry.name}: {forbidden}"

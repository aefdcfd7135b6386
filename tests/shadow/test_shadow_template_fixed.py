"""Templates written in the settings."""

from __future__ import annotations

import pytest

from evenkeel.shadow.prompt.segments import SlotText
from evenkeel.shadow.prompt.template import fixed_template


def test_fixed_template_from_settings() -> None:
    """Placeholders of both kinds are input, the rest of a fitting message template."""
    classify = fixed_template(["Help {name} with {{ product }}.\nAnswer in one word.", "Be kind."])
    slots = [
        SlotText("system", "Be kind.", 0),
        SlotText("assistant", "Be kind.", 1),
        SlotText("user", "Help Zoe with ivy.\nAnswer in one word.", 2),
        SlotText("user", "Help Zoe with ivy.", 3),
    ]
    assert [[(block.kind, block.text) for block in one] for one in classify(slots)] == [
        [("template", "Be kind.")],
        [("history", "Be kind.")],
        [
            ("template", "Help "),
            ("input", "Zoe"),
            ("template", " with "),
            ("input", "ivy"),
            ("template", ".\n"),
            ("template", "Answer in one word."),
        ],
        [("input", "Help Zoe with ivy.")],
    ]


@pytest.mark.parametrize("text", ["", "{name}", "{{a}}{b}"])
def test_fixed_template_needs_text(text: str) -> None:
    """A template without any words of its own can't be recognised and is refused."""
    with pytest.raises(ValueError, match="text besides its placeholders"):
        fixed_template([text])

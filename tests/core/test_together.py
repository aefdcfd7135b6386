"""Groups of rewordings: their names, how these are read, and what they say beside single rewordings."""

import pytest

from evenkeel.core.rewordings import column_label, label, phrase
from evenkeel.core.together import by_themselves, together_count, together_name


@pytest.mark.parametrize(("part", "said"), [("", "5 general"), ("2", "set B of 5 general")])
def test_a_group_is_named_in_words(part, said):
    """Headings of columns, labels and sentences have their own form."""
    name = together_name("general", 5, part)
    assert together_count(name) == 5
    assert column_label(name) == said
    assert label(name) == f"together: {said}"
    assert phrase(name) == f"{said} rewordings together"


def test_a_name_that_is_no_group_is_read_as_it_is():
    """Names come from a log, where anything may stand."""
    assert column_label("together.many_things") == "many things"
    assert together_count("together.many_things") == 1


def test_rewordings_by_themselves_go_before_groups():
    assert by_themselves(["together.5_general", "general.tone"], str) == ["general.tone"]
    assert by_themselves(["together.5_general"], str) == ["together.5_general"]

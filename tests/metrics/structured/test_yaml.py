"""YAML into the tree: valid, slightly broken, and hostile texts."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.metrics.structured.tree import UnreadableError, flat
from evenkeel.metrics.structured.yaml import read_yaml, repair_yaml
from tests.metrics.structured_values import KEYS, VALUES, as_tree, outcome, reason


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_yaml_written_by_the_library_is_read_as_it_is(value: dict[str, object]) -> None:
    """Block style, quoting and escapes give back the tree of the value."""
    text = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    assert read_yaml(text) == as_tree(value)


def test_yaml_scalars_stay_texts() -> None:
    """No dates, octals or booleans of an older standard; a tilde is null, a quoted one is not."""
    text = "when: 2024-03-05\nid: 0o17\non: yes\nnone: ~\ntilde: '~'\n"
    assert read_yaml(text) == {"when": "2024-03-05", "id": "0o17", "on": "yes", "none": "", "tilde": "~"}


def test_yaml_aliases_are_refused() -> None:
    """The laughing document stays small, because nothing in an answer needs an alias."""
    bomb = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"
    with pytest.raises(UnreadableError) as caught:
        read_yaml(bomb)
    assert reason(caught) == "alias"


def test_yaml_tags_construct_nothing() -> None:
    """A tag is passed over, its value is text."""
    assert read_yaml("a: !!python/object/apply:os.system ['true']\n") == {"a": ("true",)}


def test_several_yaml_documents_are_a_sequence() -> None:
    """Marks between documents do not hide the second one."""
    assert read_yaml("a: 1\n---\nb: 2\n") == ({"a": "1"}, {"b": "2"})


def test_prose_is_no_yaml_though_the_standard_says_so() -> None:
    """A lone scalar is refused."""
    with pytest.raises(UnreadableError):
        read_yaml("The printer jams.")


@pytest.mark.parametrize(
    "text",
    [
        "title: Error: disk full\nsteps:\n  - free space: 5 GB\n  - *retry* once\n",
        "title: Error: disk full\nsteps:\n\t- 'free space: 5 GB'\n\t- '*retry* once'\n",
    ],
)
def test_yaml_with_the_slips_of_models_is_repaired(text: str) -> None:
    """Colons in plain values, marks that look like aliases, tabs."""
    with pytest.raises(UnreadableError):
        read_yaml(text)
    tree = repair_yaml(text)
    assert isinstance(tree, dict)
    assert tree["title"] == "Error: disk full"
    assert flat(tree["steps"]).endswith("5 GB\n*retry* once")


def test_yaml_that_ends_in_something_else_keeps_its_begin() -> None:
    """Talk behind a document is left out."""
    assert repair_yaml('a: "1"\nb: [2]\n}}} and so on') == {"a": "1", "b": ("2",)}


def test_deep_yaml_is_refused() -> None:
    """Levels are limited in block and in flow style."""
    for text in ("a: " + "[" * 5000, "\n".join(" " * level + "a:" for level in range(200))):
        with pytest.raises(UnreadableError) as caught:
            read_yaml(text)
        assert reason(caught) == "too_deep"


@settings(max_examples=150, deadline=None)
@given(st.text("ab:- \n\t'\"[]{}&*!|>#%@`~?", max_size=50))
def test_no_text_breaks_the_yaml_reader(text: str) -> None:
    """Whatever stands there, there is a tree or the error of this project."""
    for read in (read_yaml, repair_yaml):
        assert outcome(read, text) in ("read", "malformed", "alias", "too_deep")

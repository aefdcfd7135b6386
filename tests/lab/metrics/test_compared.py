"""Trees of values: read, aligned, assigned and compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.json_rouge import JsonRouge, json_rouge
from evenkeel.lab.metrics.json_similarity import JsonSimilarity
from evenkeel.lab.metrics.value_alignment import ValuePair, align, canonical_key
from evenkeel.metrics.scoring import is_valid
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import LONGEST, UnreadableError, flat, scalar
from tests.cases import cases, tupled
from tests.kit.records import altered
from tests.lab.metrics.compass import pair, reason

CASES = cases(__file__)
FORMS = CASES["forms"]
JSON, YAML, XML = (FORMS[form] for form in ("json", "yaml", "xml"))


def found(text):
    structure = read_structure(text)
    assert isinstance(structure, Structure)
    return structure


# --- finding


@pytest.mark.parametrize(("around", "forms", "alone"), CASES["around"])
def test_each_format_is_found_whatever_stands_around_it(around, forms, alone):
    """The content is the same, in a fence or not; talk around it is noticed and left out."""
    for form in forms:
        structure = found(around.replace("```\n%s", f"```{form}\n%s") % FORMS[form])
        assert structure.tree == found(FORMS[form]).tree
        assert (structure.format, structure.strict, structure.alone) == (form, True, alone)


@pytest.mark.parametrize("text", CASES["free text"])
def test_free_text_has_no_structure(text):
    """Brackets, colons and signs in prose and code are no structure."""
    assert read_structure(text) is None


def test_code_in_a_fence_is_part_of_a_document():
    """A block in another language is quoted, whatever brackets it holds."""
    text = "Try this:\n\n```cpp\nint main() { int a[] = {1, 2}; }\n```\n\nIt holds."
    assert found(text).format == "markdown"


def test_the_wanted_format_is_found_where_it_is_small():
    """The wanted format counts even if most of the answer is about something else."""
    text = "Let me explain at some length what I did and why I did it. " * 5 + '{"a": 1}'
    assert read_structure(text) is None
    structure = read_structure(text, "json")
    assert (structure.tree, structure.alone) == ({"a": "1"}, False)
    one_field = read_structure("summary: the drive is full", "yaml")
    assert one_field.tree == {"summary": "the drive is full"}


def test_texts_beyond_the_limits_are_errors_not_free_text():
    """Five megabytes are refused at once, deep nesting as soon as it is met."""
    for text, why in (
        ("[" + "1," * 2_500_000 + "1]", "too_large"),
        ("x" * (LONGEST + 1), "too_large"),
        ("[" * 50_000 + "]" * 50_000, "too_deep"),
        ("# a\n" + "word " * 20_000, "too_large"),
    ):
        structure = read_structure(text)
        assert structure.reason == why
        assert reason(JsonRouge().score(pair(text, JSON))) == why


@given(
    st.text("ab1:,-#*|`~\n {}[]<>/\"'&", max_size=60),
    st.sampled_from((None, "json", "yaml", "xml", "html", "markdown")),
)
def test_no_text_breaks_the_search(text, wanted):
    """Any text has a structure, none, or a reason; and a valid one is always readable."""
    structure = read_structure(text, wanted)
    assert structure is None or isinstance(structure, (Structure, UnreadableError))
    if isinstance(structure, Structure) and wanted is None:
        assert JsonRouge().score(pair(text, text)) == 1.0


# --- assignment and alignment


@pytest.mark.parametrize("key", ["Error code", "error_code", "errorCode", "ERROR-CODE", " error  code "])
def test_keys_are_equal_however_their_words_are_joined(key):
    """Case, spaces, underscores and hyphens are style."""
    assert canonical_key(key) == "errorcode"


@pytest.mark.parametrize(("left", "right", "pairs"), CASES["aligned"])
def test_values_are_aligned_by_spelling_likeness_and_content(left, right, pairs):
    """Neither place nor wrappers, lists of one and nulls count."""
    expected = [ValuePair(*values) for values in pairs]
    assert sorted(align(tupled(left), tupled(right)), key=str) == sorted(expected, key=str)


def test_long_lists_are_paired_in_order():
    """Twenty thousand changed items on either side: far too many to compare each with each."""
    pairs = align(tuple(f"item {i}" for i in range(20_000)), tuple(f"thing {i}" for i in range(20_000)))
    assert len(pairs) == 20_000
    assert pairs[7] == ("item 7", "thing 7")


# --- JSONRouge


@pytest.mark.parametrize(("left", "right", "score"), CASES["json_rouge"])
def test_json_rouge_of_hand_worked_pairs(left, right, score):
    """Values count by their words; keys are aligned, and lost ones cost theirs."""
    assert JsonRouge().score(pair(left, right)) == pytest.approx(score)


def test_json_rouge_fails_with_a_reason():
    """Two free texts have nothing to align; two empty answers have no text."""
    assert reason(JsonRouge().score(pair("the disk", "a disk"))) == "no_structure"
    assert reason(JsonRouge().score(pair(" ", ""))) == "no_text"


TREES = st.recursive(
    st.sampled_from(("", "the disk", "is full", "2", "!")),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(TREES, TREES)
def test_properties_of_tree_comparison(left, right):
    """Bounded, 1 for equal trees, and every scalar is in exactly one pair, empty ones aside."""
    assert 0 <= json_rouge(left, right) <= 1
    assert json_rouge(left, left) == 1.0
    pairs = align(left, right)
    words = " ".join(values.reference for values in pairs if values.reference).split()
    assert sorted(words) == sorted(flat(left).split())


# --- JSONSimilarity


class Lexicon:
    """Knows three sentences and how close they are; refuses on demand."""

    def __init__(self, failure=None, refusal=None):
        self.asked = []
        self._failure, self._refusal = failure, refusal

    def refuses(self, pair):
        return self._refusal

    def similarities(self, texts):
        """0.5 for everything, all in one batch."""
        self.asked += texts
        return self._failure or [0.5 for _ in texts]


def test_json_similarity_asks_only_where_meaning_can_differ():
    """Equal values have 1, numbers 0 or 1, lost ones 0: (8·0.5 + 2·0 + 2·1 + 1·0) / 13 by words."""
    lexicon = Lexicon()
    left = '{"what": "the disk is full", "level": 2, "who": "Kim", "old": "x"}'
    right = '{"what": "storage has run out", "level": 3, "who": "KIM"}'
    assert JsonSimilarity(lexicon).score(pair(left, right)) == pytest.approx(6 / 13)
    assert lexicon.asked == [("the disk is full", "storage has run out")]


def test_json_similarity_passes_failures_on_under_its_own_name():
    """A language the encoder does not know, and an encoder that breaks."""
    other = Failure("embeddings", 1, "cross_language", "en, de")
    refused = JsonSimilarity(Lexicon(refusal=other)).score(pair(JSON, YAML))
    assert refused == altered(other, metric="json_similarity")
    broken = JsonSimilarity(Lexicon(failure=Failure("embeddings", 1, "encoder_failed"))).score(
        pair('{"a": "one"}', '{"a": "two"}')
    )
    assert reason(broken) == "encoder_failed"
    assert reason(JsonSimilarity(Lexicon()).score(pair("a", "b"))) == "no_structure"
    assert JsonSimilarity(Lexicon()).score(pair(JSON, XML)) == 1.0


# --- validity


@pytest.mark.parametrize("form", FORMS)
def test_validity_is_a_strict_parse_and_nothing_else(form):
    """Valid alone or fenced; not with talk around it, not in another format. Prose may be Markdown."""
    assert is_valid(FORMS[form], form)
    assert is_valid(f"```\n{FORMS[form]}\n```", form)
    assert is_valid("The drive is full.", form) == (form == "markdown")
    assert not is_valid("", form)
    others = [other for other in FORMS if other != form and {form, other} != {"yaml", "markdown"}]
    assert not any(is_valid(FORMS[other], form) for other in others if form != "markdown")


@pytest.mark.parametrize(("form", "right", "wrong"), CASES["slips"])
def test_what_needs_repair_is_not_valid_but_can_be_read(form, right, wrong):
    """A single slip makes it invalid; its content is still found."""
    assert right in FORMS[form]
    text = FORMS[form].replace(right, wrong)
    assert not is_valid(text, form)
    structure = read_structure(text, form)
    assert structure.format == form
    assert json_rouge(structure.tree, found(JSON).tree) > 0.7


@pytest.mark.parametrize(("value", "text"), CASES["scalars"])
def test_a_scalar_has_one_spelling_in_all_formats(value, text):
    """Nulls are empty, booleans lower case, whole numbers without a fraction; the rest is kept."""
    assert scalar(value) == text

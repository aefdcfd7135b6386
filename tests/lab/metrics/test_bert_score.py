"""BERTScore with planted tokens and, where it is installed, against the authors' package."""

import importlib.util
from pathlib import Path

import pytest

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics import bert_score
from evenkeel.lab.metrics.bert_score import BertScore, TokenMatch, available, load_bert_score
from evenkeel.lab.metrics.embeddings import EmbeddingsUnavailableError
from evenkeel.lab.metrics.languages import Coverage
from tests.cases import cases
from tests.lab.metrics.compass import pair, reason

needs_model = pytest.mark.skipif(
    not available(), reason="SKIPPED LOUDLY: extra `semantic` is not installed (make semantic)"
)


class PlantedTokens:
    """Matches equal words only, and trips over "broken"."""

    def __init__(self):
        self.asked = []

    def match(self, texts):
        """Share of words found on the other side."""
        self.asked += texts
        found = []
        for both in texts:
            left, right = (" ".join(side).split() for side in both)
            if "broken" in right:
                raise RuntimeError("out of memory")
            found.append(
                TokenMatch(
                    sum(w in left for w in right) / len(right), sum(w in right for w in left) / len(left)
                )
            )
        return found


def test_f1_of_a_hand_worked_match():
    """Precision 2/2 and recall 2/4 give 2/3; nothing on either side gives 0."""
    assert BertScore(PlantedTokens()).score(pair("open the rear tray", "open tray")) == pytest.approx(2 / 3)
    assert TokenMatch(0.0, 0.0).f1 == 0.0


def test_rescaling_puts_unrelated_texts_at_nothing():
    """F1 2/3 over a baseline of 1/2 is 1/3; below the baseline it is cut to 0; equal texts stay 1."""
    rescaled = BertScore(PlantedTokens(), baseline=0.5)
    assert rescaled.score(pair("open the rear tray", "open tray")) == pytest.approx(1 / 3)
    assert rescaled.score(pair("a b c d e", "a x y z w")) == 0.0
    assert rescaled.score(pair("a b", "a b")) == 1.0
    with pytest.raises(EmbeddingsUnavailableError, match=r"no baseline is known.*roberta-large"):
        load_bert_score("some/model", rescale=True)


@pytest.mark.parametrize(("model", "known"), bert_score._RECOMMENDED.items())
def test_baselines_are_the_published_ones(model, known):
    """The authors' package, where it is installed, has the same layer's F1 of unrelated sentences."""
    package = pytest.importorskip("bert_score", reason="SKIPPED LOUDLY: bert-score is not installed")
    rows = (Path(package.__file__).parent / "rescale_baseline/en" / f"{model}.tsv").read_text().split("\n")
    assert float(rows[known[0] + 1].split(",")[3]) == known[1]


def test_a_batch_is_one_call_and_failures_stay_with_their_pairs():
    """Empty sides and endless texts are not sent."""
    planted = PlantedTokens()
    scores = BertScore(planted).score_all(
        [pair("a", "a"), pair("", "a"), pair("a " * 3001, "a"), pair("a b", "c d")]
    )
    assert len(planted.asked) == 2
    assert (scores[0], scores[3]) == (1.0, 0.0)
    assert [score.reason for score in scores if isinstance(score, Failure)] == ["no_text", "too_large"]


def test_long_texts_go_in_pieces():
    """400 words are three pieces of one text."""
    planted = PlantedTokens()
    BertScore(planted).score(pair("word " * 400, "word"))
    assert [len(piece.split()) for piece in planted.asked[0][0]] == [150, 150, 100]


def test_a_failing_model_and_a_foreign_language_are_failures():
    """Neither becomes a number."""
    broken = BertScore(PlantedTokens()).score(pair("a", "broken"))
    assert reason(broken) == "encoder_failed"
    assert broken.metric == "bert_score"
    coverage = Coverage(frozenset(("en",)), lambda text: "de" if "Fach" in text else "en")
    foreign = BertScore(PlantedTokens(), coverage=coverage).score(pair("the tray", "das Fach"))
    assert reason(foreign) == "cross_language"


@pytest.fixture(scope="module")
def minilm():
    """The packaged model, loaded once."""
    return load_bert_score()


@needs_model
@pytest.mark.filterwarnings("ignore")
def test_agreement_with_the_authors_package(minilm):
    """F1 equals bert-score's to 1e-5 on the same model and layer; its symmetry holds as well."""
    if importlib.util.find_spec("bert_score") is None:
        pytest.skip("SKIPPED LOUDLY: the reference package bert-score is not installed")
    from bert_score import BERTScorer  # noqa: PLC0415 - takes seconds

    from evenkeel.lab.metrics.embeddings import packaged_minilm  # noqa: PLC0415 - needs the extra

    theirs = BERTScorer(model_type=str(packaged_minilm()), num_layers=6)
    # The packaged tokeniser names no limit, which the package passes on to the model.
    theirs._tokenizer.model_max_length = 512
    # One at a time: in a batch the package takes padding for a match of 0 where all others are negative.
    pairs = [pair(*both) for both in cases(__file__)["pairs"]]
    expected = [theirs.score([both.candidate.text], [both.reference.text])[2].item() for both in pairs]
    assert minilm.score_all(pairs) == pytest.approx(expected, abs=1e-5)
    turned = [pair(both.candidate.text, both.reference.text) for both in pairs]
    assert minilm.score_all(turned) == pytest.approx(expected, abs=1e-5)


@needs_model
@pytest.mark.filterwarnings("ignore")
def test_a_change_in_the_last_sentence_of_a_long_text_is_seen(minilm):
    """Nothing is cut off behind the model's limit: 700 words differ by what stands at their end."""
    body = "The pump in hall four was checked and found to be in order. " * 58
    same = minilm.score(pair(body + "Nobody was hurt.", body + "Nobody was hurt."))
    other = minilm.score(pair(body + "Nobody was hurt.", body + "Zebra quantum lemonade invoice."))
    assert same == pytest.approx(1.0)
    assert not isinstance(other, Failure)
    assert other < 0.999


@needs_model
@pytest.mark.filterwarnings("ignore")
def test_a_layer_that_the_model_lacks_is_refused():
    """MiniLM has six."""
    with pytest.raises(EmbeddingsUnavailableError, match="6 layers, not 17"):
        load_bert_score(layer=17)

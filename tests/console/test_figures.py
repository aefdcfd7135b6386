from __future__ import annotations

from evenkeel.core import rewordings
from evenkeel.core.labels import label, scorer_words
from evenkeel.metrics.registry import publish_labels


def test_columns_are_ordered_by_category_then_kind_then_name():
    """The noise floor comes first, unknown categories last."""
    names = [
        "zzz.new",
        "multilingual.fr",
        "general.spelling",
        "format.json",
        "general.whitespace",
        "baseline.identical",
    ]
    assert sorted(names, key=rewordings.position) == [
        "baseline.identical",
        "general.whitespace",
        "general.spelling",
        "format.json",
        "multilingual.fr",
        "zzz.new",
    ]


def test_cheap_metrics_are_never_called_a_judge():
    """A rating without a judge says so."""
    assert scorer_words("metrics") == "decided by heuristics, no judge"
    publish_labels()
    assert "stand-in" in label("faithfulness_proxy")

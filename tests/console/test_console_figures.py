from __future__ import annotations

import pytest

from evenkeel.console import wording
from evenkeel.core import figures, rewordings
from evenkeel.core.cells import Estimate
from evenkeel.metrics.registry import publish_labels


@pytest.mark.parametrize(
    ("ratio", "digits", "shown"),
    [
        (0.314, 0, "31\u202f%"),
        (-0.0349, 1, "\u22123.5\u202f%"),
        (-0.0001, 0, "0\u202f%"),
        (1.0, 1, "100.0\u202f%"),
        (float("nan"), 0, "?\u202f%"),
    ],
)
def test_percent_is_rounded_with_a_true_minus(ratio, digits, shown):
    """Ratios read as percent; nothing rounds to minus zero and what is no number says so."""
    assert figures.percent(ratio, digits) == shown


def test_estimate_carries_its_interval():
    """0.31 within 0.24 and 0.38 reads as 31 % [24, 38] %."""
    shown = figures.estimate_text(Estimate(0.31, 0.24, 0.38, 214))
    assert shown.replace("\u202f", " ").replace("\u00a0", " ") == "31 % [24, 38] %"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (11_100, "3 h 5 min"),
        (200_000, "2 d"),
    ],
)
def test_durations_use_their_largest_units(seconds, shown):
    """A duration is as exact as someone reading it needs."""
    assert figures.duration(seconds) == shown


def test_moments_of_other_days_carry_the_date():
    """14:03 means today; yesterday's carries its date."""
    now = 1_786_544_400.0  # 2026-08-12 14:20 UTC
    assert figures.moment(now - 17 * 60, now) == "14:03"
    assert figures.moment(now - 86_400, now) == "11 Aug 14:20"


@pytest.mark.parametrize(("amount", "shown"), [(0.0, "$0.00"), (0.0009, "<$0.01"), (1234.5, "$1,234.50")])
def test_small_amounts_are_not_shown_as_nothing(amount, shown):
    """Less than a cent is not free."""
    assert figures.usd(amount) == shown


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
    assert wording.scorer_words("metrics") == "decided by cheap metrics, no judge"
    publish_labels()
    assert "stand-in" in wording.quality_words("faithfulness_proxy")


@pytest.mark.parametrize(
    ("parts", "joined"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_listings_end_in_and(parts, joined):
    """Several things read as a sentence."""
    assert figures.listing(parts) == joined

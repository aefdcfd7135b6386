"""Figures of the benchmark: means, spreads and intervals."""

import random

import pytest

from evenkeel.lab.bench.scores import IssueCount, interval, make_tables, scores
from evenkeel.lab.bench.trials import BenchTrial


def trials(outcomes, *, kind="general.casing", model="m", task="t"):
    """(item, run, rating, changed) of each."""
    return [
        BenchTrial(model, item, task, kind, run, rating, changed) for item, run, rating, changed in outcomes
    ]


def shifted(is_bad):
    """Rating and change of a pair that is quite another, or the same."""
    return (1, True) if is_bad else (3, None)


def test_a_score_is_one_minus_the_product_of_both_deltas():
    """10 pairs, 5 shifted, 2 of them with another quality: 0.5, 0.4 and 0.8."""
    outcomes = [(3, None)] * 5 + [(2, True)] * 2 + [(1, False)] * 3
    found = scores([trials((f"i{n}", 0, *outcome) for n, outcome in enumerate(outcomes))])
    assert found.content_delta.value == 0.5
    assert found.quality_delta.value == pytest.approx(0.4)
    assert found.robustness.value == pytest.approx(0.8)
    assert found.robustness.std is None
    assert (found.robustness.n, found.quality_delta.n) == (10, 5)


def test_groups_weigh_the_same_and_failures_nothing():
    """A category of 20 pairs at 1.0 and one of 2 at 0.0 make 0.5; without any rating there is no score."""
    good = trials((f"i{n}", 0, 3, None) for n in range(20))
    bad = trials((f"i{n}", 0, 1, True) for n in range(2))
    failed = [BenchTrial("m", "i0", "t", "general.casing", 0, failure="timeout")]
    assert scores([good, bad + failed, failed]).robustness.value == pytest.approx(0.5)
    assert scores([failed]).robustness is None


def test_overall_is_the_mean_of_the_baseline_and_the_papers_categories():
    """Baseline 1, general 0.5 and format 0 make 0.5; a compound of 0 is shown and counts in no mean."""
    kinds = {"baseline": [0, 0], "general.casing": [0, 1], "format.yaml": [1, 1], "compound.typos": [1, 1]}
    made = [
        trial
        for kind, bad in kinds.items()
        for trial in trials(((f"i{n}", 0, *shifted(one)) for n, one in enumerate(bad)), kind=kind)
    ]
    (row,) = make_tables(["m"], made, {}).models
    assert row.overall.robustness.value == pytest.approx(0.5)
    assert row.perturbed.robustness.value == pytest.approx(0.25)
    assert row.tasks["t"].robustness.value == pytest.approx(0.5)
    assert row.categories["compound"].robustness.value == 0.0


def test_contrasts_are_sensitivity_and_nothing_else():
    """Three of four answers to another question moved: 0.75; robustness and categories do not know them."""
    made = trials((f"i{n}", 0, *shifted(False)) for n in range(4))
    contrasts = trials(((f"i{n}", 0, *shifted(n < 3)) for n in range(4)), kind="contrast.number")
    (row,) = make_tables(["m"], [*made, *contrasts], {}).models
    assert row.sensitivity.value == pytest.approx(0.75)
    assert row.overall.robustness.value == 1.0
    assert set(row.categories) == {"general"}


def test_shifts_of_unknown_quality_widen_the_interval():
    """All of them changed and none of them changed are both within it."""
    known = trials((f"i{n}", 0, 3, None) for n in range(30))
    unknown = trials((f"i{n}", 0, 1, None) for n in range(30, 40)) + trials([("i40", 0, 1, False)])
    figure = scores([known + unknown]).robustness
    assert figure.value == 1
    assert figure.lower < 1 - 10 / 41
    assert figure.upper == 1


def test_trials_without_a_rating_may_all_have_moved_or_none():
    """30 pairs are the same and the judge failed on 10: any rate up to a quarter is within both intervals."""
    same = trials((f"i{n}", 0, 3, None) for n in range(30))
    failed = [BenchTrial("m", f"i{n}", "t", "general.casing", 0, failure="judge_timeout") for n in range(10)]
    known = scores([same])
    allowed = scores([same + failed])
    assert (allowed.content_delta.value, allowed.content_delta.lower, allowed.content_delta.n) == (0, 0, 30)
    assert allowed.content_delta.upper > 10 / 40 > known.content_delta.upper
    assert allowed.robustness.lower < 1 - 10 / 40 < known.robustness.lower


def test_one_trial_an_issue_gives_the_exact_interval():
    """8 of 20: Clopper and Pearson's for 19 trials, one being lost to the spread that is estimated."""
    from scipy.stats import beta  # noqa: PLC0415 - takes a second of every worker

    group = {f"i{n}": IssueCount(int(n < 8), 1) for n in range(20)}
    lower, upper = interval([group])
    assert lower == pytest.approx(beta.ppf(0.025, 0.4 * 19, 0.6 * 19 + 1))
    assert upper == pytest.approx(beta.ppf(0.975, 0.4 * 19 + 1, 0.6 * 19))


def test_it_covers_the_truth_as_often_as_it_says():
    """Of 300 samples of 20 issues whose trials hang together, 95 % hold the true share, give or take."""
    rng = random.Random(1)
    held = 0
    for _ in range(300):
        group = {}
        for n in range(20):
            rate = rng.betavariate(0.6, 2.4)  # mean 0.2
            group[f"i{n}"] = IssueCount(sum(rng.random() < rate for _ in range(15)), 15)
        lower, upper = interval([group])
        held += lower <= 0.2 <= upper
    assert held / 300 >= 0.92


def test_tables_rank_and_show_how_hard_categories_are():
    """The better model stands first; the drop is that of the means over models."""
    made = []
    for model, bad in (("worse", 2), ("better", 1)):
        made += trials(((f"i{n}", 0, 3, None) for n in range(4)), kind="baseline.identical", model=model)
        made += trials(
            ((f"i{n}", 0, *shifted(n < bad)) for n in range(4)),
            kind="crosslingual.de_to_fr", model=model,
        )  # fmt: skip
    tables = make_tables(["worse", "better"], made, {"worse": [0.5, 1.0]})
    assert [row.model for row in tables.models] == ["better", "worse"]
    # The means of a baseline of 1 with 0.75, and with 0.5.
    assert [row.overall.robustness.value for row in tables.models] == [0.875, 0.75]
    assert [row.perturbed.robustness.value for row in tables.models] == [0.75, 0.5]
    assert [(row.category, row.mean, row.drop) for row in tables.difficulty] == [
        ("baseline", 1, None), ("crosslingual", 0.625, -0.375),
    ]  # fmt: skip
    assert tables.models[1].entities == 0.75

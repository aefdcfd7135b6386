"""Tables of `evenkeel bench` in terminals, and its page's matrices of languages."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from evenkeel.experiments.bench.costs import batches_of, margin, settled
from evenkeel.experiments.bench.heat import matrices
from evenkeel.experiments.bench.layout import Grid, laid_out
from evenkeel.experiments.bench.scores import make_tables
from evenkeel.experiments.bench.trials import Trial

FIGURE = "91.0 ± 0.4\n[88.2, 93.1]"


def printed(grid, width):
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, markup=False)
    tables = list(laid_out(grid, width, "by"))
    for table in tables:
        console.print(table)
    return tables, file.getvalue()


def grid(models, scores):
    rows = tuple((f"model-{number}", (FIGURE,) * scores) for number in range(models))
    return Grid("Title", "model", tuple(f"score {number}" for number in range(scores)), rows)


def test_a_grid_that_fits_is_shown_as_it_is():
    """Models are rows."""
    tables, text = printed(grid(3, 3), 80)
    assert len(tables) == 1
    assert "│ model-2 │" in text


def test_a_grid_that_is_too_wide_is_turned():
    """Ten scores of three models become ten rows."""
    tables, text = printed(grid(3, 10), 80)
    assert len(tables) == 1
    assert "│ score 9 │" in text


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 12), st.integers(60, 160))
def test_no_figure_is_cut_at_any_width(models, scores, width):
    """Each figure and each interval stands there whole, and no line is longer than the terminal."""
    _, text = printed(grid(models, scores), width)
    assert text.count("91.0 ± 0.4") == text.count("[88.2, 93.1]") == models * scores
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text


def test_languages_stand_against_languages():
    """A row for each language of the input, a column for each of the answer; gaps where nothing is."""
    kinds = ("crosslingual.en_to_fr-CA", "crosslingual.de_to_en", "crosslingual.de_to_fr-CA")
    trials = [Trial("m", f"i{item}", "case_summary", kind, 0, 3) for kind in kinds for item in range(2)]
    trials += [Trial("other", "i0", "case_summary", "baseline.identical", 0, 3)]
    (found,) = matrices(make_tables(["m", "other"], trials, {}))
    assert found.model == "m"
    assert found.columns == ("en", "fr-CA")
    assert [name for name, _ in found.rows] == ["en", "de"]
    (_, (gap, _)), (_, (back, _)) = found.rows
    assert gap is None
    assert back.score == "100.0"


def test_batches_are_a_twentieth_and_at_least_two():
    """Sixty issues make batches of three, five ones of two."""
    assert [len(batch) for batch in batches_of(range(60))] == [3] * 20
    assert [len(batch) for batch in batches_of(range(5))] == [2, 2, 1]


def test_costs_are_settled_once_they_are_known_to_a_tenth():
    """1.96 · stdev / √n · (1 − done) / mean: 1.96 · 0.1 / √3 · 0.85 = 0.0962 for 0.9, 1.0, 1.1."""
    assert abs(margin([0.9, 1.0, 1.1], 0.15) - 0.0962) < 1e-4
    assert settled([0.9, 1.0, 1.1], 0.15)
    assert not settled([1.0, 1.0], 0.1)
    assert not settled([0.8, 1.0, 1.2], 0.15)
    assert margin([1.0], 0.1) == 0.9
    assert margin([0.0, 0.0], 0.5) == 0.5

"""The heatmap: its columns, rows and cells, pairs of languages, and words for scorers."""

from __future__ import annotations

import pytest

from evenkeel.console.heatmap import BANDS, heatmap, language_matrices
from evenkeel.core.rewordings import language_pair, pair_label
from evenkeel.core.verdict import BASELINE
from tests.kit.records import altered

NOW = 1_786_544_400.0


@pytest.mark.parametrize(
    ("moved", "index"),
    [(0.0, 0), (0.14, 0), (0.1448, 1), (0.19, 1), (0.24, 2), (0.44, 6), (0.45, 7), (1.0, 7)],
)
def test_the_colour_follows_the_points_above_noise(make_cell, moved, index):
    """With a noise floor of 4 points, ten points above it are calm yet, and more than forty the loudest."""
    report = make_cell("r", "m", "general.spelling", moved=moved, trials=5000)
    (row,) = heatmap([report]).rows
    assert row.cells[0].band == index
    assert [BANDS[0].label, BANDS[1].label, BANDS[7].label] == ["≤ 10", "10–15", "> 40"]


def test_noise_floor_is_the_first_column(make_cell):
    """Columns are grouped by category, the baseline first."""
    reports = [
        make_cell("r", "m", name) for name in ("general.casing", "format.json", BASELINE, "general.spelling")
    ]
    table = heatmap(reports)
    assert [column.label for column in table.columns] == ["noise floor", "spelling", "casing", "json"]
    assert list(table.groups) == [
        ("baseline", 1),
        ("general", 2),
        ("format", 1),
    ]
    assert [column.first_of_group for column in table.columns] == [False, True, False, True]


def test_a_cell_shows_points_interval_and_trials(make_cell):
    """Content moved in 40 % of the trials and in 4 % of the controls: 36 points above noise."""
    report = make_cell("r", "m", "general.spelling", moved=0.4, quality=0.5, trials=200, alert=True)
    (row,) = heatmap([report]).rows
    cell = row.cells[0]
    assert (cell.band, round(cell.measure.value, 2), cell.alert) == (6, 0.36, True)
    detail = " / ".join(cell.detail(30))
    for part in (
        "36 [31,\u00a041] points above noise in 200 trials, limit 10",
        "noise floor 4",
        "content changed in 40",
        "quality changed in 50",
        "part of an open incident",
    ):
        assert part in detail


def test_a_cell_below_the_minimum_shows_its_progress(make_cell):
    """Twelve of thirty trials give no number."""
    (row,) = heatmap([make_cell("r", "m", "general.spelling", trials=12)]).rows
    assert row.cells[0].band is None
    assert "collecting: 12 of 30 trials" in row.cells[0].detail(30)


def test_models_no_longer_answering_are_named_and_not_shown(make_cell):
    """After a swap only the new model has a row; the others are said with their last trial."""
    reports = [
        altered(make_cell("r", "aaa-old", BASELINE, at=NOW - 1500), retired=True),
        make_cell("r", "zzz-new", BASELINE, at=NOW - 2),
        altered(make_cell("r", "older", BASELINE, at=NOW - 9000), retired=True),
    ]
    table = heatmap(reports)
    assert [row.model for row in table.rows] == ["zzz-new"]
    assert table.retired == (("r", "aaa-old", NOW - 1500), ("r", "older", NOW - 9000))


def test_two_models_sharing_a_route_are_both_live(make_cell):
    """Models that answer in turns keep their place, whichever was last."""
    turn = [make_cell("r", "a", BASELINE, at=NOW - 30), make_cell("r", "b", BASELINE, at=NOW)]
    other = [make_cell("r", "a", BASELINE, at=NOW), make_cell("r", "b", BASELINE, at=NOW - 30)]
    for reports in (turn, other):
        assert [row.model for row in heatmap(reports).rows] == ["a", "b"]


LANGUAGES = ("de", "en", "fr-CA")


def _pairs(make_cell, *, alert=None, collecting=None):
    return [
        make_cell(
            "shop",
            "m-1",
            f"crosslingual.{one}_to_{other}",
            moved=0.3 if (one, other) == ("en", "fr-CA") else 0.1,
            trials=4 if (one, other) == collecting else 200,
            alert=(one, other) == alert,
            at=NOW,
        )
        for one in LANGUAGES
        for other in LANGUAGES
        if one != other
    ]


def test_a_pair_of_languages_is_read_from_its_name():
    """Only of crosslingual kinds."""
    assert language_pair("crosslingual.fr-CA_to_de") == ("fr-CA", "de")
    assert language_pair("crosslingual.other") is None
    assert language_pair("multilingual.de_to_en") is None
    assert pair_label("crosslingual.de_to_ja") == "de → ja"
    assert pair_label("general.spelling") == "spelling"


def test_many_pairs_share_one_column_with_the_furthest(make_cell):
    """Six pairs: the cell is the pair furthest above noise and leads to the matrix."""
    heat = heatmap([*_pairs(make_cell), make_cell("shop", "m-1", "general.spelling", at=NOW)])
    assert [column.label for column in heat.columns] == ["spelling", "furthest pair"]
    cell = heat.rows[0].cells[1]
    assert pair_label(cell.report.key.perturbation) == "en → fr-CA"
    assert cell.href == "/routes/shop#languages"
    assert cell.detail(30)[0] == "furthest above noise of 6 pairs of languages"


def test_an_alert_among_the_pairs_is_never_hidden(make_cell):
    """A pair that alerts is shown before one that is lower, and flags the column."""
    heat = heatmap(_pairs(make_cell, alert=("de", "en")))
    cell = heat.rows[0].cells[0]
    assert cell.alert
    assert pair_label(cell.report.key.perturbation) == "de → en"


def test_the_matrix_has_prompts_down_and_answers_across(make_cell):
    """English first; the diagonal is empty, a young pair shows its progress."""
    (matrix,) = language_matrices(_pairs(make_cell, collecting=("fr-CA", "de")))
    assert matrix.languages == ("en", "de", "fr-CA")
    assert [language for language, _ in matrix.rows] == ["en", "de", "fr-CA"]
    english, german, french = (cells for _, cells in matrix.rows)
    assert english[0] is None
    assert english[2].label == "en → fr-CA"
    assert english[2].measure.value > german[2].measure.value
    assert (french[1].band, french[1].report.counts.trials) == (None, 4)

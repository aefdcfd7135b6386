from __future__ import annotations

from evenkeel.console.heatmap import heatmap, language_matrices
from evenkeel.core.rewordings import language_pair, pair_label

NOW = 1_786_544_400.0
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


def test_many_pairs_share_one_column_with_the_lowest(make_cell):
    """Six pairs: the cell is the pair with the lowest robustness and leads to the matrix."""
    heat = heatmap([*_pairs(make_cell), make_cell("shop", "m-1", "general.spelling", at=NOW)])
    assert [column.label for column in heat.columns] == ["spelling", "lowest pair"]
    cell = heat.rows[0].cells[1]
    assert pair_label(cell.report.key.perturbation) == "en → fr-CA"
    assert cell.href == "/routes/shop#languages"
    assert cell.detail(30)[0] == "lowest of 6 pairs of languages"


def test_an_alert_among_the_pairs_is_never_hidden(make_cell):
    """A pair that alerts is shown before one that is lower, and flags the column."""
    heat = heatmap(_pairs(make_cell, alert=("de", "en")))
    cell = heat.rows[0].cells[0]
    assert cell.alert
    assert pair_label(cell.report.key.perturbation) == "de → en"


def test_a_few_pairs_keep_their_columns(make_cell):
    """Four pairs are no strip yet."""
    heat = heatmap(_pairs(make_cell)[:4])
    assert [column.label for column in heat.columns] == ["de to en", "de to fr-CA", "en to de", "en to fr-CA"]
    assert language_matrices(_pairs(make_cell)[:4]) == ()


def test_the_matrix_has_prompts_down_and_answers_across(make_cell):
    """English first; the diagonal is empty, a young pair shows its progress."""
    (matrix,) = language_matrices(_pairs(make_cell, collecting=("fr-CA", "de")))
    assert matrix.languages == ("en", "de", "fr-CA")
    assert [language for language, _ in matrix.rows] == ["en", "de", "fr-CA"]
    english, german, french = (cells for _, cells in matrix.rows)
    assert english[0] is None
    assert english[2].label == "en → fr-CA"
    assert english[2].report.robustness.value < german[2].report.robustness.value
    assert (french[1].band, french[1].report.trials) == (None, 4)


def test_matrices_with_alerts_come_first(make_cell):
    """Routes are in order of their names otherwise."""
    quiet = [make_cell("a", "m", report.key.perturbation, at=NOW) for report in _pairs(make_cell)]
    loud = _pairs(make_cell, alert=("en", "de"))
    matrices = language_matrices([*quiet, *loud])
    assert [(matrix.route, matrix.alerts) for matrix in matrices] == [("shop", 1), ("a", 0)]

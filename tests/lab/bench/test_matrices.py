"""Matrices of languages of `evenkeel bench`."""

from __future__ import annotations

from evenkeel.lab.bench.report import matrices
from evenkeel.lab.bench.scores import make_tables
from evenkeel.lab.bench.trials import Trial


def test_languages_stand_against_languages():
    """A row for each language of the input, a column for each of the answer; gaps where nothing is."""
    kinds = ("crosslingual.en_to_fr-CA", "crosslingual.de_to_en", "crosslingual.de_to_fr-CA")
    trials = [Trial("m", f"i{item}", "case_summary", kind, 0, 3) for kind in kinds for item in range(2)]
    trials += [Trial("other", "i0", "case_summary", "baseline.identical", 0, 3)]
    (found,) = matrices(make_tables(["m", "other"], trials, {})).blocks
    assert found.title == "m"
    assert [column.name for column in found.columns] == ["Input", "en", "fr-CA"]
    (first, gap, _), (second, back, _) = found.rows
    assert (first, gap, second, back.text) == ("en", None, "de", "100.0")

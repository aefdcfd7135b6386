"""Matrices of languages of `evenkeel bench`, and how its costs settle."""

from __future__ import annotations

from evenkeel.core.budget import Spend
from evenkeel.lab.bench.costs import Measured, batches_of, margin, settled
from evenkeel.lab.bench.report import matrices
from evenkeel.lab.bench.scores import make_tables
from evenkeel.lab.bench.trials import Trial
from evenkeel.stores.sqlite.database import Database


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


def test_spending_of_killed_runs_adds_up(tmp_path):
    """What one process booked another finds, by payee, and no other plan's."""
    for _ in range(2):
        database = Database(tmp_path / "journal")
        Measured(database).add_spent("plan", {"m": Spend(10, 0.25), "the judge": Spend(0, 0.0)})
        database.close()
    database = Database(tmp_path / "journal")
    known = Measured(database)
    assert known.spent("plan") == {"m": Spend(20, 0.5)}
    assert known.spent("other") == {}
    assert known.estimate_usd("plan") is None
    known.put("plan", {"m": 1.5}, 0.75)
    assert known.estimate_usd("plan") == 0.75
    assert known.get("plan") == {"m": 1.5}
    database.close()

"""Trials of an exchange and their weights, with answers that move as a script says."""

import random
from collections import defaultdict
from types import SimpleNamespace

import pytest

from evenkeel.core.verdict import BASELINE, Control, Scoring, Selection, Verdict
from evenkeel.shadow.exchange_trial import ExchangeTrial
from evenkeel.shadow.perturbations import NotApplicable, by_name
from evenkeel.shadow.perturbations.compound import Together
from evenkeel.shadow.perturbations.contrast import CONTRASTS
from evenkeel.shadow.planner import CellNeed, Needs, RoutePlan

KINDS = by_name([f"general.{kind}" for kind in ("casing", "spelling", "tone")])
NAMES = [kind.name for kind in KINDS]
GROUP = "together.3_general"
MASKING = {"general.casing", "general.spelling"}
"""Each moves a third of the answers alone; together they cancel."""
NOISE = 0.03


class ScriptedTrials:
    """Moves answers as an exchange's draws say; all of it is written down."""

    def __init__(self):
        self.made = []

    def make(self, original, trial):
        verdict = Verdict(
            *(trial.id, original.exchange.id, 0.0, "default", "m", trial.perturbation.name, 1),
            *(trial.severity, trial.seed, Scoring("metrics"), 1 if moved(original.exchange.id, trial) else 3),
            control=Control(3),
            selection=Selection(path_weight=trial.path_weight, split_of=trial.split_of),
        )
        self.made.append(verdict)
        return verdict


def moved(exchange_id, trial):
    """Return whether the answer to a variant moves; an exchange has the same draws for every trial."""
    name = trial.perturbation.name
    if name == BASELINE:
        return False
    if random.Random(f"{exchange_id}/{trial.id}/noise").random() < NOISE:
        return True
    kinds = trial.perturbation.kinds if isinstance(trial.perturbation, Together) else [trial.perturbation]
    names = {kind.name for kind in kinds}
    return bool(names & alone(exchange_id) - (MASKING if names >= MASKING else set()))


def alone(exchange_id):
    chance = random.Random(f"{exchange_id}/moves")
    rates = {name: 1 / 3 if name in MASKING else 0.02 * place for place, name in enumerate(NAMES)}
    both = chance.random() < rates["general.casing"]
    found = {name for name in NAMES if name not in MASKING and chance.random() < rates[name]}
    return found | (MASKING if both else set())


def needs(**changed):
    cells = {name: CellNeed(500, 30, 0.1) for name in (BASELINE, GROUP, *NAMES)}
    return Needs(cells | changed)


def tried(count, trials, known=None, *, rate=0.125, refused=()):
    """Try so many exchanges; returns how many verdicts each has, None for those left out."""
    route = RoutePlan(KINDS, 2, settled_rate=rate)
    came = []
    for number in range(count):
        exchange = SimpleNamespace(id=f"{number:016x}", route="default")
        original = SimpleNamespace(exchange=exchange, route=route, view=SimpleNamespace(typed=()))
        state = ExchangeTrial(
            original,
            known or needs(),
            outcome=lambda trial: (
                NotApplicable("no_input") if trial.perturbation.name in refused else object()
            ),
        )
        planned = state.first()
        for decide in (lambda planned=planned: planned or [], state.follow):
            for run in decide():
                verdict = trials.make(original, run.trial)
                state.verdicts[verdict.id] = verdict
        came.append(None if planned is None else len(state.verdicts))
    return came


def test_a_model_that_is_new_gets_the_uniform_plan():
    """A resend and two rewordings of every exchange."""
    trials = ScriptedTrials()
    assert tried(5, trials, Needs()) == [3] * 5
    assert {verdict.weight for verdict in trials.made} == {1.0}


def test_settled_exchanges_are_left_out_and_counted():
    """An eighth is tried: a resend, the group, and now and then what follows."""
    came = tried(400, ScriptedTrials())
    assert set(came) >= {None, 2}
    assert 25 < sum(count is not None for count in came) < 80


@pytest.mark.parametrize(
    ("known", "rate"),
    [
        (Needs({GROUP: CellNeed(500, 30)}, urgent=True), 0.125),
        (Needs({GROUP: CellNeed(500, 30), "general.casing": CellNeed(500, 30, suspicion=6.0)}), 1.0),
    ],
)
def test_estimates_by_weight_are_unbiased(known, rate):
    """Rewordings that mask each other are estimated too: their group holds, only drawn trials see them.

    The weighted mean of each is its true share within 4.5 standard errors; the plain mean of split ones is
    far off, because they are tried where the group moved.
    """
    trials = ScriptedTrials()
    count = 2_000
    tried(count, trials, needs(**known.cells)._replace(urgent=known.urgent), rate=rate)
    sums = defaultdict(list)
    for verdict in trials.made:
        sums[verdict.perturbation].append((verdict.weight, verdict.shifted))
    for name in NAMES:
        truth = sum(name in alone(f"{number:016x}") for number in range(count)) / count
        truth += (1 - truth) * NOISE
        found = sums[name]
        total = sum(weight for weight, _ in found)
        mean = sum(weight * hit for weight, hit in found) / total
        error = sum((weight * (hit - mean)) ** 2 for weight, hit in found) ** 0.5 / total
        assert mean == pytest.approx(truth, abs=4.5 * error + 1e-9)
        assert error < 0.1
    plain = [hit for weight, hit in sums["general.tone"] if weight < 1]
    assert sum(plain) / len(plain) > 0.25


def test_a_group_that_moved_is_split():
    """All its rewordings are tried after a change; of a group that held, only drawn ones."""
    trials = ScriptedTrials()
    tried(300, trials, needs()._replace(urgent=True))
    by_exchange = defaultdict(dict)
    for verdict in trials.made:
        by_exchange[verdict.exchange_id][verdict.perturbation] = verdict
    splits = drawn = 0
    for made in by_exchange.values():
        group = made[GROUP]
        if group.shifted:
            assert {made[name].selection.path_weight for name in NAMES} == {1 / 4}
            splits += sum(made[name].selection.split_of == group.id for name in NAMES)
        else:
            single = [made[name] for name in NAMES if name in made]
            assert [(verdict.selection.path_weight, verdict.selection.split_of) for verdict in single] in (
                [],
                [(1.0, "")],
            )
            drawn += len(single)
    assert splits > 20
    assert drawn > 30


def test_a_root_that_does_not_apply_costs_nothing():
    """The root has no baseline yet; an exchange that chance draws still gets its resend."""
    trials = ScriptedTrials()
    came = tried(400, trials, needs(**{GROUP: CellNeed(0, 30)}), refused={GROUP})
    assert 0 < len(trials.made) < 100
    assert came.count(None) > 300


def test_the_parts_of_a_group_choose_as_they_do_alone():
    """A split rewording has the seed that it had in the group."""
    trials = ScriptedTrials()
    tried(40, trials, needs()._replace(urgent=True))
    seeds = {(verdict.exchange_id, verdict.perturbation): verdict.seed for verdict in trials.made}
    for (exchange, name), seed in seeds.items():
        if name in NAMES:
            kind = next(kind for kind in KINDS if kind.name == name)
            assert Together(KINDS).seed_of(kind, seeds[exchange, GROUP]) == seed


def test_few_exchanges_get_a_contrast_besides_their_rewordings():
    """A contrast takes no reworded trial's place, and a second delivery makes none again."""
    route = RoutePlan(KINDS, 2, contrasts=CONTRASTS)
    trials, drawn = ScriptedTrials(), 0
    for number in range(400):
        exchange = SimpleNamespace(id=f"{number:016x}", route="default")
        view = SimpleNamespace(typed=("Which plan fits?",))
        original = SimpleNamespace(exchange=exchange, route=route, view=view)
        state = ExchangeTrial(original, Needs(), outcome=lambda _: object())
        names = [run.trial.perturbation.name for run in state.first()]
        contrasts = [name for name in names if name.startswith("contrast.")]
        assert len(names) - len(contrasts) == 3
        assert len(contrasts) <= 1
        drawn += len(contrasts)
        made = [trials.make(original, run.trial) for run in state.first()]
        again = ExchangeTrial(original, Needs(), made, outcome=lambda _: object())
        assert again.first() == []
    assert 8 <= drawn <= 36

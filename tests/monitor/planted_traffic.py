"""Verdicts as two workers write them: routes, models, prompts, failures, a rewording that gets fragile."""

import random
from functools import cache

from evenkeel.core.verdict import BASELINE, JUDGED_AGAIN, Failure, QualityScore
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

WORSE = {"rating": 1, "quality": (QualityScore("faithfulness", 1, 3, 1),)}


def log_of(*verdicts):
    """A log of these verdicts, each with an id of its own."""
    return [
        LoggedVerdict(place, altered(verdict, id=f"v{place}")) for place, verdict in enumerate(verdicts, 1)
    ]


@cache
def traffic(exchanges, seed):
    """Exchanges of a resend and up to three trials, two at a time, with clocks that jump.

    Halfway other models begin to answer, and spelling begins to make most answers worse.
    """
    choice = random.Random(seed)
    verdicts = []
    for number in range(exchanges):
        late = number > exchanges / 2
        here = altered(
            VERDICT,
            exchange_id=f"e{number}",
            route=choice.choice(["chat", "chat", "billing"]),
            model=choice.choice(["n", "n", "n", "n", "m", "o", "p"]) if late else "m",
            client=choice.choice("ab"),
            prompt_version="v2" if number > exchanges * 0.7 else choice.choice([None, "v1"]),
        )
        base = choice.choice([3, 3, 3, 3, 3, 2, None])
        at = number * 90 + choice.choice([0.0, 0.0, 0.0, 1e7, -4000.0])
        own = [] if base is None else [altered(here, perturbation=BASELINE, rating=base, control_rating=None)]
        kinds = ["general.spelling", "general.casing", "positional.mixed"]
        for kind in choice.sample(kinds, choice.randint(1, 3)):
            again = {JUDGED_AGAIN: float(choice.choice([1, 3]))} if choice.random() < 0.3 else {}
            trial = altered(here, perturbation=kind, control_rating=base, details=again)
            if choice.random() < 0.1:
                failure = Failure("replay", 1, choice.choice(["timeout", "refused"]))
                trial = altered(trial, rating=None, failure=failure)
            elif choice.random() < (0.9 if late and kind == "general.spelling" else 0.2):
                trial = altered(trial, **WORSE)
            own.append(trial)
        verdicts += [altered(verdict, scored_at=at + place) for place, verdict in enumerate(own)]
    for place in range(0, len(verdicts) - 3, 4):
        verdicts[place + 1], verdicts[place + 2] = verdicts[place + 2], verdicts[place + 1]
    return log_of(*verdicts)

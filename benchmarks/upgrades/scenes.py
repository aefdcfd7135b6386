"""Two weeks of a route's traffic, answered from recordings, in which the version changes once or never.

An endpoint draws every answer by chance among the samples that a version has for a prompt, the traffic's and
those that a detector asks for alike. So while nothing changes, all answers to a prompt have the same
distribution, whoever asked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from benchmarks.upgrades import noise, recordings
from evenkeel.llm.price import Prices, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.upgrades.noise import Noise
    from benchmarks.upgrades.recordings import Collection, Prompt

DAY_S: Final = 86_400.0
DAYS: Final = 14
REQUESTS: Final = 5_000
"""Sampled requests of the two weeks, 357 a day."""
START: Final = 1_700_006_400.0
"""Midnight."""
PRICED_AS: Final = "gpt-4.1-mini"
"""At whose list price every extra call is counted, whatever model was recorded."""
_SAMPLES: Final = 8
"""Reruns that are planted for each prompt and version."""
_FIRST_CHANGE: Final = 3.0
"""Days before a change at least; it comes at any hour of the day after."""

Hostile = Literal["", "mix", "prompt stated", "prompt unstated", "day and night", "bursts", "blocks"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is played."""

    name: str
    collection: Callable[[], Collection]
    before: str
    """Version that answers."""
    after: str = ""
    """Version that answers from the change on; "" = none does."""
    noise: Callable[[], Noise] | None = None
    """Planted on the one answer that was recorded; None = several were recorded."""
    least: int = 1
    """Recorded answers that a prompt needs of each version."""
    hostile: Hostile = ""
    """What the application or its users do, which is no change of the provider's."""
    tasks: tuple[str, str] = ("", "")
    """Tasks asked before and after the application's own change; ("", "") = all, always."""

    @property
    def changes(self) -> bool:
        """Whether the provider changes the version."""
        return bool(self.after)

    def scene(self, seed: int) -> Scene:
        """Play it.

        Raises: NoDataError if the recordings are not here.
        """
        return Scene(self, seed)


class Request(NamedTuple):
    """A request of the traffic and its answer."""

    at: float
    """Unix time in seconds."""
    place: int
    """Of its prompt in the collection."""
    answer: str
    stated: str
    """Prompt version as the application states it, "" if it does not."""
    burst: int = 0
    """Number of the burst that it belongs to; 0 = none."""


@dataclass(slots=True)
class Endpoint:
    """Answers as a model would, at the version of the hour; counts what it is asked beyond the traffic."""

    scenario: Scenario
    seed: int
    change_at: float
    calls: int = 0
    usd: float = 0.0
    call_times: list[float] = field(default_factory=list)
    _asked: Counter[int] = field(default_factory=Counter)

    def version(self, at: float) -> str:
        """The version that answers at a time."""
        after = self.scenario.after
        return after if after and at >= self.change_at else self.scenario.before

    def answer(self, place: int, at: float, chance: Random) -> str:
        """What the traffic gets."""
        return chance.choice(_samples(self.scenario, self.version(at), place))

    def ask(self, place: int, at: float) -> str:
        """What a detector gets that asks, at its cost. Times must not fall."""
        self._asked[place] += 1
        said = self.answer(place, at, Random(f"{self.seed}/{place}/{self._asked[place]}"))
        prompt = self.scenario.collection().prompts[place].text
        self.calls += 1
        self.usd += Prices().usd(PRICED_AS, estimate_tokens(prompt), estimate_tokens(said))
        self.call_times.append(at)
        return said

    def calls_between(self, start: float, end: float) -> int:
        """Extra calls in (start, end]."""
        return bisect_right(self.call_times, end) - bisect_right(self.call_times, start)


class Scene:
    """One play of a scenario: its requests in order, and its endpoint."""

    def __init__(self, scenario: Scenario, seed: int, requests: int = REQUESTS) -> None:
        self.scenario = scenario
        self.seed = seed
        self.collection = scenario.collection()
        chance = Random(f"{scenario.name}/{seed}")
        moment = START + DAY_S * (_FIRST_CHANGE + chance.random())
        self.change_at = moment
        """When the provider, or the application, changes something; beyond the end if nothing does."""
        self.endpoint = Endpoint(scenario, seed, moment)
        self.requests = tuple(self._requests(chance, requests))

    def prompt(self, place: int) -> Prompt:
        """The prompt at a place."""
        return self.collection.prompts[place]

    @property
    def end(self) -> float:
        """Unix time in seconds."""
        return START + DAYS * DAY_S

    def until(self, at: float) -> int:
        """Requests from the change to a time."""
        times = [request.at for request in self.requests]
        return bisect_right(times, at) - bisect_right(times, self.change_at)

    def _requests(self, chance: Random, count: int) -> Iterator[Request]:
        times = sorted(START + DAYS * DAY_S * chance.random() for _ in range(count))
        draw = Draw(self, chance)
        for number, at in enumerate(times):
            place, burst = draw.next(number, at)
            stated = ""
            if self.scenario.hostile == "prompt stated":
                stated = "2" if at >= self.change_at else "1"
            burst_answer = draw.burst_answer if burst else None
            answer = burst_answer or self.endpoint.answer(place, at, chance)
            if burst:
                draw.burst_answer = answer
            yield Request(at, place, answer, stated, burst)


class Draw:
    """Which prompt comes next."""

    def __init__(self, scene: Scene, chance: Random) -> None:
        scenario = scene.scenario
        self.hostile = scenario.hostile
        self.change_at = scene.change_at
        self.chance = chance
        self.burst_answer: str | None = None
        self._burst = self._left = self._place = 0
        self._block = ""
        versions = [version for version in (scenario.before, scenario.after) if version]
        by_task: defaultdict[str, list[int]] = defaultdict(list)
        for place in scene.collection.answered(*versions, least=scenario.least):
            by_task[scene.prompt(place).task].append(place)
        self.places = dict(by_task)
        self.tasks = sorted(self.places)
        self.own = scenario.tasks

    def next(self, number: int, at: float) -> tuple[int, int]:
        """The place of the next prompt, and the burst that it belongs to."""
        if self.hostile == "bursts":
            return self._in_burst()
        return self.chance.choice(self.places[self._task(number, at)]), 0

    def _task(self, number: int, at: float) -> str:
        changed = at >= self.change_at
        if any(self.own):
            return self.own[changed]
        match self.hostile:
            case "mix" if changed:
                return self.tasks[-1] if self.chance.random() < _MIXED else self.chance.choice(self.tasks)
            case "day and night":
                day = (at - START) % DAY_S / DAY_S
                half = len(self.tasks) // 2
                by_day = 1 / 3 < day < 5 / 6
                most = self.tasks[:half] if by_day else self.tasks[half:]
                return self.chance.choice(most if self.chance.random() < _MIXED else self.tasks)
            case "blocks":
                if number % _BLOCK == 0:
                    self._block = self.chance.choice(self.tasks)
                return self._block
            case _:
                return self.chance.choice(self.tasks)

    def _in_burst(self) -> tuple[int, int]:
        """A fifth of the requests come in bursts of twenty to one prompt that get one answer."""
        if self._left:
            self._left -= 1
            return self._place, self._burst
        place = self.chance.choice(self.places[self.chance.choice(self.tasks)])
        if self.chance.random() < _BURSTS:
            self._burst, self._left, self._place = self._burst + 1, _BURST - 1, place
            self.burst_answer = None
            return place, self._burst
        return place, 0


_MIXED: Final = 0.8
"""Share of the requests that go to the favoured tasks."""
_BLOCK: Final = 100
_BURST: Final = 20
_BURSTS: Final = 0.0125
"""Chance that a request opens a burst: one of 20 for 80 others."""


@cache
def _planted(
    collection: Callable[[], Collection], planted: Callable[[], Noise], version: str, place: int
) -> tuple[str, ...]:
    found = collection()
    others = _of_task(collection, version, found.prompts[place].task)
    chance = Random(f"{version}/{place}")
    recorded = found.answers[version][place][0]
    return tuple(planted().rerun(recorded, others, chance) for _ in range(_SAMPLES))


@cache
def _of_task(collection: Callable[[], Collection], version: str, task: str) -> tuple[str, ...]:
    found = collection()
    return tuple(
        answers[0]
        for place, answers in found.answers[version].items()
        if answers and found.prompts[place].task == task
    )


def _samples(scenario: Scenario, version: str, place: int) -> Sequence[str]:
    if scenario.noise is None:
        return scenario.collection().answers[version][place]
    return _planted(scenario.collection, scenario.noise, version, place)


def _upgrades(name: str, planted: Callable[[], Noise]) -> tuple[Scenario, ...]:
    models = (("gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613"), ("gpt-4-0314", "gpt-4-0613"))
    return tuple(
        Scenario(f"llm_drift {before} → {after}{name}", recordings.llm_drift, before, after, planted)
        for old, new in models
        for before, after in ((old, new), (new, old))
    )


def _conditions() -> Iterator[Scenario]:
    for before, after in (
        ("0", "grice"),
        ("0", "answ_schema"),
        ("schema", "str_chomsky"),
        ("no_ling", "chomsky"),
    ):
        yield Scenario(
            f"llm_stability {before} → {after}", recordings.conditions, before, after, least=2
        )  # fmt: skip


_PBSS: Final = ("gpt-3.5-turbo", "openchat-3.5-1210", "mistralai_Mistral-7B-Instruct-v0.2")
_SURVIVORS: Final = (
    ("llama3-70b", "gpt-4o_OAI"),
    ("gpt-35_OAI", "llama3-70b"),
    ("llama3-8b", "gemini_15_pro"),
)
_SONNET: Final = ("claude-3-opus-20240229", "claude-3-5-sonnet-20240620")

UPGRADES: Final = _upgrades("", noise.reruns)
"""The four that the issue names."""
HOT: Final = _upgrades(", noise of temperature 0.7", noise.hot)
CONDITIONS: Final = tuple(_conditions())
SWAPS: Final = (
    *(
        Scenario(f"pbss {before} → {after}", recordings.pbss, before, after, least=2)
        for before, after in zip(_PBSS, (*_PBSS[1:], _PBSS[0]), strict=True)
    ),
    *(
        Scenario(f"survivors {before} → {after}", recordings.survivors, before, after, least=2)
        for before, after in _SURVIVORS
    ),
    Scenario(f"mt_bench {_SONNET[0]} → {_SONNET[1]}", recordings.mt_bench, *_SONNET, noise.reruns),
)
QUIET: Final = (
    *(
        Scenario(f"A/A llm_drift {model}", recordings.llm_drift, model, noise=noise.reruns)
        for model in ("gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613", "gpt-4-0314", "gpt-4-0613")
    ),
    Scenario(
        "A/A llm_drift gpt-4-0613, noise of temperature 0.7",
        recordings.llm_drift,
        "gpt-4-0613",
        noise=noise.hot,
    ),
    Scenario("A/A llm_stability 0", recordings.conditions, "0", least=2),
    Scenario("A/A pbss gpt-3.5-turbo", recordings.pbss, "gpt-3.5-turbo", least=2),
    Scenario("A/A survivors llama3-70b", recordings.survivors, "llama3-70b", least=2),
)
HOSTILE: Final = (
    *(
        Scenario(
            f"hostile: {hostile}", recordings.llm_drift, "gpt-4-0314", noise=noise.reruns, hostile=hostile
        )
        for hostile in ("mix", "day and night", "bursts", "blocks")
    ),
    *(
        Scenario(
            f"hostile: {hostile}",
            recordings.conditions_asked,
            "gpt-4o_OAI",
            least=2,
            hostile=hostile,
            tasks=("0", "grice"),
        )
        for hostile in ("prompt stated", "prompt unstated")
    ),
)  # fmt: skip
FAMILIES: Final[dict[str, tuple[Scenario, ...]]] = {
    "upgrades of GPT-3.5 and GPT-4, and back": UPGRADES,
    "the same at the noise of temperature 0.7": HOT,
    "prompt conditions as versions": CONDITIONS,
    "another model": SWAPS,
    "nothing changes": QUIET,
    **{one.name.removeprefix("hostile: "): (one,) for one in HOSTILE},
}
"""By what tables call them."""
SCENARIOS: Final = tuple(one for family in FAMILIES.values() for one in family)

"""Challengers: candidates that answer a share of a route's requests beside its model, in the background."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

ID_LENGTH: Final = 12
CHALLENGERS: Final = "challengers"
"""Name under which the ledger books all challengers, which have a share of the budget of their own."""

WORSE_POINTS: Final = 3.0
"""Margin of net losses, in points, unless the team gives another."""
FRAGILE_POINTS: Final = 10.0
"""Margin of the difference in fragility, in points, unless the team gives another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """A candidate on one route, and how it is tried."""

    route: str
    model: str
    """Model that is asked; "" = the one of the request, if only the prompt differs."""
    upstream: str = ""
    """Base URL that is asked; "" = the route's own."""
    key_env: str = ""
    """Variable with the key for that upstream; "" = none. The route's own upstream gets the route's key."""
    key_header: str = "authorization"
    prompt: str = ""
    """Text of the system prompt that replaces the request's; "" = the request's own."""
    share: float = 0.02
    """Share of the route's requests that are asked, in (0, 1]; no more than are sampled."""
    worse: float = WORSE_POINTS
    """Net losses, in points, up to which it may take over, in (0, 100)."""
    fragile: float = FRAGILE_POINTS
    """Points by which it may be more fragile than the incumbent, in (0, 100)."""
    started_at: float = 0.0
    """Unix time in seconds."""
    stopped_at: float | None = None
    """Unix time in seconds; None while it runs."""
    told: str = ""
    """Last decision that was sent as a message; "" before the first."""
    from_settings: bool = False
    """True if the settings file defines it, so that it ends when it leaves the file."""

    @property
    def id(self) -> str:
        """Return a name that is the same for the same candidate on the same route."""
        # Share and margins are left out: they may change while the same candidate goes on.
        named = f"{self.route}\0{self.model}\0{self.upstream}\0{self.prompt}"
        return sha256(named.encode()).hexdigest()[:ID_LENGTH]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeAnswer:
    """Facts of one answer of a pair, without its text."""

    failure: str = ""
    """Reason why there is no answer; "" if there is one."""
    valid: bool = True
    """False if it ignores the format or the language asked for."""
    empty: bool = False
    refusal: bool = False
    characters: int = 0
    tool_calls: tuple[str, ...] = ()
    """Names of the tools that it calls, in order."""
    first_s: float | None = None
    """Seconds until its first token; None where the answer was not streamed."""
    total_s: float | None = None
    """Seconds until the whole answer was there."""
    prompt_tokens: int | None = None
    """Tokens of the prompt, those from a cache among them."""
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    dollars: float | None = None
    """Price of the request, with what the cache saved; None if no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeRewording:
    """The same rewording put to both, and both asked again; None = not known."""

    perturbation: str
    incumbent_moved: bool | None = None
    """True if the incumbent's answer to it differs in content from the one that was served."""
    incumbent_resend_moved: bool | None = None
    """True if the incumbent's second answer to the unchanged request differs from the one that was served."""
    candidate_moved: bool | None = None
    """True if the candidate's answer to it differs from the candidate's answer to the unchanged request."""
    candidate_resend_moved: bool | None = None
    """True if the candidate's second answer to the unchanged request differs from its first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengePair:
    """Request with three answers: served, the incumbent's asked again, and the candidate's."""

    challenge: str
    """Id of the challenge."""
    exchange: str
    time: float
    """Unix time in seconds of the request."""
    client: str = ""
    task: str = ""
    language: str = ""
    length: str = ""
    """Class of the prompt's length."""
    prompt_version: str = ""
    served: ChallengeAnswer
    again: ChallengeAnswer
    candidate: ChallengeAnswer
    judged: bool = False
    """True if there was a judge; without one only contents are compared."""
    rating: int | None = None
    """Rating of the candidate's content against the served answer's, 1 to 3; None if it is not known."""
    control_rating: int | None = None
    """The same of the incumbent asked again."""
    preference: int | None = None
    """The judge's place of the candidate's answer against the served one: −1 worse, 0 as good, 1 better."""
    control_preference: int | None = None
    both_orders: tuple[int, int] | None = None
    """The same place asked in both orders, for the pairs where that was done."""
    rewording: ChallengeRewording | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeTexts:
    """Texts of a pair, for people who look at it or say which answer is better."""

    challenge: str
    exchange: str
    time: float
    """Unix time in seconds of the request."""
    question: str
    served: str
    again: str
    candidate: str
    reason: str = ""
    """The judge's reason for its place of the candidate's answer."""
    drawn: bool = True
    """True if it is kept by chance; False if only because the judge found the candidate's answer worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeLabel:
    """A person's place of the candidate's answer against the served one."""

    challenge: str
    exchange: str
    place: int
    """−1 worse, 0 as good, 1 better."""
    by: str = ""
    at: float = 0.0
    """Unix time in seconds."""

"""Clients behind an alert: no client alone raises one while others are present and show nothing.

Anybody with access can send prompts whose answers are fragile by design: forty of them are enough evidence
for an alert. So for each client that gave many of a cell's latest trials, evidence is gathered from everybody
else's as well. An alert is *held* as long as for any client left out

    log(evidence without its trials / rest) < others × log(level / rest) × (1 − its share of the trials)

with the evidence at rest, when nothing is observed. If a route changes for all clients, the logarithm of the
evidence without one grows in proportion to the others' trials, so hardly anything waits.

**One client** holds nothing, and no evidence differs from what it would be without this. Nor does one that
gives four fifths of the latest trials: it is the route's traffic.

**False alarms** only get fewer: an alert needs all that it needed before.

**Others who confirm by chance.** Evidence without a client is an e-detector of the others' trials: while
their mean is within the limit, it reaches c once in c of their trials at most. With half of the trials c is
320 at the usual limits and level, with a twentieth 1,100.

Measured: `docs/research/other.md`.

Source of e-detectors: Shin, Ramdas, Rinaldo 2022.
"""

from __future__ import annotations

from typing import Any, Final

REST: Final = "others"
"""Name that counts all clients beyond the first eight together."""
MOST: Final = 8
TRAFFIC: Final = 0.8
"""Share of the latest trials above which a client's trials are the route's traffic."""
_KEPT: Final = 1 - 1 / 1000
"""Factor on a trial's weight for each later trial: shares are those of about the latest 1,000."""
_GONE_BELOW: Final = 0.5
"""Weight below which a client is forgotten: a single trial is after 693 others."""
_GONE_S: Final = 86_400.0
"""Seconds without a trial after which a client no longer holds back alerts."""


class Clients:
    """Weights of the clients in a cell's latest trials."""

    __slots__ = ("_latest", "first")

    def __init__(self) -> None:
        self._latest: dict[str, tuple[float, float]] = {}
        """Weight of each client's trials, and the time at which the last one was scored."""
        self.first = ""
        """Client of the first trial."""

    def observe(self, client: str, now: float) -> str:
        """Take the client of the next trial; return the name under which it is counted.

        Args:
            client: "" if it is not known: then it has no share.
            now: Unix time in seconds by the log.
        """
        if not client:
            return ""
        latest = {
            name: (weight * _KEPT, at)
            for name, (weight, at) in self._latest.items()
            if name == client or (weight * _KEPT >= _GONE_BELOW and now - at <= _GONE_S)
        }
        name = client if client in latest or len(latest.keys() - {REST}) < MOST else REST
        latest[name] = (latest.get(name, (0.0, now))[0] + 1, now)
        self._latest = latest
        self.first = self.first or name
        return name

    def __contains__(self, name: str) -> bool:
        return name in self._latest

    @property
    def shares(self) -> dict[str, float]:
        """Share of each client in about the latest 1,000 trials, the largest first."""
        total = sum(weight for weight, _ in self._latest.values())
        ordered = sorted(self._latest.items(), key=lambda one: (-one[1][0], one[0]))
        return {name: weight / total for name, (weight, _) in ordered}

    def to_json(self) -> list[Any]:
        """Return the state as JSON values."""
        return [self.first, self._latest]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Clients:
        """Read what `to_json` wrote."""
        clients = cls()
        if raw:
            clients.first = raw[0]
            clients._latest = {name: (weight, at) for name, (weight, at) in raw[1].items()}
        return clients

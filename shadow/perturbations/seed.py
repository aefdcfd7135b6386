"""The seed of a trial: the same trial always makes the same variant."""

from __future__ import annotations

from hashlib import blake2b


def seed_for(exchange_id: str, perturbation_name: str, severity: float, version: int) -> int:
    """Seed for the random choices of one perturbation of one exchange.

    Returns: an integer in [0, 2**53), which SQLite, JSON and JavaScript all hold exactly.
    """
    trial = "\x1f".join((exchange_id, perturbation_name, f"{severity:.6f}", str(version)))
    return int.from_bytes(blake2b(trial.encode(), digest_size=8).digest(), "big") >> 11

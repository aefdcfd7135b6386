"""Sampling: one hash of the request id decides, so decisions repeat and samples nest."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def mix(value: int) -> int:
    """Scatter a 64-bit integer evenly over 64 bits; a bijection.

    Source: the finaliser of SplitMix64 (Steele, Lea, Flood 2014), Stafford's variant 13.
    """
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def threshold(rate: float) -> int:
    """Turn a rate in [0, 1] into the bound that `sampled` takes: 0 for none, 2**64 for all."""
    return min(1 << 64, max(0, round(rate * (1 << 64))))


def sampled(request_id: int, bound: int) -> bool:
    """Whether a request is in the sample.

    A pure function of the id: the sample of a lower rate is a subset of that of a higher one.
    """
    return mix(request_id) < bound

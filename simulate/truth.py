"""What a perfect scorer would measure of a simulated model, in closed form.

With fragility f, noise η and worse share q, one call ends

    good       G = (1 − f)(1 − η)
    worse      W = q (1 − G)
    different  D = (1 − q)(1 − G)

A *perturbed* pair is two independent calls, because another prompt is another draw of the hash:
the content moves unless both end alike, and quality changes if exactly one of them is worse. A
*baseline* pair shares its prompt: with probability f both answers are bad alike, and otherwise
only noise tells them apart.

This holds for prompts that are all different and whose variants differ from them; repeating a prompt
repeats its draw.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Planted:
    """The true rates behind one simulated model, all in [0, 1].

    A quality delta is None where the content never moves. `robustness = 1 − quality_change`.
    """

    fragility: float
    noise: float
    worse_share: float
    baseline_content_delta: float
    """P(the content of an identical resend differs): the noise floor."""
    perturbed_content_delta: float
    """P(the content of the answer to a variant differs); the same for every perturbation."""
    excess: float
    """Perturbed minus baseline content delta."""
    baseline_quality_change: float
    """P(the content differs and quality with it)."""
    perturbed_quality_change: float
    baseline_quality_delta: float | None
    """P(quality differs | content differs)."""
    perturbed_quality_delta: float | None
    baseline_robustness: float
    perturbed_robustness: float


def planted(fragility: float, noise: float, worse_share: float) -> Planted:
    """The truth about a model.

    Raises: ValueError if an argument is outside [0, 1].
    """
    shares = {"fragility": fragility, "noise": noise, "worse_share": worse_share}
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}: must be between 0 and 1, got {value}")
    good = (1 - fragility) * (1 - noise)
    bad = 1 - good
    content = 1 - _agreement(good, bad, worse_share)
    quality = 2 * worse_share * bad * (1 - worse_share * bad)
    noise_content = (1 - fragility) * (1 - _agreement(1 - noise, noise, worse_share))
    noise_quality = (1 - fragility) * 2 * noise * worse_share * (1 - noise * worse_share)
    return Planted(
        fragility=fragility,
        noise=noise,
        worse_share=worse_share,
        baseline_content_delta=noise_content,
        perturbed_content_delta=content,
        excess=content - noise_content,
        baseline_quality_change=noise_quality,
        perturbed_quality_change=quality,
        baseline_quality_delta=noise_quality / noise_content if noise_content else None,
        perturbed_quality_delta=quality / content if content else None,
        baseline_robustness=1 - noise_quality,
        perturbed_robustness=1 - quality,
    )


def _agreement(good: float, bad: float, worse_share: float) -> float:
    """P(two independent calls end in the same state)."""
    return float(good**2 + (bad * worse_share) ** 2 + (bad * (1 - worse_share)) ** 2)

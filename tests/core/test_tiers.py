"""Tiers: which provider has which, and what settings that cannot work are told."""

import pytest

from evenkeel.core.tiers import tier_problem


@pytest.mark.parametrize(
    ("tier", "host", "problem"),
    [
        ("flex", "api.anthropic.com", "api.anthropic.com has no flex tier; use standard"),
        ("flex", "eu.api.Mistral.ai.", "eu.api.Mistral.ai. has no flex tier; use standard"),
        ("flex", "evilapi.mistral.ai", None),  # the end of a name begins behind a dot
        ("flex", "api.openai.com", None),
        ("flex", "127.0.0.1", None),
        ("standard", "api.anthropic.com", None),
    ],
)
def test_a_tier_that_an_endpoint_lacks_is_refused_with_a_way_out(tier, host, problem):
    """A setting that would do nothing is an error; of an unknown host the settings are believed."""
    assert tier_problem(tier, host) == problem

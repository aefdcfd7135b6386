"""Tiers: which provider has which, and what settings that cannot work are told."""

from __future__ import annotations

import pytest

from evenkeel.core.tiers import tier_problem, tiers_of


@pytest.mark.parametrize(
    ("host", "like", "flex", "batches"),
    [
        ("api.openai.com", None, True, "openai"),
        ("eu.api.openai.com.", None, True, "openai"),
        ("API.Anthropic.com", None, False, "anthropic"),
        ("team.openai.azure.com", None, True, None),
        ("127.0.0.1", "openai", True, "openai"),
        ("gateway.example", "anthropic", False, "anthropic"),
    ],
)
def test_a_host_or_the_settings_say_which_tiers_there_are(host, like, flex, batches):
    """What the settings say wins."""
    assert tiers_of(host, like)[1:] == (flex, batches)


def test_a_host_that_only_ends_alike_is_nobody_s():
    """The end of a name begins behind a dot."""
    assert tiers_of("evilapi.openai.com", None) is None
    assert tiers_of("api.openai.com.example", None) is None


@pytest.mark.parametrize(
    ("tier", "host", "said"),
    [
        ("flex", "api.anthropic.com", "api.anthropic.com has no flex tier; use batch"),
        ("flex", "api.mistral.ai", "api.mistral.ai has no flex tier; use standard"),
        ("batch", "x.openai.azure.com", "x.openai.azure.com has no batches that evenkeel can use; use flex"),
        (
            "batch",
            "127.0.0.1",
            (
                "nobody knows whether 127.0.0.1 has a batch tier; if it has OpenAI's or Anthropic's, say so "
                "with tier_api"
            ),
        ),
        ("batch", "api.anthropic.com", None),
        ("standard", "127.0.0.1", None),
    ],
)
def test_a_tier_that_an_endpoint_lacks_is_refused_with_a_way_out(tier, host, said):
    """A setting that would do nothing is worse than an error."""
    assert tier_problem(tier, host, None) == said

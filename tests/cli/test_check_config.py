"""Costs and retirements of the challengers that the settings name."""

from datetime import UTC, datetime

from evenkeel.cli.check_config import challenger_lines, retirement_notes
from evenkeel.core.figures import percent
from evenkeel.settings import load

NOW = datetime(2026, 11, 27, tzinfo=UTC).timestamp()


def settings(tmp_path, challenger, more=""):
    path = tmp_path / "evenkeel.yaml"
    route = f"{{name: support, upstream: 'http://a', sampling_rate: 0.1, challenger: {challenger}}}"
    path.write_text(f"routes: [{route}]\n{more}")
    return load(path, {}, {})


def test_the_cost_is_stated_for_what_can_be_asked(tmp_path):
    """A tenth is sampled: 1,000 pairs of 10,000 requests, which take 5/3 answers each at 0.005 dollars."""
    (said,) = challenger_lines(
        settings(
            tmp_path,
            "{model: m, share: 0.5}",
            "budget: {usd_per_day: 20, tokens_per_day: null, prices: {m: {input_usd: 1, output_usd: 10}}}",
        )
    )
    assert said == (
        f"challenger of support: m is asked {percent(0.1, 1)} of the requests; its answers cost about "
        "$8.33 for 10,000 requests of 1,000 tokens in and 400 out, and judging comes on top; all challengers "
        "together at most $4.00 a day"
    )


def test_a_price_that_nobody_knows_is_said(tmp_path):
    (said,) = challenger_lines(settings(tmp_path, "{model: nobody-knows}"))
    assert f"nobody-knows is asked {percent(0.02, 1)} of the requests; its price is not known" in said
    budget = settings(tmp_path, "{model: m}").budget
    usd, tokens = budget.usd_per_day / 5, budget.tokens_per_day // 5
    assert said.endswith(f"all challengers together at most ${usd:.2f} and {tokens:,} tokens a day")


def test_models_of_the_settings_that_retire_are_named(tmp_path):
    judged = "judge: {model: gpt-4.1-mini, base_url: 'http://a/v1'}"
    notes = list(retirement_notes(settings(tmp_path, "{model: gpt-5-nano}", judged), NOW))
    page = "https://developers.openai.com/api/docs/deprecations"
    first = "judge: OpenAI stops serving gpt-4.1-mini on 14 Jan 2027; it names gpt-6-luna as the replacement"
    second = (
        "routes.support.challenger: OpenAI stops serving gpt-5-nano on 11 Dec 2026; it names gpt-5.6-luna"
    )
    assert notes == [f"{first} ({page})", f"{second} as the replacement ({page})"]

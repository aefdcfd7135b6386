"""Members of a request that a replay may carry.

An allow-list by API: what is known to shape the answer and to have no other effect is sent again, all else
is left out and counted. A member that nobody here knows could search the web, store the answer or name a
person. Function tools belong to the known ones; whether a request may be replayed at all is for `refusals`
to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.llm.price import stated_limit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.tiers import Tier
    from evenkeel.shadow.prompt.body import Api
    from evenkeel.shadow.prompt.spans import Member


FORCED_FALSE: Final = ("stream", "store", "background")
"""Sent as false: nobody waits for a replay's stream, and a replay leaves no trace."""
CHOICES: Final = ("n", "best_of")
"""Reduced to 1: only the first choice is compared, and further ones cost as much again."""
_TIERS: Final = (None, "auto", "default", "flex", "standard", "standard_only")
"""Values of `service_tier` sent again; with another one the same answer costs more than its price."""
FLEX_APIS: Final[frozenset[Api]] = frozenset({"chat", "responses"})
"""Those in which `service_tier: "flex"` asks for a cheaper answer."""
_NEEDS_A_STREAM: Final = "stream_options"
"""Servers reject it without a stream."""

_ANY_API: Final = frozenset({
    "model", "temperature", "top_p", "top_k", "max_tokens", "stop", "seed", "tools", "tool_choice",
    "parallel_tool_calls", "reasoning", "reasoning_effort", "thinking", "verbosity", "service_tier",
    "truncation", "response_format",
})  # fmt: skip

_SAMPLING: Final = frozenset({
    # OpenAI's
    "frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs",
    "max_completion_tokens",
    # vLLM, SGLang, TGI, Ollama, llama.cpp
    "min_p", "top_a", "typical_p", "tfs_z", "epsilon_cutoff", "eta_cutoff", "repetition_penalty",
    "repeat_penalty", "repeat_last_n", "penalize_nl", "length_penalty", "no_repeat_ngram_size", "min_tokens",
    "max_new_tokens", "num_ctx", "num_predict", "n_predict", "n_keep", "n_probs", "ignore_eos", "stop_regex",
    "stop_token_ids", "include_stop_str_in_output", "no_stop_trim", "skip_special_tokens",
    "spaces_between_special_tokens", "add_special_tokens", "truncate_prompt_tokens", "prompt_truncate_len",
    "allowed_token_ids", "bad_words", "use_beam_search", "early_stopping", "do_sample", "random_seed",
    "prompt_logprobs", "return_tokens_as_token_ids", "mirostat", "mirostat_tau", "mirostat_eta",
    "mirostat_lr", "mirostat_target", "dynatemp_range", "dynatemp_exponent", "smoothing_factor",
    "xtc_probability", "xtc_threshold", "dry_multiplier", "dry_base", "dry_allowed_length",
    "dry_penalty_last_n", "dry_sequence_breakers", "samplers", "cache_prompt", "keep_alive", "options",
    "lora", "lora_path", "adapter_id",
})  # fmt: skip

_FORM: Final = frozenset({
    "guided_json", "guided_regex", "guided_choice", "guided_grammar", "guided_decoding_backend",
    "guided_whitespace_pattern", "structural_tag", "structured_outputs", "grammar", "json_schema", "regex",
    "ebnf", "format",
})  # fmt: skip

_CHAT: Final = frozenset({
    "messages", "modalities", "functions", "function_call",
    # how open servers render the prompt and the reasoning
    "chat_template", "chat_template_kwargs", "add_generation_prompt", "continue_final_message", "documents",
    "mm_processor_kwargs", "media_io_kwargs", "tool_prompt", "think", "enable_thinking", "thinking_budget",
    "thinking_token_budget", "thinking_forced_open", "include_reasoning", "reasoning_format",
    "reasoning_split", "separate_reasoning", "disable_reasoning", "clear_thinking", "parse_tool_calls",
    # Mistral, Cohere, Groq, Qwen, Baidu
    "safe_prompt", "prompt_mode", "safety_mode", "citation_options", "disable_tool_validation",
    "translation_options", "vl_high_resolution_images", "disable_search",
    # OpenRouter: which provider serves the model; not `models`: another could answer at another price
    "provider", "transforms",
    # Anthropic's, as gateways take them
    "anthropic_version", "system", "stop_sequences", "output_config", "output_format", "effort",
})  # fmt: skip

KEPT: Final[dict[Api, frozenset[str]]] = {
    "chat": _ANY_API | _SAMPLING | _FORM | _CHAT,
    "completions": (_ANY_API - {"tools", "tool_choice", "parallel_tool_calls"})
    | _SAMPLING
    | _FORM
    | {"prompt", "suffix", "echo", "system", "template", "raw", "provider"},
    "responses": _ANY_API
    | _SAMPLING
    | _FORM
    | {
        "input",
        "instructions",
        "include",
        "max_output_tokens",
        "max_tool_calls",
        "text",
        "modalities",
        "chat_template_kwargs",
        "provider",
    },
    "messages": _ANY_API
    | _SAMPLING
    | {
        "messages",
        "system",
        "stop_sequences",
        "anthropic_version",
        "anthropic_beta",
        "output_config",
        "output_format",
        "effort",
        "chat_template_kwargs",
        "provider",
    },
}
"""What is sent again as the client wrote it."""

PERSONAL: Final = frozenset({
    "user", "user_id", "end_user", "safety_identifier", "metadata", "prompt_cache_key", "session_id",
    "conversation_id", "trace_id", "request_id", "user_security_context",
})  # fmt: skip
"""Left out because they name a person, a session or a call."""
_OFTEN_LEFT_OUT: Final = PERSONAL | {
    "models", "route",
    "extra_body", "extra_headers", "extra_query", "prompt_cache_retention", "context_management", "audio",
    "cache_salt", "priority", "usage", "plugins", "fallbacks", "guardrails", "tags", "logits_processors",
    "custom_logit_processor", "kv_transfer_params", "enable_search", "web_search_options", "tools",
    "container",
    "mcp_servers",
    "prediction",
}  # fmt: skip
OTHER: Final = "other"
"""Stands for a member whose name a client could have made up: names are labels of a counter."""


_LIMITS: Final[dict[Api, frozenset[str]]] = {
    "chat": frozenset({"max_tokens", "max_completion_tokens"}),
    "completions": frozenset({"max_tokens"}),
    "messages": frozenset({"max_tokens"}),
    "responses": frozenset({"max_output_tokens"}),
}
"""Limits of the answer."""
_LIMITED_OTHERWISE: Final = frozenset({
    "thinking", "reasoning", "reasoning_effort", "effort", "output_config", "think", "enable_thinking",
    "thinking_budget", "thinking_token_budget", "thinking_forced_open", "chat_template_kwargs",
    "min_tokens", "ignore_eos", "max_new_tokens", "num_predict", "n_predict", "options",
})  # fmt: skip
"""What asks for tokens that are no part of the answer, or states its length in another way."""


def may_be_limited(members: Iterable[Member]) -> bool:
    """Whether the answer's usual length may be made its limit."""
    return not any(member.key in _LIMITED_OTHERWISE for member in members)


def left_out(members: Iterable[Member], api: Api) -> frozenset[str]:
    """The keys, of the outermost object, that a replay does not carry."""
    sent = KEPT[api] | {*FORCED_FALSE, *CHOICES}
    return frozenset(member.key for member in members if member.key not in sent)


def counted(keys: Iterable[str]) -> list[str]:
    """What a counter calls the members that were left out: one of some forty names each, sorted."""
    # The absence of a stream is no loss that anybody asks about.
    lost = {key for key in keys if key != _NEEDS_A_STREAM}
    return sorted({key if key in _OFTEN_LEFT_OUT else OTHER for key in lost})


def replay_changes(
    members: Iterable[Member], api: Api, tier: Tier = "standard", most_tokens: int | None = None
) -> dict[str, str | None]:
    """The changes of the outermost object that make a body fit for a replay, as JSON text by key.

    Keys the client did not send are not added: many compatible servers reject keys they do not know. The
    exceptions are `store` of the responses API, which is true unless it is said to be false, and
    `service_tier` where a flex replay is asked for. Repeated keys are all treated. A limit of the answer that
    is higher than `most_tokens` becomes that. One that limits nothing, such as null, is left out, because the
    replayer adds a limit under that name, except to completions.
    """
    members = tuple(members)
    changes: dict[str, str | None] = dict.fromkeys(left_out(members, api))
    for member in members:
        if member.key in FORCED_FALSE and member.value.decoded is not False:
            changes[member.key] = "false"
        elif member.key == "service_tier" and member.value.decoded not in _TIERS:
            changes[member.key] = None
        elif member.key in CHOICES and not _at_most_one(member.value.decoded):
            changes[member.key] = "1"
        elif member.key in _LIMITS[api]:
            stated = stated_limit(member.value.decoded)
            if stated is None and api != "completions":
                changes[member.key] = None
            elif stated is not None and most_tokens is not None and stated > most_tokens:
                changes[member.key] = str(most_tokens)
    if api == "responses" and all(member.key != "store" for member in members):
        changes["store"] = "false"
    if tier == "flex" and api in FLEX_APIS:
        changes["service_tier"] = '"flex"'
    return changes


def _at_most_one(value: object) -> bool:
    """Whether a number of choices is none or one. A text is not: servers take "128" for a number."""
    return value is None or (isinstance(value, bool | float) and value <= 1)

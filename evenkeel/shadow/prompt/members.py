"""Members of requests that every API, or several, may carry into a replay, and names for those left out.

An allow-list: members that are known to shape the answer and to have no other effect are sent again, all else
is left out and counted. A member that nobody here knows could search the web, store the answer or name a
person. Function tools belong to the known ones; whether a request may be replayed at all is for `refusals`
to say. Each API (`apis`) adds the members of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

FORCED_FALSE: Final = ("store", "background")
"""Members that are sent as false: a replay leaves no trace."""
CHOICES: Final = ("n", "best_of")
"""Members that are set to 1: only the first choice is compared, and others cost as much again."""
STREAM_OPTIONS: Final = "stream_options"
"""Member that servers reject without a stream. A replay asks for the token counts by it, and for nothing
else."""
USAGE_IN_STREAM: Final = '{"include_usage": true}'

ANY_API: Final = frozenset({
    "model", "stream", "temperature", "top_p", "top_k", "max_tokens", "stop", "seed", "tools", "tool_choice",
    "parallel_tool_calls", "reasoning", "reasoning_effort", "thinking", "verbosity", "service_tier",
    "truncation", "response_format",
})  # fmt: skip

SAMPLING: Final = frozenset({
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

FORM: Final = frozenset({
    "guided_json", "guided_regex", "guided_choice", "guided_grammar", "guided_decoding_backend",
    "guided_whitespace_pattern", "structural_tag", "structured_outputs", "grammar", "json_schema", "regex",
    "ebnf", "format",
})  # fmt: skip

PERSONAL: Final = frozenset({
    "user", "user_id", "end_user", "safety_identifier", "metadata", "prompt_cache_key", "session_id",
    "conversation_id", "trace_id", "request_id", "user_security_context",
})  # fmt: skip
"""Members left out because they name a person, a session or a call."""
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
"""Label for members whose names a client could have made up, since names are labels of a counter."""


LIMITED_OTHERWISE: Final = frozenset({
    "thinking", "reasoning", "reasoning_effort", "effort", "output_config", "think", "enable_thinking",
    "thinking_budget", "thinking_token_budget", "thinking_forced_open", "chat_template_kwargs",
    "min_tokens", "ignore_eos", "max_new_tokens", "num_predict", "n_predict", "options",
})  # fmt: skip
"""Members that ask for tokens outside the answer, or state the answer's length in another way."""


def counted(keys: Iterable[str]) -> list[str]:
    """Return the sorted counter labels of the members left out, from a set of about forty names."""
    # How a stream is cut is no loss that anybody asks about.
    labels = set()
    for key in keys:
        if key != STREAM_OPTIONS:
            labels.add(key if key in _OFTEN_LEFT_OUT else OTHER)
    return sorted(labels)

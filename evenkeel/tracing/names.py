"""Names of attributes and events: OpenTelemetry's where it has one, else under `evenkeel.`.

Spelled out here because the generative-AI names are in development. They have moved to conventions of their
own, whose schema is named with spans and events; a test pins them.
"""

from __future__ import annotations

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CONVERSATION: Final = "gen_ai.conversation.id"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
PROMPT_NAME: Final = "gen_ai.prompt.name"

SCHEMA: Final = "https://opentelemetry.io/schemas/gen-ai/1.42.0"
EVALUATION: Final = "gen_ai.evaluation.result"
"""Name of the event."""
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_VALUE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
ERROR_TYPE: Final = "error.type"
HTTP_METHOD: Final = "http.request.method"
HTTP_STATUS: Final = "http.response.status_code"
URL_PATH: Final = "url.path"

ROUTE: Final = "evenkeel.route"
EXCHANGE: Final = "evenkeel.exchange.id"
ATTEMPT: Final = "evenkeel.attempt"
OUTCOME: Final = "evenkeel.outcome"
REASON: Final = "evenkeel.reason"
MODEL: Final = "evenkeel.model"
TASK: Final = "evenkeel.task"
PROMPT_VERSION: Final = "evenkeel.prompt_version"
PURPOSE: Final = "evenkeel.purpose"
VERDICT: Final = "evenkeel.verdict.id"
PERTURBATION: Final = "evenkeel.perturbation"
PERTURBATION_VERSION: Final = "evenkeel.perturbation.version"
SEVERITY: Final = "evenkeel.severity"
SEED: Final = "evenkeel.seed"
SCORER: Final = "evenkeel.scorer"
RATING: Final = "evenkeel.rating"
SIMILARITY: Final = "evenkeel.similarity"
BASELINE_RATING: Final = "evenkeel.baseline_rating"
TOKENS: Final = "evenkeel.tokens"
COST: Final = "evenkeel.cost_usd"
REFERENCE_RESPONSE: Final = "evenkeel.reference.response.id"
"""Id of the answer that the user got."""
REFERENCE: Final = "evenkeel.evaluation.reference"
SCALE: Final = "evenkeel.evaluation.scale"

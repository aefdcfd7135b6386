"""How good the answers are, and whether that changed: the second stage of the score.

`bundle_of(task)` names the qualities of a task. A judge asks them in the task's own words
(`summary_prompts`, `answer_prompts`, `custom` for an application's), stand-ins with `_proxy` in their
names measure them without one, and slots and tool calls are measured by rule. `measure_all` runs them.

Quality changed if any of them changed, in either direction: a rating on 1–3 that differs, a share of
slots that differs, or an agreement with the reference below 1 by more than its tolerance.
"""

from evenkeel.metrics.quality.agreement import Agreement
from evenkeel.metrics.quality.bundles import BUNDLES, Bundle, bundle_of, bundles_by, chosen
from evenkeel.metrics.quality.citations_proxy import CitationsProxy
from evenkeel.metrics.quality.completeness_proxy import CompletenessProxy
from evenkeel.metrics.quality.custom import custom_prompt, custom_quality
from evenkeel.metrics.quality.each_side import EachSide
from evenkeel.metrics.quality.faithfulness_proxy import FaithfulnessProxy
from evenkeel.metrics.quality.measuring import Qualities, measure_all
from evenkeel.metrics.quality.protocol import Measured, PairQuality, QualityMetric
from evenkeel.metrics.quality.slot_coverage import SlotCoverage
from evenkeel.metrics.quality.slot_grounding import SlotGrounding
from evenkeel.metrics.quality.tool_arguments_match import ToolArgumentsMatch

__all__ = [
    "BUNDLES",
    "Agreement",
    "Bundle",
    "CitationsProxy",
    "CompletenessProxy",
    "EachSide",
    "FaithfulnessProxy",
    "Measured",
    "PairQuality",
    "Qualities",
    "QualityMetric",
    "SlotCoverage",
    "SlotGrounding",
    "ToolArgumentsMatch",
    "bundle_of",
    "bundles_by",
    "chosen",
    "custom_prompt",
    "custom_quality",
    "measure_all",
]

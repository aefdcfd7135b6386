"""How good the answers are, and whether that changed: the second stage of the score.

`BUNDLES` names the qualities of each task. A judge rates them by `prompts`, in the task's own words or in an
application's; stand-ins with `_proxy` in their names measure them without a judge; slots and tool calls
are measured by rule. `measure_all` runs them.

Quality changed if any of them changed, in either direction: a rating on 1–3 that differs, a share of
slots that differs, or an agreement with the reference below 1 by more than its tolerance.
"""

from evenkeel.metrics.quality.bundles import BUNDLES, Bundle, bundle_of, bundles_by, chosen
from evenkeel.metrics.quality.citations import CitationsProxy
from evenkeel.metrics.quality.completeness_proxy import CompletenessProxy
from evenkeel.metrics.quality.faithfulness_proxy import FaithfulnessProxy
from evenkeel.metrics.quality.measurement import (
    Agreement,
    EachSide,
    Measured,
    PairQuality,
    Qualities,
    QualityMetric,
    measure_all,
)
from evenkeel.metrics.quality.prompts import custom_prompt, custom_quality
from evenkeel.metrics.quality.slots import SlotCoverage, SlotGrounding
from evenkeel.metrics.tool_calls import ToolArgumentsMatch

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

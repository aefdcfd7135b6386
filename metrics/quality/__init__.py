"""How good one answer is against its context, on 1–3: the second stage of the score.

`bundle(task)` names the qualities; a judge (`metrics.judge.quality`) or the stand-ins here, which
carry `_proxy` in their names, measure them.
"""

from metrics.quality.bundles import BUNDLES, Quality, bundle
from metrics.quality.completeness_proxy import CompletenessProxy
from metrics.quality.faithfulness_proxy import FaithfulnessProxy
from metrics.quality.protocol import QualityMetric

__all__ = ["BUNDLES", "CompletenessProxy", "FaithfulnessProxy", "Quality", "QualityMetric", "bundle"]

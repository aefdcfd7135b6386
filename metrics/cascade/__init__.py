"""The cascade: a judge's ratings at a part of its price.

`rater` decides in three stages: equality after normalisation (free), `bands` over cheap metrics
where those leave no doubt what the judge would say, and the judge for the rest. A random share of
what the bands decide goes to the judge all the same; how often the two agree is watched for as long
as the cascade runs. What a rating's details say about this is named in `evenkeel.core.provenance`.
"""

from evenkeel.metrics.cascade.bands import (
    DEFAULT_BANDS,
    Band,
    Bands,
    BandsError,
    bands_to_json,
    read_bands,
)
from evenkeel.metrics.cascade.rater import CascadeRater

__all__ = ["DEFAULT_BANDS", "Band", "Bands", "BandsError", "CascadeRater", "bands_to_json", "read_bands"]

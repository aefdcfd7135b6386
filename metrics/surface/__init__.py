"""What is seen without reading for content: refusal, language, length, a cut end."""

from evenkeel.metrics.surface.language import LanguageMatch
from evenkeel.metrics.surface.length import LengthRatio
from evenkeel.metrics.surface.refusal import RefusalAgreement, refused
from evenkeel.metrics.surface.truncation import TruncationAgreement, truncated

__all__ = [
    "LanguageMatch",
    "LengthRatio",
    "RefusalAgreement",
    "TruncationAgreement",
    "refused",
    "truncated",
]

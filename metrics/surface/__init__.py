"""What is seen without reading for content: refusal, language, length, a cut end."""

from metrics.surface.language import LanguageMatch
from metrics.surface.length import LengthRatio
from metrics.surface.refusal import RefusalAgreement, refused
from metrics.surface.truncation import TruncationAgreement, truncated

__all__ = [
    "LanguageMatch",
    "LengthRatio",
    "RefusalAgreement",
    "TruncationAgreement",
    "refused",
    "truncated",
]

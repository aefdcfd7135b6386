"""Redaction: values that must not be kept are replaced before an exchange is stored.

`detectors` find values in a text; `redaction` replaces them in bodies, in an exchange and in what is handed
to the queue; `process` does so beside the data plane, whose process inflates and searches nothing.
Encryption of what is kept is the stores' own (`evenkeel.stores.sealing`).
"""

from evenkeel.shadow.protection.detectors import BUILTIN, Detector, ProtectionError, SensitiveSpan
from evenkeel.shadow.protection.redaction import RedactedSink, Redactor

__all__ = ["BUILTIN", "Detector", "ProtectionError", "RedactedSink", "Redactor", "SensitiveSpan"]

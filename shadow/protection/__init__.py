"""Redaction: what must not be kept is replaced before an exchange leaves the proxy's process.

`patterns`, `own_patterns` and `presidio` find values in a text; `placeholders` replaces them, the same value
by the same placeholder throughout an exchange; `bodies` knows where texts stand in JSON and in event streams;
`redaction` does it for an exchange, and `sink` for what is handed to the queue. Encryption of what is kept is
the stores' own (`evenkeel.stores.sealing`).
"""

from evenkeel.shadow.protection.detector import Detector, Found, ProtectionError
from evenkeel.shadow.protection.patterns import BUILTIN
from evenkeel.shadow.protection.redaction import Redactor
from evenkeel.shadow.protection.sink import RedactedSink

__all__ = ["BUILTIN", "Detector", "Found", "ProtectionError", "RedactedSink", "Redactor"]

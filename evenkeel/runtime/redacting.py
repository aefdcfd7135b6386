"""The redaction that the settings ask for, on the way from the data plane to the queue.

Only a data plane that redacts loads what it takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.runtime.responsiveness import take_short_turns

if TYPE_CHECKING:
    from evenkeel.core.exchange import ExchangeSink
    from evenkeel.settings.storage import Redaction
    from evenkeel.shadow.protection import Redactor
    from evenkeel.stores.counters import Tally


def redactor(settings: Redaction) -> Redactor:
    """What redacts: own patterns first, then the built-in ones, then Presidio.

    Raises: ProtectionError if Presidio cannot be loaded, or a pattern not be used.
    """
    # Loaded on demand, here and below: a proxy that redacts nothing stays small.
    from evenkeel.shadow.protection import BUILTIN, Detector, Redactor  # noqa: PLC0415
    from evenkeel.shadow.protection.detectors import (  # noqa: PLC0415
        OwnPattern,
        PresidioDetector,
        load_analyser,
    )

    detectors: list[Detector] = [OwnPattern(kind, one) for kind, one in settings.patterns.items()]
    detectors += (one for one in BUILTIN if one.kind in settings.kinds)
    if settings.presidio is not None:
        chosen = settings.presidio
        analyser = load_analyser(chosen.language)
        detectors.append(
            PresidioDetector(analyser, language=chosen.language, entities=chosen.entities, score=chosen.score)
        )
    return Redactor(detectors)


def redacting(settings: Redaction, sink: ExchangeSink, tally: Tally) -> ExchangeSink:
    """The sink, with redaction before it if there is any; then the process's threads take short turns.

    Raises: ProtectionError, as `redactor`.
    """
    if not settings.active:
        return sink
    from evenkeel.shadow.protection import RedactedSink  # noqa: PLC0415 - as above

    take_short_turns()
    return RedactedSink(sink, redactor(settings), tally)

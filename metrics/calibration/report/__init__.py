"""A calibration as one HTML page that needs nothing else: no script, no font, no request.

`plots` (geometry) → `page` (values for the template).
"""

from metrics.calibration.report.page import report

__all__ = ["report"]

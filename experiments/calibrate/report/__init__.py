"""A calibration as one HTML page that needs nothing else: no script, no font, no request.

`plots` (geometry) → `page` (values for the template).
"""

from evenkeel.experiments.calibrate.report.page import report

__all__ = ["report"]

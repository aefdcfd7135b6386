"""`evenkeel judge-audit`: how far a judge can be believed, as a table, as JSON and as a page.

`command` (files in, calls out, an `Outcome`) → `table` (terminal), `document` (JSON) and `page` (HTML,
with `plots` laying out its pictures).
"""

from evenkeel.experiments.judge_audit.command import AuditOptions, run_judge_audit
from evenkeel.experiments.judge_audit.outcome import Outcome

__all__ = ["AuditOptions", "Outcome", "run_judge_audit"]

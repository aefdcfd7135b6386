"""`evenkeel judge-audit`: how far a judge can be believed, as a table, as JSON and as a page.

`command` (files in, calls out, an `Outcome`) → `table` (terminal), `document` (JSON) and `page` (HTML,
with `plots` laying out its pictures).
"""

from evenkeel.experiments.judge_audit.run import AuditOptions, Outcome, run_judge_audit

__all__ = ["AuditOptions", "Outcome", "run_judge_audit"]

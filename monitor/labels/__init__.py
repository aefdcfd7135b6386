"""What people say of verdicts: labels, which outlive the verdicts that they are about.

`label` (what one person says of one verdict, with all that is needed to use it later) ← `store` (every
version of every label; `sqlite_store` and `redis_store`) ← `agreement` (how far the judge and people
agree), `audit` (labels as the files that `evenkeel judge-audit` reads), `exporter` (the agreement as gauges).
"""

from evenkeel.monitor.labels.agreement import HumanAgreement, human_agreement, people_say
from evenkeel.monitor.labels.counted import CountedLabels
from evenkeel.monitor.labels.label import Label, LabelError, Said, label_of
from evenkeel.monitor.labels.sqlite_store import SqliteLabels
from evenkeel.monitor.labels.store import LabelStore

__all__ = [
    "CountedLabels",
    "HumanAgreement",
    "Label",
    "LabelError",
    "LabelStore",
    "Said",
    "SqliteLabels",
    "human_agreement",
    "label_of",
    "people_say",
]

"""Pictures of the dashboards without a Grafana: `python -m grafana.preview`.

`scene` says what is looked at (variables, time) and asks Prometheus; `frames` does what Grafana's
transformations do to tables; `written` writes numbers in their units; `graphs` and `fields` draw panels;
`page` puts them in their places. It reads the JSON that Grafana reads, nothing else, so what is wrong there
is wrong here too.
"""

from grafana.preview.page import page
from grafana.preview.scene import Answer, Scene, expressions, panels, targets

__all__ = ["Answer", "Scene", "expressions", "page", "panels", "targets"]

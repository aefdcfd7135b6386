"""Templates, learned from traffic: which text of a prompt is the application's and which is input.

The texts of a request that may carry template (system messages, the last user message) are compared with
what the route sent before. Requests of one template form a `Cluster`; what all of them share, in order, is
its `Skeleton`: literal fragments with gaps between them. Text that fits a fragment is template, text in a
gap is input. `alignment` finds what a skeleton and another request share, a cluster tells edits from fields,
`recurring` finds optional sections, `route` keeps the clusters of one route, `labelling` turns stretches into
typed blocks, and `learner` keeps all routes.
"""

from evenkeel.shadow.prompt.template.labelling import fixed_template
from evenkeel.shadow.prompt.template.learner import TemplateLearner
from evenkeel.shadow.prompt.template.route import TemplateVersion

__all__ = ["TemplateLearner", "TemplateVersion", "fixed_template"]

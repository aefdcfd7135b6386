"""Templates, learned from traffic: which text of a prompt is the application's and which is input.

The texts of a request that may carry template (system messages, the last user message) are each compared
with what the route sent before in the same slot. What all texts of one template share, in order, is its
skeleton: literal fragments with gaps between them. Text that fits a fragment is template, text in a gap is
input. A route whose requests share no fixed text has no template and no prompt version. `learned` finds
what a skeleton and another text share and tells edits from fields, `labelling` turns stretches into typed
blocks, and `learner` keeps the templates of each slot of all routes.
"""

from evenkeel.shadow.prompt.template.labelling import fixed_template
from evenkeel.shadow.prompt.template.learner import TemplateLearner

__all__ = ["TemplateLearner", "fixed_template"]

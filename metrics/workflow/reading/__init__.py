"""Workflows out of answers: one form a file, all put together by `assemble`.

`node_edge` (Node:/Edge: text), `mermaid` (flowcharts), `trees` (JSON and YAML), `lists` (numbered and
bulleted), `calls` (tool calls). `detect` tells which of them an answer is.
"""

from evenkeel.metrics.workflow.reading.calls import read_calls
from evenkeel.metrics.workflow.reading.detect import WorkflowFormat, read_answer, read_workflow
from evenkeel.metrics.workflow.reading.node_edge import write_node_edge

__all__ = ["WorkflowFormat", "read_answer", "read_calls", "read_workflow", "write_node_edge"]

"""Tool calls: the same tools, with the same arguments, in the same order."""

from evenkeel.metrics.tool_calls.arguments import ToolArguments
from evenkeel.metrics.tool_calls.names import ToolNames
from evenkeel.metrics.tool_calls.order import ToolOrder

__all__ = ["ToolArguments", "ToolNames", "ToolOrder"]

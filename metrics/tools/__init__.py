"""Tool calls: the same tools, with the same arguments, in the same order."""

from metrics.tools.arguments import ToolArguments
from metrics.tools.names import ToolNames
from metrics.tools.order import ToolOrder

__all__ = ["ToolArguments", "ToolNames", "ToolOrder"]

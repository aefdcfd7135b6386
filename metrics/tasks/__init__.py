"""What an answer is for: the tasks by name, and how a prompt shows which one it sets.

An application that names its task is believed, then the route's setting, then `recognise`; what is
none of them is `Task.CHAT`.
"""

from evenkeel.metrics.tasks.names import Task, find_task, task_named
from evenkeel.metrics.tasks.recognition import Turn, recognise

__all__ = ["Task", "Turn", "find_task", "recognise", "task_named"]

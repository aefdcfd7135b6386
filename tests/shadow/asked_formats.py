"""What tests of the format kinds share: a request that says how to answer, and what a kind makes of it."""

from __future__ import annotations

import json
import random

from evenkeel.shadow.prompt import Block, PromptView


def view_of(asked="", *, said="Why is the fan loud?", **members):
    """A chat request: a task, an input, and how to answer, if it says."""
    blocks = [Block("template", "Sum it up.\n\n", "instructions"), Block("input", said)]
    if asked:
        blocks += [Block("template", "\n\n"), Block("template", asked, "output_instructions")]
    content = "".join(block.text for block in blocks)
    body = {"messages": [{"role": "user", "content": content}], **members}
    return PromptView.parse(json.dumps(body).encode(), lambda _: [blocks])


def applied(kind, view):
    return kind.apply(view, 1.0, random.Random(1))


def texts(view):
    return [one["content"] for one in json.loads(view.body())["messages"]]

"""What tests of the simulated server ask, and what its models say in each state."""

from __future__ import annotations

from evenkeel.simulate import Message, make_case, summary_prompt
from evenkeel.simulate.model import answers, read

CASE = make_case(3)
PROMPT = summary_prompt(CASE)
CHAT = [{"role": "user", "content": PROMPT}]
SAID = answers(read([Message("user", PROMPT)]))

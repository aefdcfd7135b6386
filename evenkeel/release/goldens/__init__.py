"""Goldens: requests with an answer that somebody approved.

`files` (JSON lines) and the `candidates` among archived exchanges become goldens; `replay` asks those of a
route again; `prompts` shows what was asked.
"""

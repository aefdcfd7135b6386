"""`evenkeel perturb`: what each perturbation would do to a prompt.

`prompt` reads a request body or plain text, `trying` applies the kinds and keeps what came of it,
`page` shows that to people, `record` to programs, `command` is the body of the command.
"""

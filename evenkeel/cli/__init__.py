"""The command line: one module a command, with its options, its help and its body up to calling a library.

`main` names the commands and loads the one that runs; `options` holds options that several of them share.
"""

"""The command line: a module per command, with its options, its help, and the calls to the library.

`main` names the commands and loads the one that runs; `options` holds options that several of them share.
"""

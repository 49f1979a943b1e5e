"""The command ``python -m ricci.profile``: runs a script and writes a page on where its time went.

`_lines` records which line of the user's code the main thread is at, `_steps` what is traced,
lowered and compiled, and why anew, `_memory` samples memory. `_runtime` reads from jaxlib's
profile what the devices did, and what the main thread did in C++; `_sources` tells which line an
operation of a compiled program is from. `_spans` cuts time by kind, `_report` joins all of it,
`_page` writes it as HTML. `_command` reads the command line and runs the script.
"""

from ._command import main as main

__all__ = ["main"]

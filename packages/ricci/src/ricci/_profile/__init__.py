"""The command ``python -m ricci.profile``: runs a script and writes a page on where its time went.

`_lines` records the line of the user's code that the main thread is at, `_steps` the tracing,
lowering and compiling, and reasons for repeating them, `_memory` samples memory. `_runtime` reads
the work of the devices, and of the main thread in C++, from jaxlib's profile; `_sources` maps an
operation of an executable to its line. `_spans` cuts time by kind, `_report` joins all of it,
`_page` writes it as HTML. `_command` reads the command line and runs the script.
"""

from ._command import main as main

__all__ = ["main"]

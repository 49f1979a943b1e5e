"""The command ``python -m ricci.distributed.run``: one program in several processes of a machine.

`_options` reads the command line, `_environment` makes each process's variables, `_group` holds the
processes so that none is left behind, `_output` prints their output, `_order` determines which
of them failed first, and `_supervisor` is the loop over all of it.

These modules import nothing but light parts of the standard library: the processes that they start
need the time.
"""

from ._supervisor import main as main

__all__ = ["main"]

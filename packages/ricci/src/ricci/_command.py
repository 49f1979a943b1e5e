"""``python -m ricci.distributed.run`` without the rest of this package.

Python imports ``ricci`` before it finds the module that ``-m`` names inside of it. The launcher
needs none of it, and the processes that it starts need the time; so it runs here, before the other
imports of ``ricci``, and ends this process.
"""

import sys

# While Python looks for the module, sys.argv begins with "-m" in place of its file. The module's
# name is the last of the interpreter's own arguments, perhaps in one word with the option.
if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] in (
    "ricci.distributed.run",
    "-mricci.distributed.run",
):
    from ._launcher import main

    raise SystemExit(main())

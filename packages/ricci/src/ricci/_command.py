"""Two commands that run without this package: ``ricci.distributed.run`` and ``ricci.errors``.

Python imports ``ricci`` before it finds the module that ``-m`` names inside of it. The launcher of
processes uses none of it, and the processes that it starts need the time; ``ricci.errors`` prints
a page. So they run here, before the other imports of ``ricci``, and end this process.
"""

import sys

# While Python looks for the module, sys.argv begins with "-m" in place of its file. The module's
# name is the last of the interpreter's own arguments, perhaps in one word with the option.
command = sys.orig_argv[-len(sys.argv)].removeprefix("-m") if sys.argv[:1] == ["-m"] else ""
if command == "ricci.distributed.run":
    from ._launcher import main

    raise SystemExit(main())
if command == "ricci.errors":
    from ricci_ir.explain import main as explain

    raise SystemExit(explain(sys.argv[1:]))

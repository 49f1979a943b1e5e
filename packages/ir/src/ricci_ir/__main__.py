"""The command that explains errors: ``python -m ricci_ir CODE``."""

import sys

from .explain import main

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

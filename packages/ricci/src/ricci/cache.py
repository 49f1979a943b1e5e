"""The command that shows and prunes a persistent compilation cache.

    python -m ricci.cache list FOLDER

``--help`` shows its other commands.
"""

from ricci_xla.cache import main as main

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(main())

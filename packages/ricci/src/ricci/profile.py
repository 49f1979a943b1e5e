"""The command that runs a script and writes a page on where its time went.

    python -m ricci.profile -o profile.html train.py --steps 100

``--help`` shows its options.
"""

from ricci._profile import main as main

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(main())

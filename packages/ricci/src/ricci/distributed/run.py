"""The command that runs one program in several processes of this machine.

    python -m ricci.distributed.run -n 4 train.py --steps 100

``--help`` shows its options.
"""

from ricci._launcher import main as main

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(main())

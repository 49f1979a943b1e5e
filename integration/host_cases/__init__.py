"""What goes wrong in programs of several processes, and what each process should say then.

``python -m host_cases`` in this folder runs every fault on Ricci and on the oracle, and writes the
table of `docs/devices/hosts.md`.
"""

"""Faults in programs of several processes, and the message that each process should print.

``python -m host_cases`` in this folder runs every fault on Ricci and on the oracle, and writes the
table of `docs/devices/hosts.md`.
"""

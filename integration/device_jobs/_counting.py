"""Counting what a compiled program runs."""

import re

COLLECTIVE = re.compile(
    r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)
COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.-]+) \(.*?^}", re.MULTILINE | re.DOTALL)
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = .*? ([a-z][\w-]*)\(", re.MULTILINE)
FREE = {"parameter", "constant", "get-tuple-element", "tuple", "bitcast"}


def instructions(text):
    """Return how many instructions a program runs.

    A fusion is one: how often XLA repeats cheap ones inside of fusions says nothing of the work.
    """
    bodies = (m.group() for m in COMPUTATION.finditer(text) if "fused" not in m.group(1))
    return sum(kind not in FREE for body in bodies for kind in INSTRUCTION.findall(body))

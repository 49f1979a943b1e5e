"""The module of a model that computes an array, by the names of the parameters that it reads.

Libraries such as Flax's Linen set a name scope for each module. Where there is none, as in NNX and
Equinox, the arguments' names have the modules' paths: ``model.blocks[3].attn.kernel``.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

from ricci_parallel.reports._hlo_text import Computation, Instruction

__all__ = ["module_path"]

_PARTS = re.compile(r"^\w+|\.\w+|\[[^\]]*\]")
# Opcodes of an operand that is a parameter in another form.
_FORMS = frozenset({"bitcast", "broadcast", "convert", "copy", "reshape", "transpose"})
# An array belongs to a module if it, or an operand of its operation, reads its parameters.
_STEPS = 2


def module_path(computation: Computation, instruction: Instruction) -> str:
    """Return the path of the module whose parameters an instruction reads, or ``""``.

    Args:
      computation: the computation that the instruction is in; only an entry has named parameters.
      instruction: the instruction.
    """
    level = [instruction]
    for _ in range(_STEPS if computation.is_entry else 0):
        names = dict.fromkeys(name for each in level for name in each.operands)
        level = [_parameter(computation, name) for name in names]
        modules = [_module(each.op_name) for each in level if each.opcode == "parameter"]
        path = _common(list(filter(None, modules)))
        if path:
            return path
    return ""


def _parameter(computation: Computation, name: str) -> Instruction:
    """The instruction of an operand, or the parameter that it is another form of."""
    instruction = source = computation.instructions[name]
    while source.opcode in _FORMS and source.operands:
        source = computation.instructions[source.operands[0]]
    return source if source.opcode == "parameter" else instruction


def _module(argument: str) -> list[str]:
    """The parts of the path of a parameter's module: without the parameter's own name."""
    parts = _PARTS.findall(argument.removesuffix(".value"))
    return parts[:-1] if len(parts) > 2 else []


def _common(paths: Sequence[Sequence[str]]) -> str:
    """The path that all have in common, if it is that of a module or of its parents."""
    same = (parts[0] if len({*parts}) == 1 else "" for parts in zip(*paths, strict=False))
    common = [*takewhile(bool, same)]
    # An operation that joins several modules, such as a loss, is not a part of their model.
    least = max(2, min(map(len, paths), default=0) - 1)
    return "".join(common) if len(common) >= least else ""

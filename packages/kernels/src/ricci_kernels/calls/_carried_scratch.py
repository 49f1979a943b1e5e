"""The scratch buffers through which the steps of a grid depend on earlier ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_lax import cond_p
from ricci_lax.refs import swap_p

__all__: list[str] = []


def is_carried(kernel: ir.Jaxpr, scalars: dict[ir.Var, Any], buffers: Sequence[ir.Var]) -> bool:
    """Whether a step may read what an earlier one wrote to a scratch buffer.

    It is assumed to, unless it overwrites the whole buffer first. Branches by known scalars are
    followed, so that buffers count as overwritten that a kernel sets where a position is 0.

    Args:
      kernel: the kernel, whose arguments are scalars and references.
      scalars: the scalars whose value is known.
      buffers: the references to the scratch buffers.
    """
    buffers = [v for v in buffers if v.aval.memory_space is not TPUMemorySpace.SEMAPHORE]  # pyright: ignore
    return _overwritten(kernel, dict(scalars), {v: i for i, v in enumerate(buffers)}, set()) is None


def is_overwritten(kernel: ir.Jaxpr, buffer: ir.Var) -> bool:
    """Whether each step overwrites a whole buffer ahead of any read.

    Args:
      kernel: the kernel, whose arguments are references.
      buffer: the reference to the buffer.
    """
    return bool(_overwritten(kernel, {}, {buffer: 0}, set()))


def _overwritten(
    jaxpr: ir.Jaxpr, scalars: dict[ir.Var, Any], buffers: dict[ir.Var, int], overwritten: set[int]
) -> set[int] | None:
    """The buffers that are overwritten after a jaxpr; ``None`` if one was read before it was."""
    used = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is ir.Var}
    used |= {v for v in jaxpr.outvars if type(v) is ir.Var}
    for eqn in jaxpr.eqns:
        values = [known_value(x, scalars) for x in eqn.invars]
        references = {buffers[x] for x in eqn.invars if type(x) is ir.Var and x in buffers}
        if not references:
            evaluate_scalar(eqn, values, scalars)
        elif eqn.primitive is cond_p:
            branches = eqn.params["branches"]
            # With a known index one branch runs; else a buffer is surely overwritten if all
            # branches do so.
            index = values[0]
            chosen = branches if index is None else [branches[clamped(index, len(branches))]]
            ends = [
                _overwritten(
                    branch,
                    passed(branch, eqn.invars[1:], scalars),
                    passed(branch, eqn.invars[1:], buffers),
                    set(overwritten),
                )
                for branch in chosen
            ]
            if any(end is None for end in ends):
                return None
            overwritten = set.intersection(*[end for end in ends if end is not None])
        # A store without indices overwrites the whole buffer. It returns the old value, which is a
        # read only where something uses that.
        elif eqn.primitive is swap_p and not eqn.params["transforms"]:
            if eqn.outvars[0] in used and not references <= overwritten:
                return None
            overwritten |= references
        elif not references <= overwritten:
            return None
    return overwritten


def known_value(atom: ir.Atom, scalars: dict[ir.Var, Any]) -> ir.ArrayLike | None:
    """The value of an operand, or ``None``.

    Args:
      atom: the operand.
      scalars: the scalars whose value is known.
    """
    return atom.val if type(atom) is ir.Literal else scalars.get(atom)  # pyright: ignore


def clamped(index: ir.ArrayLike, count: int) -> int:
    """The number of the branch that an index selects among several.

    Args:
      index: the index, a scalar.
      count: the number of branches.
    """
    return min(max(int(np.asarray(index)), 0), count - 1)


def passed[T](
    jaxpr: ir.Jaxpr, operands: Sequence[ir.Atom], table: dict[ir.Var, T]
) -> dict[ir.Var, T]:
    """The entries of a table by variable for the arguments of a nested jaxpr.

    Args:
      jaxpr: the nested jaxpr.
      operands: what its arguments are in the outer one.
      table: the entries of the outer one's variables.
    """
    pairs = zip(jaxpr.invars, operands, strict=True)
    return {v: table[x] for v, x in pairs if type(x) is ir.Var and x in table}


def evaluate_scalar(eqn: ir.JaxprEqn, values: Sequence[Any], scalars: dict[ir.Var, Any]) -> None:
    """Add the result of an equation to the known scalars, if it follows from them.

    Args:
      eqn: the equation.
      values: the known values of its operands, else ``None``.
      scalars: the scalars whose value is known.
    """
    rule = ir.exact_rules.get(eqn.primitive)
    is_scalar = all(v.aval.shape == () for v in (*eqn.invars, *eqn.outvars))  # pyright: ignore
    if rule is not None and values and is_scalar and all(x is not None for x in values):
        result = rule(*map(np.asarray, values), **eqn.params)
        scalars[eqn.outvars[0]] = result

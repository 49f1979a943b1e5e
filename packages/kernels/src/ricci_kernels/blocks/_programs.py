"""The position in the grid: ``program_id`` and ``num_programs``."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import index as as_int
from typing import Any

import numpy as np

import ricci_ir as ir

__all__ = ["num_programs", "program_id"]


class Frame(ir.TupleRecord):
    """The grid that a function is traced for.

    Attributes:
      sizes: the number of steps along each axis; ``None`` for one that is traced.
      position: returns the step's index along an axis.
      steps: returns the number of steps along an axis whose size is traced.
    """

    sizes: tuple[int | None, ...]
    position: Callable[[int], Any]
    steps: Callable[[int], Any]


# The innermost grid of this thread. The caches of traced functions see its sizes: ``entered``.
_frame: ir.State = ir.State("kernel_grid", None, None)


class _GridScope(ir.TupleRecord):
    """The sizes of a grid as the name of an axis in scope, which keys caches of functions."""

    sizes: tuple[int | None, ...]

    def __repr__(self) -> str:
        return f"grid{self.sizes}"


def entered(frame: Frame, names: Sequence[Any] | None, run: Callable[[], Any]) -> Any:
    """Run a function inside of a grid.

    Args:
      frame: the grid.
      names: the name of each axis, or ``None``.
      run: the function.
    """
    sizes = frame.sizes
    # A jitted function that reads program_id depends on the grid, but caches of traced functions
    # see types and axes in scope only: the sizes are an axis's name, so that another grid traces
    # anew.
    axes: list[Any] = [(_GridScope(sizes), 1)]
    if names is not None:
        axes += [
            (name, size and ir.PositionedSize(size, partial(frame.position, axis)))
            for axis, (name, size) in enumerate(zip(names, sizes, strict=True))
            if name is not None
        ]
    with _frame(frame), ir.extend_axes(axes):
        return run()


def _current(name: str, axis: Any) -> tuple[Frame, int]:
    frame = _frame.value
    if frame is None:
        raise ValueError(
            f"{name} is called outside of a kernel. Only the function that pallas_call runs, and "
            "its index maps, have a position in a grid."
        )
    axis = as_int(axis)
    if not 0 <= axis < len(frame.sizes):
        raise ValueError(f"Axis {axis} is out of bounds for grid {frame.sizes}")
    return frame, axis


def program_id(axis: int) -> ir.Array:
    """The index of the current step of the grid along an axis.

    Args:
      axis: the axis of the grid.

    Returns:
      An int32 scalar.

    Raises:
      ValueError: outside of a kernel, or if the grid has no such axis.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> def count(out):
      ...     out[pl.program_id(0)] = pl.program_id(0) * 10
      >>> steps = pl.pallas_call(
      ...     count, ricci.ShapeDtypeStruct((3,), np.int32), grid=3, interpret=True
      ... )
      >>> steps()
      Array([ 0, 10, 20], dtype=int32)
    """
    frame, axis = _current("program_id", axis)
    return frame.position(axis)


def num_programs(axis: int) -> int | ir.Array:
    """The number of steps of the grid along an axis.

    Args:
      axis: the axis of the grid.

    Returns:
      An int, or a traced int32 scalar where the grid's size is traced.

    Raises:
      ValueError: outside of a kernel, or if the grid has no such axis.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> def last(out):
      ...     out[...] = np.int32(pl.num_programs(0) - 1)
      >>> pl.pallas_call(last, ricci.ShapeDtypeStruct((), np.int32), grid=3, interpret=True)()
      Array(2, dtype=int32)
    """
    frame, axis = _current("num_programs", axis)
    size = frame.sizes[axis]
    return frame.steps(axis) if size is None else size


def traced_frame(sizes: Sequence[int | None]) -> Frame:
    """The frame of a kernel that is being traced: positions are equations of its jaxpr.

    They are recorded in the kernel's own jaxpr, also where a loop or a branch inside of it asks for
    them, so that an interpreter replaces them in one place.

    Args:
      sizes: the number of steps along each axis; ``None`` for one that is traced.
    """
    trace = ir.context.trace

    def recorded(primitive: ir.Primitive, axis: int) -> Any:
        if not trace.alive:
            raise ValueError("the position in a grid is read after its kernel was traced.")
        with ir.set_trace(trace):
            return primitive.bind(axis=axis)

    return Frame(tuple(sizes), partial(recorded, program_id_p), partial(recorded, num_programs_p))


_scalar: ir.ShapedArray = ir.ShapedArray((), np.dtype("int32"))
_outside = ir.unsupported("a position in a grid exists in kernels only; an interpreter replaces it")
_rules: dict[str, Any] = {
    "abstract_eval": lambda *, axis: _scalar,
    "sharding": ir.unsharded(),
    "jvp": _outside,
    "transpose": _outside,
    "batch": _outside,
    "lower": _outside,
}

# ``axis`` counts from the kernel's own first axis; those that ``vmap`` adds have negative numbers.
program_id_p: ir.Primitive = ir.define("program_id", **_rules)
num_programs_p: ir.Primitive = ir.define("num_programs", **_rules)


def with_positions(jaxpr: ir.Jaxpr, added: int, rank: int, dynamic: Sequence[int]) -> ir.Jaxpr:
    """A kernel's jaxpr with the position in the grid as arguments instead of equations.

    Args:
      jaxpr: the jaxpr of a kernel.
      added: how many leading axes ``vmap`` has added to the grid.
      rank: the number of axes of the grid.
      dynamic: the axes whose size is traced.

    Returns:
      A jaxpr that takes the index along each axis, the sizes of the dynamic axes, and the kernel's
      operands.
    """
    # Positions are read at the top level only (see ``traced_frame``), hence replacing variables in
    # the outermost equations is enough.
    positions = [ir.Var(_scalar) for _ in range(rank)]
    sizes = {axis: ir.Var(_scalar) for axis in dynamic}
    replaced: dict[Any, Any] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        if eqn.primitive is program_id_p:
            replaced[eqn.outvars[0]] = positions[eqn.params["axis"] + added]
        elif eqn.primitive is num_programs_p:
            replaced[eqn.outvars[0]] = sizes[eqn.params["axis"] + added]
        elif any(type(v) is not ir.Literal and v in replaced for v in eqn.invars):
            read = [v if type(v) is ir.Literal else replaced.get(v, v) for v in eqn.invars]
            eqns.append(eqn.reading(read))
        else:
            eqns.append(eqn)
    return jaxpr.replace(invars=[*positions, *sizes.values(), *jaxpr.invars], eqns=eqns)

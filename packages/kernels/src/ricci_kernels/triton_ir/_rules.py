"""The rules of primitives, by which a kernel's equations become Triton's operations."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.calls._batching import example_ref_p
from ricci_kernels.calls._compiled_calls import Refused, RefusedShape, refusal
from ricci_stablehlo import is_splat, lower_rules

from ._table import triton_rules as triton_rules
from ._writer import Value, Writer, element_of

__all__ = ["Dim", "Local", "Operand", "Reference", "Rule", "evaluate", "refuse", "triton_rules"]


class Dim(ir.TupleRecord):
    """A dimension of a reference.

    Attributes:
      size: its number of elements.
      stride: the distance in memory between neighbours, in elements.
      start: where the block begins in the array; ``None`` for 0.
      length: the length of the array, if the block may reach over its end.
      below: whether the block may begin before the array.
    """

    size: int
    stride: int
    start: Value | None = None
    length: int | None = None
    below: bool = False


class Reference(ir.TupleRecord):
    """A reference to a block of an operand.

    Attributes:
      pointer: the address of the block's first element.
      dims: the dimensions that the kernel sees.
      dtype: of the elements.
      integer: the type of the integers in which positions are computed.
      origin: the name of the operand in messages.
      is_writable: whether the kernel may write to it.
      shared: an axis of the grid whose steps have the same block; ``None`` if each has its own.
    """

    pointer: Value
    dims: tuple[Dim, ...]
    dtype: np.dtype
    integer: str
    origin: str
    is_writable: bool
    shared: int | None = None


class Local:
    """A reference to a buffer that a kernel allocates, which is a value of the program.

    Args:
      value: the value that it holds.
      dtype: of the elements.
    """

    __slots__ = ("dtype", "value")

    def __init__(self, value: Value, dtype: np.dtype):
        self.value = value
        self.dtype = dtype


type Operand = Value | Reference | Local
type Rule = Callable[..., Value | Sequence[Value] | Sequence[Local]]

# The most elements of a tensor: more compile for minutes, or do not end.
LARGEST = 1 << 16


def evaluate(writer: Writer, jaxpr: ir.Jaxpr, operands: Sequence[Operand]) -> list[Value]:
    """Append the operations of a jaxpr, and return its results."""
    values: dict[Any, Any] = dict(zip(jaxpr.invars, operands, strict=True))
    for variable, constant in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        values[variable] = _constant(writer, np.asarray(constant))

    def read(atoms: Sequence[ir.Atom]) -> list[Any]:
        return [
            _constant(writer, np.asarray(v.val, v.aval.dtype))  # pyright: ignore
            if type(v) is ir.Literal
            else values[v]
            for v in atoms
        ]

    for eqn in jaxpr.eqns:
        values.update(zip(eqn.outvars, _apply(writer, eqn, read(eqn.invars)), strict=True))
    return read(jaxpr.outvars)


def _constant(writer: Writer, value: np.ndarray) -> Value:
    # Triton takes only tensors of equal elements as constants.
    if value.shape and not is_splat(value):
        raise NotImplementedError(
            f"an array of shape {value.shape} is a constant of the kernel. Pass it as an input."
        )
    return writer.constant(value.reshape(-1)[0], element_of(value.dtype), value.shape)


def _apply(writer: Writer, eqn: ir.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Append the operations of an equation.

    Raises:
      NotImplementedError: if its primitive has no rule, or an array no size that Triton takes.
    """
    rule = triton_rules.get(eqn.primitive)
    if rule is None:
        # No rule: the operation is evaluated by those that define it.
        program = _program(eqn)
        try:
            return evaluate(writer, program, operands)
        except Refused as error:
            # Equations of functions of Ricci's have no line of the user's.
            if "It is at" in str(error) or eqn.raw_source[0] is None:
                raise
            raise type(error)(f"{error}\nIt is at {eqn.source}") from None
    # The row of a batch's scalars stays in memory, whose size may be any.
    for variable in eqn.outvars if eqn.primitive is not example_ref_p else ():
        _check_tile(eqn, variable.aval)  # pyright: ignore[reportArgumentType]
    try:
        results = rule(writer, eqn, *operands)
    except NotImplementedError as error:
        if isinstance(error, Refused):
            raise
        raise refuse(eqn, str(error)) from None
    return [results] if type(results) is Value else results


def _program(eqn: ir.JaxprEqn) -> ir.Jaxpr:
    """The jaxpr of a primitive that is defined by others."""
    program = ir.program_rules.get(eqn.primitive)
    if program is not None:
        return program(**eqn.params)[0]
    function = getattr(lower_rules.get(eqn.primitive), "function", None)
    if function is None:
        raise refuse(eqn, "has no Triton operation; compute it outside of the kernel")

    def flat(*operands: object) -> list[Any]:
        results = function(*operands, **eqn.params)
        return list(results) if isinstance(results, list | tuple) else [results]

    return ir.trace_to_jaxpr(flat, [v.aval for v in eqn.invars], origin=ir.no_origin)


def _check_tile(eqn: ir.JaxprEqn, aval: ir.ShapedArray) -> None:
    """Refuse an array that is not a tensor of Triton's, or that would not compile in time."""
    if not aval.size:
        raise refuse(eqn, f"makes an array of shape {aval.shape}, which is empty")
    for size in aval.shape:
        if size & (size - 1):
            wide = 1 << size.bit_length()
            problem = (
                f"makes an array of shape {aval.shape}; in Triton sizes are powers of 2. Take "
                f"{wide} in place of {size}: blocks that reach over the end of their array are "
                "masked, and plgpu.load(ref.at[pl.ds(start, size)], mask=...) takes a mask"
            )
            raise RefusedShape(str(refuse(eqn, problem)))
    if aval.size > LARGEST:
        raise refuse(
            eqn,
            f"makes an array of shape {aval.shape}, {aval.size} elements. It would compile for "
            f"minutes, or not end: take blocks of at most {LARGEST} elements, and a larger grid",
        )


def refuse(eqn: ir.JaxprEqn, problem: str) -> NotImplementedError:
    """Return the error for an equation that Triton cannot compute."""
    return refusal("NVIDIA GPUs", eqn, f"it {problem}.")

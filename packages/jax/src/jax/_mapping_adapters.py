"""The steps of ``vectorize`` and of ``vmap``, in JAX's private forms."""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import wraps

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_batching import BatchTrace
from ricci_numpy import authoring

CClass = type(jnp.c_)
RClass = type(jnp.r_)

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AxisData:
    """The axis that a ``vmap`` maps over.

    Attributes:
      name: the name by which collectives refer to it, or ``None``.
      size: the number of examples.
      spmd_name: the mesh axis that it is sharded over, or ``None``.
      explicit_mesh_axis: the mesh axes of the type of a vector along this axis, or ``None``.
    """

    name: Hashable
    size: int
    spmd_name: Hashable
    explicit_mesh_axis: tuple[object, ...] | None


def apply_excluded(
    func: Callable[..., object],
    excluded: Collection[int | str],
    args: Sequence[object],
    kwargs: dict[str, object],
) -> tuple[Callable[..., object], Sequence[object], dict[str, object]]:
    """Bind the excluded arguments of a function.

    Args:
      func: the function.
      excluded: positions and names of arguments.
      args, kwargs: all arguments.

    Returns:
      A function of the other arguments, and these.
    """
    if not excluded:
        return func, args, kwargs
    mapped = [i for i in range(len(args)) if i not in excluded]
    bound = {name: value for name, value in kwargs.items() if name in excluded}

    @wraps(func)
    def of_others(*others: object, **other_keywords: object) -> object:
        merged = list(args)
        for i, value in zip(mapped, others, strict=True):
            merged[i] = value
        return func(*merged, **bound, **other_keywords)

    others = {name: value for name, value in kwargs.items() if name not in excluded}
    return of_others, [args[i] for i in mapped], others


def parse_gufunc_signature(signature: str) -> tuple[list[Names], list[Names]]:
    """Return the names of the core dimensions of the arguments and of the results."""
    inputs, outputs = authoring.parse_signature(signature)
    return inputs, outputs


def parse_input_dimensions(
    args: Sequence[ir.Array], input_core_dims: Sequence[Names], error_context: str = ""
) -> tuple[ir.Shape, dict[str, int]]:
    """Return the shape that the leading dimensions broadcast to, and the sizes of the core ones.

    Args:
      args: the arrays.
      input_core_dims: the names of the core dimensions of each.
      error_context: the end of messages.
    """
    sizes = authoring.core_sizes(args, input_core_dims, error_context)
    leading = [
        x.shape[: x.ndim - len(names)] for x, names in zip(args, input_core_dims, strict=True)
    ]
    return jnp.broadcast_shapes(*leading), sizes


def check_output_dims(
    func: Callable[..., object],
    dim_sizes: dict[str, int],
    expected_output_core_dims: Sequence[Names],
    error_context: str = "",
) -> Callable[..., object]:
    """Wrap a function to check its results against the sizes of core dimensions."""
    return authoring.checked_results(func, expected_output_core_dims, dim_sizes, error_context)


def make_iota(axis_size: int) -> ir.Array:
    """Return the indices of the examples of a batch."""
    return jnp.arange(axis_size)


def to_elt(trace: BatchTrace, get_idx: object, x: ir.ArrayLike, spec: int | None) -> ir.ArrayLike:
    """Return the tracer of one example of a batch.

    Args:
      trace: the batching trace.
      get_idx: a function that returns the index of the example; not used for arrays.
      x: the batch, an array.
      spec: its batch dimension.
    """
    return trace.join(x, spec)


def is_constant_dim(d: object) -> bool:
    """Whether a size is a number, not a symbolic expression."""
    return isinstance(d, int)

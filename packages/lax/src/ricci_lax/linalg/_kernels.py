"""Calls of LAPACK's kernels and of their counterparts on GPUs, and loops over matrices.

Every kernel takes matrices in the last two dimensions, column-major, behind any number of batch
dimensions that all operands and results share.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ricci_ir import Array, ArrayLike, Shape, ShapedArray
from ricci_lax.elementwise._comparison import eq, select_n
from ricci_lax.elementwise._factories import BinaryFunction, scalar
from ricci_lax.structure import broadcast_in_dim, full_like
from ricci_stablehlo import Lowering, Value, batch_annotations, traced

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_GPU_PREFIXES = {"cuda": "cu", "rocm": "hip"}


def has_kernels(dtype: np.dtype) -> bool:
    """Whether the kernels support a dtype."""
    return dtype.name in _LETTERS


def matrix_dtype(operation: str, aval: ShapedArray) -> None:
    """Check that an operand's dtype is one that the kernels support.

    Raises:
      TypeError: if it is not float32, float64, complex64 or complex128.
    """
    if not has_kernels(aval.dtype):
        raise TypeError(
            f"{operation}: matrices must be float32, float64, complex64 or complex128, but the "
            f"operand is {aval.str_short()}. Convert it first."
        )


def check_matrices(operation: str, aval: ShapedArray, *, square: bool = False) -> None:
    """Check that an operand is a batch of matrices of a dtype with kernels.

    Raises:
      TypeError: if its dtype has no kernels, or it has fewer than two dimensions.
      ValueError: if it must be square and is not.
    """
    matrix_dtype(operation, aval)
    if len(aval.shape) < 2:
        raise TypeError(
            f"{operation}: the operand must have at least two dimensions (a matrix, or a batch "
            f"of them), but its shape is {aval.shape}."
        )
    if square:
        check_square(operation, aval)


def check_square(operation: str, aval: ShapedArray) -> None:
    """Check that an operand is a batch of square matrices.

    Raises:
      ValueError: if it is not.
    """
    if len(aval.shape) < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ValueError(
            f"{operation}: the matrices (the last two dimensions) must be square, but the operand "
            f"has shape {aval.shape}."
        )


def lapack(routine: str, dtype: np.dtype) -> str:
    """The name of a LAPACK kernel on CPU: ``lapack("potrf", float32)`` is its single form."""
    return f"lapack_{_LETTERS[dtype.name]}{routine}_ffi"


def is_gpu(ctx: Lowering) -> bool:
    """Whether the module is for a GPU."""
    return ctx.platform in _GPU_PREFIXES


def gpu_kernel(ctx: Lowering, name: str, suffix: str = "_ffi") -> str:
    """The name of a GPU kernel, such as ``solver_potrf``, in the platform's library.

    Args:
      suffix: how the name ends; a few kernels lack the usual ending.
    """
    return f"{_GPU_PREFIXES[ctx.platform]}{name}{suffix}"


def call_kernel(
    ctx: Lowering,
    target: str,
    operands: Sequence[Value],
    outs: Sequence[ShapedArray],
    batch_rank: int,
    attributes: Mapping[str, str],
    aliases: Mapping[int, int] | None = None,
    *,
    row_major: bool = False,
) -> list[Value]:
    """Call a kernel on batches of matrices, vectors or scalars.

    Args:
      target: the kernel's name.
      operands: each with ``batch_rank`` leading dimensions.
      outs: the results' types, likewise; or a scalar, for results that the kernel does not compute.
      attributes: the kernel's attributes as text, such as ``{"uplo": "76 : ui8"}``.
      aliases: which result may reuse the buffer of which operand.
      row_major: whether the kernel gets row-major matrices, which to it are the transposed ones.
    """
    if all(0 in out.shape for out in outs):
        # For empty operands some kernels divide by a size, which aborts the process.
        return [traced(_of_no_elements)(ctx, shape=out.shape, dtype=out.dtype) for out in outs]
    avals = [x.aval for x in operands]
    return ctx.custom_call(
        target,
        operands,
        outs,
        backend_config=attributes,
        operand_layouts=[_layout(a, batch_rank, row_major) for a in avals],
        result_layouts=[_layout(a, batch_rank, row_major) for a in outs],
        output_operand_aliases=aliases,
        **batch_annotations(avals, outs, batch_rank),
    )


def _of_no_elements(*, shape: Shape, dtype: np.dtype) -> Array:
    return broadcast_in_dim(scalar(0, dtype), shape, ())


def char(letter: str) -> str:
    """An attribute that LAPACK takes as a letter, such as ``L`` for the lower triangle."""
    return f"{ord(letter)} : ui8"


def flag(value: bool) -> str:
    """An attribute that is true or false."""
    return "true" if value else "false"


def _layout(aval: ShapedArray, batch_rank: int, row_major: bool) -> tuple[int, ...]:
    """The layout, minor-to-major: batches row-major, matrices column-major by default."""
    rank = len(aval.shape)
    # From the last dimension, the fastest, on. LAPACK's matrices have the rows fastest.
    order = list(range(rank - 1, -1, -1))
    if rank == batch_rank + 2 and not row_major:
        order[:2] = reversed(order[:2])
    return tuple(order)


def nan_where_failed(
    ctx: Lowering, x: Value, info: Value, batch_rank: int, succeeded: BinaryFunction = eq
) -> Value:
    """``x``, with NaN in each example whose kernel reported a failure.

    Args:
      info: the kernel's status, an int32 for each example.
      succeeded: the comparison of that with 0 that is true where the kernel did not fail.
    """
    # The status is one number for each example: it is broadcast along the dimensions of the
    # matrices.
    shape = x.shape

    def fill(x: ArrayLike, info: ArrayLike) -> Array:
        mask = broadcast_in_dim(succeeded(info, np.int32(0)), shape, tuple(range(batch_rank)))
        return select_n(mask, full_like(x, np.nan), x)

    return traced(fill)(ctx, x, info)

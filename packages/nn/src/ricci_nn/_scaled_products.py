"""Products of arrays that are quantized in blocks with scales."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from ml_dtypes import float4_e2m1fn, float8_e4m3fn, float8_e8m0fnu

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import jvp_flat, not_linear
from ricci_batching import Axis, batched_at
from ricci_numpy.authoring import check_choice
from ricci_stablehlo import Lowering, Value, of_function, traced

__all__ = ["BlockScaleConfig", "get_scaled_dot_general_config", "scaled_dot_general"]
__all__ += ["scaled_matmul"]

type DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
"""The contracted dimensions of both operands, and the batch dimensions of both."""


@dataclass(frozen=True, eq=False)
class BlockScaleConfig:
    """Quantization of an operand in blocks along its contracted dimension, each with a scale.

    Attributes:
      mode: ``"mxfp8"``, ``"mxfp4"`` or ``"nvfp4"``.
      block_size: the number of elements that share a scale.
      data_type, scale_type: the dtypes of elements and of scales.
      global_scale: the divisor of all elements, or ``None``.
      infer_only: whether the product is not differentiable.
    """

    mode: str
    block_size: int
    data_type: ir.DTypeLike
    scale_type: ir.DTypeLike
    global_scale: ir.ArrayLike | None
    infer_only: bool


def _global_scale(config: BlockScaleConfig) -> ir.Array:
    scale: Any = config.global_scale  # ``asarray`` raises for ``None``
    return jnp.asarray(scale, np.float32)


# The dtypes of elements whose scales are powers of 2.
_MX_ELEMENTS = {"mxfp8": float8_e4m3fn, "mxfp4": float4_e2m1fn}


def get_scaled_dot_general_config(
    mode: Literal["nvfp4", "mxfp8", "mxfp4"], global_scale: ir.ArrayLike | None = None
) -> BlockScaleConfig:
    """A standard quantization of an operand of ``scaled_dot_general``.

    Args:
      mode: ``"mxfp8"`` or ``"mxfp4"`` for blocks of 32 elements in float8 or float4 with powers of
        2 as scales, or ``"nvfp4"`` for blocks of 16 elements in float4 with scales in float8.
      global_scale: for ``"nvfp4"``, the scale of all blocks together, by default 1.

    Returns:
      A configuration for ``configs`` of ``scaled_dot_general``.

    Raises:
      ValueError: for another mode.

    Example:
      >>> import ricci
      >>> ricci.nn.get_scaled_dot_general_config("mxfp8").block_size
      32

    Source: the OCP Microscaling Formats (MX) specification, 1.0.
    """
    if mode in _MX_ELEMENTS:
        return BlockScaleConfig(mode, 32, _MX_ELEMENTS[mode], float8_e8m0fnu, None, False)
    if mode == "nvfp4":
        scale = jnp.ones((1,), np.float32) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, float4_e2m1fn, float8_e4m3fn, scale, False)
    raise ValueError(
        f"get_scaled_dot_general_config: mode={mode!r} is unknown; it is 'nvfp4', 'mxfp8' "
        "or 'mxfp4'."
    )


def scaled_matmul(
    lhs: ir.ArrayLike,
    rhs: ir.ArrayLike,
    lhs_scales: ir.ArrayLike,
    rhs_scales: ir.ArrayLike,
    preferred_element_type: ir.DTypeLike = np.float32,
) -> ir.Array:
    """Multiply matrices whose rows are quantized in blocks, each block with a scale.

    Args:
      lhs: an array of shape (B, M, K), usually in float8 or float4.
      rhs: an array of shape (B, N, K).
      lhs_scales, rhs_scales: arrays of shapes (B, M, k) and (B, N, k), where k divides K: each
        scale is that of K / k elements.
      preferred_element_type: the result's dtype.

    Returns:
      An array of shape (B, M, N): ``lhs`` times the transposes of ``rhs``, both scaled.

    Raises:
      ValueError: if shapes are incompatible.
      TypeError: if K is not a multiple of k.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> x, scale = np.ones((1, 2, 32), np.float32), np.full((1, 2, 1), 2.0, np.float32)
      >>> ricci.nn.scaled_matmul(x, x, scale, scale).tolist()
      [[[128.0, 128.0], [128.0, 128.0]]]

    Source: the OCP Microscaling Formats (MX) specification, 1.0.
    """
    operands: list[ir.Array] = [jnp.asarray(x) for x in (lhs, rhs, lhs_scales, rhs_scales)]
    shapes = ", ".join(str(x.shape) for x in operands)
    if any(x.ndim != 3 for x in operands):
        raise ValueError(f"scaled_matmul: all operands must be of rank 3, got shapes {shapes}.")
    for what, x, y in (("lhs and rhs", *operands[:2]), ("the scales", *operands[2:])):
        if (x.shape[0], x.shape[2]) != (y.shape[0], y.shape[2]):
            raise ValueError(
                f"scaled_matmul: {what} must have the same first and last sizes, got {x.shape} and "
                f"{y.shape}."
            )
    for x, scale in (operands[::2], operands[1::2]):
        if x.shape[:2] != scale.shape[:2]:
            raise ValueError(
                f"scaled_matmul: an operand of shape {x.shape} needs scales of shape "
                f"{(*x.shape[:2], 'k')}, got {scale.shape}."
            )
        if not scale.shape[2] or x.shape[2] % scale.shape[2]:
            raise TypeError(
                f"scaled_matmul: the last size of {x.shape} is not a multiple of the scales' last "
                f"size, {scale.shape}."
            )
    dtype = ir.explicit_dtype(preferred_element_type, "scaled_matmul")
    a, b, a_scales, b_scales = operands
    return _scaled_matmul(a, b, a_scales, b_scales, dtype=dtype)


@ir.composite("_scaled_matmul")
def _scaled_matmul(
    a: ir.Array, b: ir.Array, a_scales: ir.Array, b_scales: ir.Array, *, dtype: np.dtype
) -> ir.Array:
    return scaled_matmul_p.bind(a, b, a_scales, b_scales, dtype=dtype)


def _by_operations(
    a: ir.Array, b: ir.Array, a_scales: ir.Array, b_scales: ir.Array, *, dtype: np.dtype
) -> ir.Array:
    numbers = (((2,), (2,)), ((0,), (0,)))
    wide_a, wide_b = _times_scales(a, a_scales), _times_scales(b, b_scales)
    product = lax.dot_general(wide_a, wide_b, numbers, preferred_element_type=np.float32)
    return product.astype(dtype)


def _times_scales(x: ir.Array, scales: ir.Array) -> ir.Array:
    """Elements times the scales of their blocks, in float32."""
    batch, rows, blocks = scales.shape
    x = x.astype(np.float32).reshape(batch, rows, blocks, -1)
    return (x * scales.astype(np.float32)[..., None]).reshape(batch, rows, -1)


def _scaled_matmul_aval(
    a: ir.ShapedArray, b: ir.ShapedArray, *scales: ir.ShapedArray, dtype: np.dtype
) -> ir.ShapedArray:
    return ir.ShapedArray((*a.shape[:2], b.shape[1]), dtype)


def _scaled_matmul_jvp(
    primals: Sequence[ir.Array], tangents: Sequence[Any], *, dtype: np.dtype
) -> tuple[Any, Any]:
    product = lambda *operands: [_by_operations(*operands, dtype=dtype)]
    (result,), (tangent,) = jvp_flat(product, primals, tangents)
    return result, tangent


def _scaled_matmul_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, dtype: np.dtype
) -> tuple[ir.Array, int]:
    stacks = [batched_at(x, dim, axis, 0) for x, dim in zip(args, dims, strict=True)]
    joined = [x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]) for x in stacks]
    product = scaled_matmul_p.bind(*joined, dtype=dtype)
    return product.reshape(*stacks[0].shape[:2], *product.shape[1:]), 0


# XLA's names of the results that its operation on GPUs computes.
_RESULTS = {"float16": "F16", "bfloat16": "BF16", "float32": "F32"}


def _scaled_matmul_lower(ctx: Lowering, *operands: Value, dtype: np.dtype) -> Value:
    if ctx.platform != "cuda" or dtype.name not in _RESULTS:
        return traced(_by_operations)(ctx, *operands, dtype=dtype)
    # XLA computes it by cuDNN where the card has block scales, else by ordinary operations.
    config = {
        "lhs_batch_dimensions": [0],
        "rhs_batch_dimensions": [0],
        "dequantize_type": _RESULTS[dtype.name],
    }
    (result,) = ctx.custom_call(
        "__op$block_scaled_dot",
        operands,
        [ctx.out],
        backend_config=json.dumps({"scaled_dot_backend_config": config}),
        api_version=2,
        operand_layouts=[(2, 1, 0)] * 4,
        result_layouts=[(2, 1, 0)],
    )
    return result


scaled_matmul_p: ir.Primitive = ir.define(
    "scaled_matmul",
    sharding=ir.unsharded(),
    abstract_eval=_scaled_matmul_aval,
    jvp=_scaled_matmul_jvp,
    transpose=not_linear,
    batch=_scaled_matmul_batch,
    lower=of_function(_by_operations, _scaled_matmul_lower),
)


def _power_of_two_above(x: ir.Array) -> ir.Array:
    """The biased exponents, as bytes, of the smallest powers of 2 that are at least ``x`` > 0."""
    bits = lax.bitcast_convert_type(x, np.uint32)
    # A positive float32: 8 bits of biased exponent, 23 of mantissa. A mantissa that is not 0 is
    # above the power of two of its exponent, so the next one is taken; 255 would be infinity.
    exponent = lax.shift_right_logical(bits, np.uint32(23))
    mantissa = lax.bitwise_and(bits, np.uint32(0x7FFFFF))
    rounds_up = jnp.logical_and(mantissa > 0, exponent != 254)
    # Subnormal numbers up to 2^-127, which float8_e8m0fnu can represent, have exponent 0.
    is_least = jnp.logical_and(exponent == 0, mantissa <= 0x400000)
    rounds_up = jnp.logical_and(rounds_up, jnp.logical_not(is_least))
    return jnp.where(rounds_up, exponent + np.uint32(1), exponent).astype(np.uint8)


def _quantize(x: ir.Array, config: BlockScaleConfig) -> tuple[ir.Array, ir.Array]:
    """Quantize an array of shape (B, M, K) to elements and scales.

    The scale of a block makes its largest element the largest number of the elements' dtype.
    """
    batch, rows, size = x.shape
    if size % config.block_size:
        raise ValueError(
            f"scaled_dot_general: in mode {config.mode!r} the contracted sizes' product must "
            f"be a multiple of {config.block_size}, got {size}."
        )
    limit = float(jnp.finfo(config.data_type).max)
    blocks = x.astype(np.float32).reshape(batch, rows, -1, config.block_size)
    if config.mode == "nvfp4":
        blocks = blocks / _global_scale(config).reshape(())
    # The scale at which a block's largest element becomes the largest number of its dtype.
    largest = jnp.max(jnp.abs(blocks), axis=3, keepdims=True) / limit
    if config.mode in _MX_ELEMENTS:
        exponents = _power_of_two_above(largest)
        # The float32 with this exponent is the power of two itself. Exponent 0 is 2^-127, which is
        # subnormal in float32 and would be read as 0.
        wide = lax.shift_left(exponents.astype(np.uint32), np.uint32(23))
        divisor = lax.bitcast_convert_type(wide, np.float32)
        divisor = jnp.where(divisor == 0, np.float32(2.0**-127), divisor)
        scales = lax.bitcast_convert_type(exponents, config.scale_type)
    else:
        top = float(jnp.finfo(config.scale_type).max)
        # The barrier prevents XLA from removing the rounding to the dtype of scales and back.
        scales = lax.optimization_barrier(jnp.clip(largest, 0, top).astype(config.scale_type))
        divisor = scales.astype(np.float32)
    elements = jnp.clip(blocks / divisor, -limit, limit).astype(config.data_type)
    return elements.reshape(x.shape), scales[..., 0]


def _product(
    a: ir.Array, b: ir.Array, first: BlockScaleConfig, second: BlockScaleConfig, dtype: ir.DTypeLike
) -> ir.Array:
    """Quantize arrays of shapes (B, M, K) and (B, N, K), and multiply them."""
    (x, x_scales), (y, y_scales) = _quantize(a, first), _quantize(b, second)
    product = scaled_matmul(x, y, x_scales, y_scales, dtype)
    if first.mode != "nvfp4":
        return product
    factor = _global_scale(first) * _global_scale(second)
    return product * factor.reshape(()).astype(product.dtype)


def _where_in_range(x: ir.Array, gradient: ir.Array, config: BlockScaleConfig) -> ir.Array:
    """Return a gradient, with 0 where quantization has clipped the element."""
    # The largest representable product of element and scale; beyond it the quantized value is
    # constant.
    limit = float(jnp.finfo(config.data_type).max) * float(jnp.finfo(config.scale_type).max)
    in_range = jnp.abs(x) <= _global_scale(config).reshape(()) * limit
    return jnp.where(in_range, gradient, 0).astype(x.dtype)


def _quantized_product(
    configs: Sequence[BlockScaleConfig], dtype: ir.DTypeLike
) -> Callable[[ir.Array, ir.Array], ir.Array]:
    """The product of stacks of matrices, whose derivative has quantized operands as well.

    In mode ``"nvfp4"`` the derivative is that of the product without quantization.

    Args:
      configs: the quantization of the left operand, the right one, and the cotangent.
      dtype: the result's dtype.
    """

    @lax.custom_vjp
    def product(a: ir.Array, b: ir.Array) -> ir.Array:
        return _product(a, b, configs[0], configs[1], dtype)

    def forward(a: ir.Array, b: ir.Array) -> tuple[ir.Array, tuple[ir.Array, ir.Array]]:
        return product(a, b), (a, b)

    def backward(residuals: tuple[ir.Array, ir.Array], ct: ir.Array) -> tuple[ir.Array, ir.Array]:
        a, b = residuals
        if configs[0].mode == "nvfp4":
            by_a, by_b = jnp.matmul(ct, b), jnp.matmul(jnp.swapaxes(ct, 1, 2), a)
            return _where_in_range(a, by_a, configs[0]), _where_in_range(b, by_b, configs[1])
        turned = lambda x: jnp.swapaxes(x, 1, 2)
        # d(a bᵀ): da = ct · b and db = ctᵀ · a, whose contracted dimension _product wants last.
        by_a = _product(ct, turned(b), configs[2], configs[1], a.dtype)
        by_b = _product(turned(ct), turned(a), configs[2], configs[0], b.dtype)
        return by_a, by_b

    product.defvjp(forward, backward)
    return product


def scaled_dot_general(
    lhs: ir.ArrayLike,
    rhs: ir.ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: ir.DTypeLike = np.float32,
    configs: list[BlockScaleConfig] | None = None,
    implementation: Literal["cudnn"] | None = None,
) -> ir.Array:
    """Quantize the operands in blocks, then multiply them as ``dot_general`` does.

    Args:
      lhs, rhs: arrays of floats.
      dimension_numbers: as for ``lax.dot_general``.
      preferred_element_type: the result's dtype.
      configs: the quantization of ``lhs``, ``rhs`` and the result's cotangent, each from
        ``get_scaled_dot_general_config``; ``None`` for no quantization.
      implementation: ``None``, or ``"cudnn"``, with the same effect.

    Returns:
      An array of the shape that ``lax.dot_general`` gives, of dtype ``preferred_element_type``.

    Raises:
      ValueError: if the product of the contracted sizes is not a multiple of the block size, or the
        implementation is unknown.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> x = np.ones((2, 32), np.float32)
      >>> config = ricci.nn.get_scaled_dot_general_config("mxfp8")
      >>> ricci.nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=[config] * 3).tolist()
      [[32.0, 32.0], [32.0, 32.0]]

    Source: the OCP Microscaling Formats (MX) specification, 1.0.
    """
    check_choice("scaled_dot_general", "implementation", implementation, (None, "cudnn"))
    dtype = ir.explicit_dtype(preferred_element_type, "scaled_dot_general")
    if configs is None:
        return lax.dot_general(lhs, rhs, dimension_numbers, preferred_element_type=dtype)
    (lhs_contracted, rhs_contracted), (lhs_batch, rhs_batch) = dimension_numbers
    a, lead, rows = _as_stack(jnp.asarray(lhs), lhs_contracted, lhs_batch)
    b, _, columns = _as_stack(jnp.asarray(rhs), rhs_contracted, rhs_batch)
    stacked_product = _quantized_product(tuple(configs), dtype)(a, b)
    return stacked_product.reshape(*lead, *rows, *columns)


def _as_stack(
    x: ir.Array, contracted: Sequence[int], batch: Sequence[int]
) -> tuple[ir.Array, ir.Shape, ir.Shape]:
    """Reshape ``x`` to (batch, others, contracted); return also the sizes of batch and others."""
    others = [d for d in range(x.ndim) if d not in contracted and d not in batch]
    sizes = [tuple([x.shape[d] for d in dims]) for dims in (batch, others, contracted)]
    moved = jnp.transpose(x, (*batch, *others, *contracted))
    return moved.reshape([prod(s) for s in sizes]), sizes[0], sizes[1]

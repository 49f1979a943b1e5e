"""Attention by cuDNN's fused kernels, on NVIDIA GPUs.

XLA runs them as custom calls whose configuration is a ``GpuBackendConfig`` as JSON, defined in
``xla/service/gpu/backend_configs.proto``. Queries, keys, values and results have the order (batch,
position, head, feature) in memory; XLA expects results as (batch, head, position, feature) with
that layout.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import not_linear
from ricci_batching import Axis, batched_at
from ricci_stablehlo import Lowering, Value, traced

__all__ = ["cudnn_attention"]

_ELEMENTS = {"bfloat16": "BF16", "float16": "F16"}
# The bias of a pair that a mask excludes: about the square root of the largest number.
_EXCLUDED = {"bfloat16": -(2.0**41), "float16": -(2.0**15)}
# Minor-to-major orders of (batch, head, position, feature) arrays: row-major, and with the heads
# between positions and features, as the operands are in memory.
_BY_POSITION, _BY_HEAD = (3, 2, 1, 0), (3, 1, 2, 0)
# The dimensions of each product of matrices: contracted ones of both operands, then batches.
_FORWARD = {"bmm1": (3, 3, (0, 2), (0, 2)), "bmm2": (3, 1, (0, 1), (0, 2))}
_BACKWARD = {
    "bmm1_grad_gemm1": (2, 1, (0, 1), (0, 2)),
    "bmm1_grad_gemm2": (3, 1, (0, 1), (0, 2)),
    "bmm2_grad_gemm1": (2, 1, (0, 1), (0, 2)),
    "bmm2_grad_gemm2": (3, 3, (0, 2), (0, 2)),
}


@dataclass(frozen=True, slots=True)
class _Options:
    """The parameters that the forward and the backward pass of attention share.

    Attributes:
      scale: the factor of the logits.
      mask: ``"NO_MASK"``, ``"CAUSAL"``, ``"PADDING"`` or ``"PADDING_CAUSAL"``.
      window: the number of keys that a query attends to, itself included; 0 for all.
      has_bias: whether there is a bias.
    """

    scale: float
    mask: str
    window: int
    has_bias: bool


type _Products = dict[str, tuple[int, int, tuple[int, int], tuple[int, int]]]
# The operands, the result and the sums of the softmax.
type _Residuals = tuple[tuple[ir.Array, ...], ir.Array, ir.Array]
type _Dims = Sequence[int | None]


def _backend_config(
    query: ir.ShapedArray, key: ir.ShapedArray, products: _Products, options: _Options
) -> str:
    """Return the configuration of a call.

    Args:
      query, key: their types.
      products: the dimensions of the products of matrices.
      options: the options.
    """
    batch, positions, heads, _ = query.shape
    strings = lambda numbers: [str(number) for number in numbers]
    invalid = "PRIMITIVE_TYPE_INVALID"
    logits = {
        "element_type": _ELEMENTS[query.dtype.name],
        "dimensions": strings((batch, heads, positions, key.shape[1])),
        "tuple_shapes": [],
        "layout": {
            "dim_level_types": [],
            "dim_unique": [],
            "dim_ordered": [],
            "minor_to_major": strings(_BY_POSITION),
            "tiles": [],
            "element_size_in_bits": "0",
            "memory_space": "0",
            "index_primitive_type": invalid,
            "pointer_primitive_type": invalid,
            "dynamic_shape_metadata_prefix_bytes": "0",
        },
        "is_dynamic_dimension": [False] * 4,
    }
    dimension_numbers = {
        f"{name}_dot_dimension_numbers": {
            "lhs_contracting_dimensions": strings([left]),
            "rhs_contracting_dimensions": strings([right]),
            "lhs_batch_dimensions": strings(left_batch),
            "rhs_batch_dimensions": strings(right_batch),
        }
        for name, (left, right, left_batch, right_batch) in products.items()
    }
    attention = {
        "algorithm": {
            "algo_id": "0",
            "math_type": "TENSOR_OP_MATH",
            "tuning_knobs": {"17": "1", "24": "0"},
            "is_cudnn_frontend": True,
            "workspace_size": "0",
        },
        "fmha_scale": options.scale,
        "intermediate_tensor_shape": logits,
        "is_flash_attention": True,
        "mask_type": options.mask,
        **dimension_numbers,
        "dropout_rate": 0.0,
        "seed": 42,
        "sliding_window_length": options.window,
        "max_seg_per_batch": 1,
        "is_paged_attention": False,
    }
    return json.dumps({"operation_queue_id": "0", "cudnn_fmha_backend_config": attention})


def _call(
    ctx: Lowering,
    suffix: str,
    operands: Sequence[Value],
    outs: Sequence[ir.ShapedArray],
    layouts: Sequence[Sequence[int]],
    has_bias: bool,
    config: str,
) -> list[Value]:
    """Call a kernel of cuDNN; the last result, its workspace, is dropped."""
    if ctx.platform != "cuda":
        raise NotImplementedError(
            "dot_product_attention: implementation 'cudnn' is for NVIDIA GPUs, not for "
            f"{ctx.platform!r}. Use None or 'xla', which computes the same."
        )
    target = f"__cudnn$fmha{'ScaleBias' if has_bias else ''}Softmax{suffix}"
    # Its size is a placeholder, which XLA replaces when it compiles the call.
    workspace = ir.ShapedArray((0,), np.dtype(np.uint8))
    *results, _ = ctx.custom_call(
        target,
        operands,
        [*outs, workspace],
        backend_config=config,
        api_version=2,
        operand_layouts=[tuple(reversed(range(x.aval.ndim))) for x in operands],
        result_layouts=[*layouts, (0,)],
    )
    return results


def _by_head(aval: ir.ShapedArray) -> ir.ShapedArray:
    batch, positions, heads, features = aval.shape
    return aval.resized((batch, heads, positions, features))


# Logically a transposition; with the layout of the result it moves nothing.
_by_position = traced(lambda x: lax.transpose(x, (0, 2, 1, 3)))


def _examples(x: ir.Array, dim: int | None) -> int:
    """Return the size of the batch of an operand, behind the mapped axis."""
    return x.shape[1 if dim == 0 else 0]


def _fold(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], bias: int | None):
    """Return the operands with the mapped axis joined to the batch.

    Args:
      bias: the position of a bias, which may have one example for all.
    """
    batch = _examples(args[0], dims[0])
    folded = []
    for i, (x, dim) in enumerate(zip(args, dims, strict=True)):
        x = batched_at(x, dim, axis, 0)
        # A bias that all examples share must be repeated: the joined batch is one dimension.
        if i == bias:
            x = jnp.broadcast_to(x, (axis.size, batch, *x.shape[2:]))
        folded.append(jnp.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])))
    return folded


def _unfold(axis: Axis, x: ir.Array) -> ir.Array:
    return jnp.reshape(x, (axis.size, x.shape[0] // axis.size, *x.shape[1:]))


def _forward_aval(
    query: ir.ShapedArray, *others: ir.ShapedArray, statistics: bool, **params: object
) -> list[ir.ShapedArray]:
    batch, positions, heads, _ = query.shape
    sums = ir.ShapedArray((batch, heads, positions), np.dtype(np.float32))
    return [ir.ShapedArray(query.shape, query.dtype), *([sums] if statistics else [])]


def _forward_batch(
    axis: Axis, args: Sequence[ir.Array], dims: _Dims, *, statistics: bool, options: _Options
):
    bias = 3 if options.has_bias else None
    operands = _fold(axis, args, dims, bias)
    if bias and dims[bias] is None and _examples(args[bias], None) == 1:
        operands[bias] = args[bias]
    results = forward_p.bind(*operands, statistics=statistics, options=options)
    return [_unfold(axis, x) for x in results], [0] * len(results)


def _forward_lower(
    ctx: Lowering, *operands: Value, statistics: bool, options: _Options
) -> list[Value]:
    query, key = (x.aval for x in operands[:2])
    config = _backend_config(query, key, _FORWARD, options)
    outs = [_by_head(ctx.outs[0]), *ctx.outs[1:]]
    layouts = [_BY_HEAD, (2, 1, 0)][: len(outs)]
    out, *sums = _call(ctx, "", operands, outs, layouts, options.has_bias, config)
    return [_by_position(ctx, out), *sums]


# Operands: query, key, value; a bias; the lengths of the sequences of queries and of keys.
forward_p: ir.Primitive = ir.define(
    "dot_product_attention_fwd",
    sharding=ir.unsharded(),
    abstract_eval=_forward_aval,
    multiple_results=True,
    jvp=ir.unsupported("cuDNN's attention is differentiated by its own gradient, in reverse only"),
    transpose=not_linear,
    batch=_forward_batch,
    lower=_forward_lower,
)


def _backward_aval(
    query: ir.ShapedArray,
    key: ir.ShapedArray,
    value: ir.ShapedArray,
    sums: ir.ShapedArray,
    cotangent: ir.ShapedArray,
    *others: ir.ShapedArray,
    bias_gradient: bool,
    **params: object,
) -> list[ir.ShapedArray]:
    of = [query, key, value, *(others[:1] if bias_gradient else [])]
    return [ir.ShapedArray(x.shape, x.dtype) for x in of]


def _backward_batch(
    axis: Axis, args: Sequence[ir.Array], dims: _Dims, *, bias_gradient: bool, options: _Options
):
    operands = _fold(axis, args, dims, 5 if options.has_bias else None)
    results = [
        _unfold(axis, x)
        for x in backward_p.bind(*operands, bias_gradient=bias_gradient, options=options)
    ]
    if bias_gradient and _examples(args[5], dims[5]) == 1:
        # The gradient of a shared bias is the sum over the examples that share it.
        results[3] = jnp.sum(results[3], axis=1, keepdims=True)
    return results, [0] * len(results)


def _backward_lower(
    ctx: Lowering, *operands: Value, bias_gradient: bool, options: _Options
) -> list[Value]:
    query, key = (x.aval for x in operands[:2])
    config = _backend_config(query, key, _BACKWARD, options)
    outs = [*map(_by_head, ctx.outs[:3]), *ctx.outs[3:]]
    layouts = [_BY_HEAD] * 3 + [_BY_POSITION] * bias_gradient
    results = _call(ctx, "Backward", operands, outs, layouts, options.has_bias, config)
    return [*(_by_position(ctx, x) for x in results[:3]), *results[3:]]


# Operands: query, key, value, the sums of the softmax, the cotangent; a bias; the result; lengths.
backward_p: ir.Primitive = ir.define(
    "dot_product_attention_bwd",
    sharding=ir.unsharded(),
    abstract_eval=_backward_aval,
    multiple_results=True,
    jvp=ir.unsupported("cuDNN has no second derivatives of attention; use implementation=None"),
    transpose=not_linear,
    batch=_backward_batch,
    lower=_backward_lower,
)


def _check(query: ir.Array, key: ir.Array, is_causal: bool, window: tuple[int, int] | None) -> None:
    name, features = query.dtype.name, query.shape[3]
    if name not in _ELEMENTS:
        raise NotImplementedError(
            f"dot_product_attention: cuDNN takes bfloat16 and float16, not {name}. Convert with "
            "astype, or use implementation=None."
        )
    if features > 256 or features % 8:
        raise NotImplementedError(
            "dot_product_attention: cuDNN takes up to 256 features, in multiples of 8, not "
            f"{features}. Use implementation=None."
        )
    if window is not None and window[1] and not is_causal:
        raise ValueError(
            f"dot_product_attention: cuDNN has no window to the right (of {window[1]} keys). Pass "
            "local_window_size=(left, 0) or is_causal=True, or use implementation=None."
        )


def _full_bias(
    bias: ir.Array | None, mask: ir.Array | None, sizes: tuple[int, int], dtype: np.dtype
) -> ir.Array | None:
    """Return the bias with a mask as a part of it, of the full sizes of positions."""
    full = lambda x: x if x.shape[2:] == sizes else jnp.broadcast_to(x, (*x.shape[:2], *sizes))
    if mask is None:
        return None if bias is None else full(bias)
    zero, excluded = (ir.exact_scalar(x, dtype) for x in (0.0, _EXCLUDED[dtype.name]))
    # cuDNN takes no mask of arbitrary form: a large negative bias makes the weights zero.
    excluding = full(jnp.where(mask, zero, excluded))
    return excluding if bias is None else jnp.add(full(bias), excluding.astype(bias.dtype))


def _differentiable(bias: bool, lengths: bool, statistics: bool, options: _Options) -> Callable:
    """Return attention with cuDNN's gradient, as a function of the operands of ``forward_p``.

    Args:
      bias: whether the bias has a gradient.
      lengths: whether there are lengths of sequences.
      statistics: whether the sums of the softmax are a result.
      options: the options.
    """

    @lax.custom_vjp
    def attend(*operands: ir.Array) -> list[ir.Array]:
        return forward_p.bind(*operands, statistics=statistics, options=options)

    def forward(*operands: ir.Array) -> tuple[list[ir.Array], _Residuals]:
        out, sums = forward_p.bind(*operands, statistics=True, options=options)
        return [out, sums][: 1 + statistics], (operands, out, sums)

    def backward(residuals: _Residuals, cotangents: Sequence[ir.Array]) -> tuple[Any, ...]:
        (query, key, value, *others), out, sums = residuals
        positions = query.shape[1], key.shape[1]
        if positions[0] % 2 or positions[1] % 2:
            raise NotImplementedError(
                "dot_product_attention: cuDNN's gradient takes even lengths of sequences, not "
                f"{positions[0]} and {positions[1]}. Pad them, or use implementation=None."
            )
        biases, sizes = (others[:-2], others[-2:]) if lengths else (others, [])
        operands = (query, key, value, sums, cotangents[0], *biases, out, *sizes)
        gradients = backward_p.bind(*operands, bias_gradient=bias, options=options)
        # Neither a mask (a bias that was not given) nor lengths have a gradient.
        return (*gradients, *[None] * (len(biases) - bias + len(sizes)))

    attend.defvjp(forward, backward)
    return attend


def cudnn_attention(
    query: ir.Array,
    key: ir.Array,
    value: ir.Array,
    bias: ir.Array | None,
    mask: ir.Array | None,
    *,
    scale: float,
    is_causal: bool,
    query_lengths: ir.ArrayLike | None,
    key_lengths: ir.ArrayLike | None,
    window: tuple[int, int] | None,
    statistics: bool,
) -> list[ir.Array]:
    """Attention by cuDNN, of checked operands with a batch.

    Args:
      query, key, value, bias, mask, scale, is_causal: as for ``dot_product_attention``.
      query_lengths, key_lengths: the lengths of sequences.
      window: the distances to the left and to the right up to which a query attends to keys.
      statistics: whether to return the ``logsumexp`` of the logits, of shape (B, N, T), as well.

    Returns:
      The result, and the statistics if they are wanted.

    Raises:
      NotImplementedError: for dtypes and sizes that cuDNN does not support.
      ValueError: for a window to the right without causality.
    """
    _check(query, key, is_causal, window)
    batch, positions = query.shape[:2]
    operands = [query, key, value]
    full_bias = _full_bias(bias, mask, (positions, key.shape[1]), query.dtype)
    if full_bias is not None:
        operands.append(full_bias)
    has_lengths = query_lengths is not None or key_lengths is not None
    if has_lengths:
        sizes = (query_lengths, positions), (key_lengths, key.shape[1])
        for lengths, longest in sizes:
            whole = jnp.full((batch,), longest, np.int32)
            operands.append(whole if lengths is None else jnp.asarray(lengths))
    kinds = ["PADDING"] * has_lengths + ["CAUSAL"] * is_causal
    options = _Options(
        float(scale),
        "_".join(kinds) or "NO_MASK",
        # cuDNN counts the position itself.
        0 if window is None else window[0] + 1,
        full_bias is not None,
    )
    return _differentiable(bias is not None, has_lengths, statistics, options)(*operands)

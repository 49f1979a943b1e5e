"""LSTM layers by cuDNN, on NVIDIA GPUs.

cuDNN works in a buffer, and hands the gradient a second one, the reserve. Their sizes depend on the
library and the GPU, so that the plugin is asked for them when a function is traced. Without a GPU
there is no answer, and the layers are loops.

The two kernels are primitives, and so is the linear map of tangents, whose transpose the gradient's
kernel is. On other platforms of the same process, such as the CPU beside the GPU, they are lowered
to the loops, and the reserve is not used.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import UndefinedPrimal, Zero, instantiate, jvp, not_linear, vjp
from ricci_batching import Axis, batched_at, vmap
from ricci_lax.authoring import canonicalize_precision
from ricci_stablehlo import Lowering, Value, attribute, kernel_descriptors, of_function, traced

from ._lstm_layers import LSTMSizes, States, lstm_of_vector

__all__ = ["cudnn_lstm"]

type _Dims = Sequence[int | None]

_FLOAT, _INT = np.dtype(np.float32), np.dtype(np.int32)
# Whether products may round their operands to TensorFloat-32, by precision.
_TENSOR_FLOAT = {
    None: True,
    (lax.Precision.HIGH,) * 2: True,
    (lax.Precision.HIGHEST,) * 2: False,
    lax.DotAlgorithmPreset.TF32_TF32_F32: True,
    lax.DotAlgorithmPreset.F32_F32_F32: False,
}


class _Params(TypedDict):
    """The parameters of both primitives.

    Attributes:
      sizes: the sizes of the layers.
      tensor_float: whether products may round their operands to TensorFloat-32.
      precision: the precision of the loops' products.
      buffers: the numbers of floats of the buffer and of the reserve.
    """

    sizes: LSTMSizes
    tensor_float: bool
    precision: lax.PrecisionLike
    buffers: tuple[int, int]


def _arguments(batch: int, length: int, sizes: LSTMSizes, tensor_float: bool) -> tuple[Any, ...]:
    """Return the arguments by which the plugin describes the layers; 0.0 is the dropout."""
    *counts, bidirectional = sizes
    return (*counts, batch, length, 0.0, bidirectional, tensor_float)


def _loops(
    x: ir.Array,
    h_0: ir.Array,
    c_0: ir.Array,
    weights: ir.Array,
    *,
    lengths: ir.Array,
    params: _Params,
) -> States:
    operands = (x, h_0, c_0, weights, lengths)
    return lstm_of_vector(*operands, params["sizes"], 0.0, params["precision"])


def _forward_aval(
    x: ir.ShapedArray, h_0: ir.ShapedArray, *others: ir.ShapedArray, **params: Unpack[_Params]
) -> list[ir.ShapedArray]:
    sizes = params["sizes"]
    width = sizes.hidden_size * (2 if sizes.bidirectional else 1)
    shapes = [(*x.shape[:2], width), h_0.shape, h_0.shape, params["buffers"][1:]]
    return [ir.ShapedArray(shape, _FLOAT) for shape in shapes]


def _forward_loops(*operands: ir.Array, **params: Unpack[_Params]) -> list[ir.Array]:
    *arrays, lengths = operands
    states = _loops(*arrays, lengths=lengths, params=params)
    return [*states, jnp.zeros(params["buffers"][1], _FLOAT)]


def _backward_loops(
    dy: ir.Array, dh: ir.Array, dc: ir.Array, *operands: ir.Array, **params: Unpack[_Params]
) -> list[ir.Array]:
    *arrays, _, _, lengths = operands
    loops = partial(_loops, lengths=lengths, params=params)
    return list(vjp(loops, *arrays)[1]((dy, dh, dc)))


def _call(
    ctx: Lowering,
    target: str,
    operands: Sequence[Value],
    x: Value,
    aliases: dict[int, int] | None = None,
    **params: Unpack[_Params],
) -> list[Value] | None:
    """Call a kernel with a buffer behind its other results; return None without a GPU."""
    descriptors = kernel_descriptors.call(ctx.platform, "rnn")
    if descriptors is None:
        return None
    batch, length, _ = x.shape
    arguments = _arguments(batch, length, params["sizes"], params["tensor_float"])
    opaque = descriptors.build_rnn_descriptor(*arguments, *params["buffers"])
    *outs, last = ctx.outs
    buffer = ir.ShapedArray(params["buffers"][:1], _FLOAT)
    # The buffer precedes the reserve, the last result of the forward kernel.
    is_forward = aliases is None
    types = [*outs, buffer, last] if is_forward else [*outs, last, buffer]
    results = ctx.custom_call(
        target,
        operands,
        types,
        backend_config={"opaque": attribute(opaque)},
        output_operand_aliases=aliases,
    )
    del results[3 if is_forward else 4]
    return results


def _forward_lower(ctx: Lowering, *operands: Value, **params: Unpack[_Params]) -> Sequence[Value]:
    results = _call(ctx, "cudnn_rnn_ffi", operands, operands[0], **params)
    return _forward_as_loops(ctx, *operands, **params) if results is None else results


def _backward_lower(ctx: Lowering, *operands: Value, **params: Unpack[_Params]) -> Sequence[Value]:
    *arrays, lengths = operands
    weights = operands[6]
    # The kernel adds the gradient of the weights to an operand.
    zeros = ctx.constant(np.zeros((), _FLOAT), weights.aval)
    results = _call(
        ctx, "cudnn_rnn_bwd_ffi", [*arrays, zeros, lengths], operands[3], {3: 9}, **params
    )
    return _backward_as_loops(ctx, *operands, **params) if results is None else results


_forward_as_loops = traced(_forward_loops)
_backward_as_loops = traced(_backward_loops)


def _forward_jvp(
    primals: Sequence[ir.Array], tangents: Sequence[Any], **params: Unpack[_Params]
) -> tuple[Sequence[ir.Array], list[Any]]:
    results = forward_p.bind(*primals, **params)
    y, _, _, reserve = results
    *arrays, lengths = primals
    directions = [instantiate(t) for t in tangents[:4]]
    outs = tangent_p.bind(*arrays, *directions, y, reserve, lengths, **params)
    # The reserve depends on the operands, too. But derivatives of what reads it are those of the
    # loops, which do not.
    return results, [*outs, Zero.from_primal(reserve)]


def _loops_jvp(
    primitive: ir.Primitive,
    loops: Callable[..., Sequence[ir.Array]],
    primals: Sequence[ir.Array],
    tangents: Sequence[Any],
    **params: Unpack[_Params],
) -> tuple[Sequence[ir.Array], Sequence[Any]]:
    """Differentiate the loops by all operands but y, the reserve and the lengths, the last ones."""
    results = primitive.bind(*primals, **params)
    function = lambda *operands: loops(*operands, *primals[-3:], **params)
    directions = [instantiate(t) for t in tangents[:-3]]
    return results, jvp(function, primals[:-3], directions)[1]


def _backward_jvp(
    primals: Sequence[ir.Array], tangents: Sequence[Any], **params: Unpack[_Params]
) -> tuple[Sequence[ir.Array], Sequence[Any]]:
    return _loops_jvp(backward_p, _backward_loops, primals, tangents, **params)


def _tangent_loops(*operands: ir.Array, **params: Unpack[_Params]) -> list[ir.Array]:
    arrays, directions, lengths = operands[:4], operands[4:8], operands[-1]
    return list(jvp(partial(_loops, lengths=lengths, params=params), arrays, directions)[1])


def _tangent_jvp(
    primals: Sequence[ir.Array], tangents: Sequence[Any], **params: Unpack[_Params]
) -> tuple[Sequence[ir.Array], Sequence[Any]]:
    return _loops_jvp(tangent_p, _tangent_loops, primals, tangents, **params)


def _tangent_transpose(
    cotangents: Sequence[Any], *operands: ir.Array | UndefinedPrimal, **params: Unpack[_Params]
) -> list[Any]:
    arrays, others = operands[:4], operands[8:]
    of_states = [instantiate(ct) for ct in cotangents]
    gradients = backward_p.bind(*of_states, *arrays, *others, **params)
    return [*[None] * 4, *gradients, *[None] * 3]


def _tangent_batch(
    axis: Axis, args: Sequence[ir.Array], dims: _Dims, **params: Unpack[_Params]
) -> tuple[Sequence[ir.Array], list[int]]:
    results = vmap(partial(_tangent_loops, **params), in_axes=tuple(dims))(*args)
    return results, [0] * len(results)


def _one_by_one(
    primitive: ir.Primitive,
    args: Sequence[ir.Array],
    dims: _Dims,
    axis: Axis,
    **params: Unpack[_Params],
) -> tuple[Sequence[ir.Array], list[int]]:
    """Run one example after the other: a reserve belongs to one call."""
    mapped = [batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True) if d is not None]

    def one(examples: Sequence[ir.Array]) -> Sequence[ir.Array]:
        remaining = iter(examples)
        operands = (x if d is None else next(remaining) for x, d in zip(args, dims, strict=True))
        return primitive.bind(*operands, **params)

    results = lax.map(one, mapped)
    return results, [0] * len(results)


def _forward_batch(
    axis: Axis, args: Sequence[ir.Array], dims: _Dims, **params: Unpack[_Params]
) -> tuple[Sequence[ir.Array], list[int]]:
    return _one_by_one(forward_p, args, dims, axis, **params)


def _backward_batch(
    axis: Axis, args: Sequence[ir.Array], dims: _Dims, **params: Unpack[_Params]
) -> tuple[Sequence[ir.Array], list[int]]:
    return _one_by_one(backward_p, args, dims, axis, **params)


# Operands: x, h_0, c_0, weights, lengths. Results: those of ``lstm``, and the reserve.
forward_p: ir.Primitive = ir.define(
    "lstm_forward",
    sharding=ir.unsharded(),
    abstract_eval=_forward_aval,
    multiple_results=True,
    jvp=_forward_jvp,
    transpose=not_linear,
    batch=_forward_batch,
    lower=of_function(_forward_loops, _forward_lower),
)


def _tangent_aval(
    x: ir.ShapedArray, h_0: ir.ShapedArray, *others: ir.ShapedArray, **params: Unpack[_Params]
) -> list[ir.ShapedArray]:
    return _forward_aval(x, h_0, **params)[:3]


def _backward_aval(
    dy: ir.ShapedArray,
    dh: ir.ShapedArray,
    dc: ir.ShapedArray,
    *operands: ir.ShapedArray,
    **params: Unpack[_Params],
) -> list[ir.ShapedArray]:
    return [ir.ShapedArray(x.shape, x.dtype) for x in operands[:4]]


# Operands: the cotangents of the three results, x, h_0, c_0, weights, y, the reserve, lengths.
backward_p: ir.Primitive = ir.define(
    "lstm_backward",
    sharding=ir.unsharded(),
    abstract_eval=_backward_aval,
    multiple_results=True,
    jvp=_backward_jvp,
    transpose=not_linear,
    batch=_backward_batch,
    lower=of_function(_backward_loops, _backward_lower),
)


# Operands: x, h_0, c_0, weights, their tangents, y, the reserve, lengths.
tangent_p: ir.Primitive = ir.define(
    "lstm_tangent",
    sharding=ir.unsharded(),
    abstract_eval=_tangent_aval,
    multiple_results=True,
    jvp=_tangent_jvp,
    transpose=_tangent_transpose,
    batch=_tangent_batch,
    lower=traced(_tangent_loops),
)


def cudnn_lstm(
    x: ir.Array,
    h_0: ir.Array,
    c_0: ir.Array,
    weights: ir.Array,
    lengths: ir.Array,
    sizes: LSTMSizes,
    dropout: float,
    precision: lax.PrecisionLike,
) -> States | None:
    """Run layers by cuDNN; return None for other dtypes and dropout, and without a GPU.

    Args:
      x, h_0, c_0, weights, lengths: arrays of the right shapes.
      sizes: the sizes of the layers.
      dropout: the fraction of outputs that are dropped. cuDNN draws other elements than the loops,
        whose derivative in forward mode is needed; so none are dropped by cuDNN.
      precision: the precision of the products.
    """
    operands = (x, h_0, c_0, weights, lengths)
    dtypes = [operand.dtype for operand in operands]
    canonical = canonicalize_precision(precision)
    tensor_float = _TENSOR_FLOAT.get(canonical)
    is_static = all(isinstance(size, int) for size in x.shape)
    if tensor_float is None or dtypes != [_FLOAT] * 4 + [_INT] or dropout:
        return None
    if not is_static or not x.size:
        return None
    descriptors = kernel_descriptors.call("cuda", "rnn")
    if descriptors is None:
        return None
    batch, length, _ = x.shape
    buffers = descriptors.compute_rnn_workspace_reserve_space_sizes(
        *_arguments(batch, length, sizes, tensor_float)
    )
    params: _Params = {
        "sizes": sizes,
        "tensor_float": tensor_float,
        "precision": canonical,
        "buffers": tuple(buffers),
    }
    y, h, c, _ = forward_p.bind(*operands, **params)
    return y, h, c

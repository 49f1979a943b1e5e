"""Root-mean-square normalization by functions of our own, as a differentiable operation of arrays.

``docs/guides/custom-operations.md`` goes through this file step by step.
"""

import ctypes
from functools import partial

import jax
import jax.ffi


def register(library: ctypes.CDLL, platform: str = "cpu") -> None:
    """Register the functions of a library built from ``rms_norm.cc`` or ``rms_norm.cu``."""
    for name, handler in (("rms_norm", library.RmsNorm), ("rms_norm_grad", library.RmsNormGrad)):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform=platform)
        jax.ffi.register_ffi_target_as_batch_partitionable(name)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def rms_norm(x: jax.Array, weight: jax.Array, eps: float = 1e-6) -> jax.Array:
    """Divide by the root of the mean square over the last dimension, and multiply by a weight.

    Args:
      x: an array of shape ``(..., n)``.
      weight: an array of shape ``(n,)``.
      eps: what is added to the mean square.
    """
    return _forward(x, weight, eps)[0]


def _forward(x, weight, eps):
    types = (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct(x.shape[:-1], x.dtype))
    return jax.ffi.ffi_call("rms_norm", types, vmap_method="broadcast_all")(x, weight, eps=eps)


def _rms_norm_fwd(x, weight, eps):
    y, inv = _forward(x, weight, eps)
    return y, (x, weight, inv)


def _rms_norm_bwd(eps, residuals, ct):
    x, weight, inv = residuals
    types = (
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        jax.ShapeDtypeStruct(weight.shape, weight.dtype),
    )
    call = jax.ffi.ffi_call("rms_norm_grad", types, vmap_method="broadcast_all")
    return call(x, weight, inv, ct)


rms_norm.defvjp(_rms_norm_fwd, _rms_norm_bwd)

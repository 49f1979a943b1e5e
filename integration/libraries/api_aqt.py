"""AQT: quantized products: contractions, einsum and Flax layers that train on integers."""

import flax.linen as nn
from aqt.jax.v2 import aqt_quantizer, config
from aqt.jax.v2.aqt_dot_general import einsum
from aqt.jax.v2.flax import aqt_flax

import jax
import jax.numpy as jnp

A = jax.random.normal(jax.random.key(0), (6, 8))
B = jax.random.normal(jax.random.key(1), (8, 5))
NUMBERS = (((1,), (0,)), ((), ()))


def configured(bits):
    return config.fully_quantized(fwd_bits=bits, bwd_bits=bits, use_stochastic_rounding=False)


def products(bits):
    dot = configured(bits)
    loss = lambda a, b: jnp.sum(jnp.sin(dot(a, b, NUMBERS)))
    return dot(A, B, NUMBERS), jax.jit(jax.value_and_grad(loss, (0, 1)))(A, B)


def contracted(subscripts, *operands):
    loss = lambda *xs: jnp.sum(jnp.cos(einsum(subscripts, *xs, dg=configured(8))))
    return einsum(subscripts, *operands, dg=configured(8)), jax.grad(loss)(*operands)


def layer(bits):
    module = nn.Dense(4, dot_general_cls=lambda: aqt_flax.AqtDotGeneral(configured(bits)))
    rngs = {"params": jax.random.key(2)}
    variables = module.init(rngs, A)
    loss = lambda v: jnp.sum(module.apply(v, A, rngs=rngs) ** 2)
    return module.apply(variables, A, rngs=rngs), jax.jit(jax.grad(loss))(variables)["params"]


def quantized():
    tensor, _ = aqt_quantizer.quantizer_make(8).quant(A, calibration_axes=(1,))
    return tensor.qvalue, tensor.scale, tensor.dequant()


CASES = (
    {f"product of {bits} bits": lambda b=bits: products(b) for bits in (4, 8)}
    | {f"layer of {bits} bits": lambda b=bits: layer(b) for bits in (4, 8)}
    | {
        f"einsum {subscripts}": lambda s=subscripts, xs=operands: contracted(s, *xs)
        for subscripts, operands in {
            "ij,jk->ik": (A, B),
            "ij,jk->ki": (A, B),
            "bij,bjk->bik": (jnp.stack([A, A + 1]), jnp.stack([B, B + 1])),
        }.items()
    }
    | {"quantized": quantized}
)

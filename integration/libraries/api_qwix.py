"""qwix: models quantized after training, trained quantized, and adapted, by replaced functions."""

import functools

import numpy as np
import qwix
from flax import linen, nnx

import jax
import jax.numpy as jnp

GENERATOR = np.random.default_rng(0)
ROWS = jnp.asarray(GENERATOR.normal(size=(4, 16)), "float32")
IMAGES = jnp.asarray(GENERATOR.normal(size=(2, 8, 8, 3)), "float32")
SERIES = jnp.asarray(GENERATOR.normal(size=(2, 6, 16)), "float32")
KEY = jax.random.key(1)


class Perceptron(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(5)(linen.relu(linen.Dense(32)(x)))


class Convolutions(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.gelu(linen.Conv(8, (3, 3))(x))
        return linen.Dense(5)(x.reshape(x.shape[0], -1))


class Attention(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.MultiHeadDotProductAttention(num_heads=2)(x, x)
        return linen.Einsum((16, 8), "bsd,dk->bsk")(x).mean(axis=1)


class Layers(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(16, 32, rngs=rngs)
        self.outer = nnx.Linear(32, 5, rngs=rngs)

    def __call__(self, x):
        return self.outer(nnx.relu(self.inner(x)))


MODELS = {
    "perceptron": (Perceptron(), ROWS),
    "convolutions": (Convolutions(), IMAGES),
    "attention": (Attention(), SERIES),
}
DTYPES = {"int8": jnp.int8, "int4": jnp.int4, "float8": jnp.float8_e4m3fn}


def stored(model, x, weights, activations, jitted):
    """The parameters of a model with quantized weights, and its result."""
    rule = qwix.QuantizationRule(weight_qtype=weights, act_qtype=activations)
    quantized = qwix.quantize_model(model, qwix.PtqProvider([rule]))
    params = qwix.quantize_params(model.init(KEY, x)["params"], quantized.init(KEY, x)["params"])
    apply = jax.jit(quantized.apply) if jitted else quantized.apply
    return jax.tree.map(lambda leaf: leaf.astype("float32"), params), apply({"params": params}, x)


def trained(model, x, dtype):
    """The result and the gradient of a model whose products are quantized both ways."""
    rule = qwix.QtRule(weight_qtype=dtype, act_qtype=dtype, bwd_qtype=dtype)
    quantized = qwix.quantize_model(model, qwix.QtProvider([rule]))
    params = model.init(KEY, x)
    loss = lambda params: (quantized.apply(params, x) ** 2).sum()
    return quantized.apply(params, x), jax.grad(loss)(params)


def stored_layers(jitted):
    rule = qwix.QuantizationRule(weight_qtype=jnp.int8, act_qtype=jnp.int8)
    model = qwix.quantize_model(Layers(nnx.Rngs(0)), qwix.PtqProvider([rule]), ROWS)
    return nnx.jit(lambda model, x: model(x))(model, ROWS) if jitted else model(ROWS)


def adapted_layers():
    provider = qwix.LoraProvider(module_path=".*inner", rank=4, alpha=2.0, weight_qtype=jnp.int8)
    return qwix.apply_lora_to_model(Layers(nnx.Rngs(0)), provider, ROWS)(ROWS)


CASES = {
    **{
        f"{name} stored in {dtype}{' jitted' * jitted}": functools.partial(
            stored, *model, DTYPES[dtype], DTYPES[dtype], jitted
        )
        for name, model in MODELS.items()
        for dtype in ("int8", "float8")
        for jitted in (False, True)
    },
    "perceptron with weights in int4": functools.partial(
        stored, *MODELS["perceptron"], jnp.int4, None, False
    ),
    **{
        f"{name} trained in {dtype}": functools.partial(trained, *MODELS[name], DTYPES[dtype])
        for name in ("perceptron", "convolutions")
        for dtype in ("int8", "float8")
    },
    **{
        f"layers stored{' jitted' * jitted}": functools.partial(stored_layers, jitted)
        for jitted in (False, True)
    },
    "layers adapted": adapted_layers,
}

"""Training steps of three models, in three precisions."""

import numpy as np

import jax
import jax.numpy as jnp
from gpu_cases.case import normal
from jax import lax

Weights = dict[str, np.ndarray]
FP8 = jnp.float8_e4m3fn


def weight(*shape: int) -> np.ndarray:
    """Return random weights that preserve the variance of their operand."""
    return normal(*shape) / np.float32(np.sqrt(np.prod(shape[:-1])))


def dot(x, w, dtype):
    """Multiply matrices in a dtype; for FP8 with sums in float32, at the scale of each operand."""
    if dtype != FP8:
        return x.astype(dtype) @ w.astype(dtype)
    scales = [jnp.max(jnp.abs(a)).astype(np.float32) / 448 for a in (x, w)]
    a, b = ((z / scale).astype(FP8) for z, scale in zip((x, w), scales, strict=True))
    contracted = (((x.ndim - 1,), (0,)), ((), ()))
    out = lax.dot_general(a, b, contracted, preferred_element_type=np.float32)
    return out * (scales[0] * scales[1])


def perceptron(size: int, batch: int):
    """Return weights, a batch and the loss of a perceptron of four layers."""

    def loss(weights, x, y, dtype):
        for name in ("a", "b", "c"):
            x = jax.nn.relu(dot(x, weights[name], dtype))
        return jnp.mean((dot(x, weights["d"], dtype).astype(np.float32) - y) ** 2)

    data = normal(batch, size), normal(batch, size, seed=1)
    return {name: weight(size, size) for name in "abcd"}, data, loss


def convolutional(batch: int):
    """Return weights, a batch and the loss of a network of two convolutions."""

    def loss(weights, x, y, dtype):
        low = np.float32 if dtype == FP8 else dtype
        for name in ("a", "b"):
            layout = ("NHWC", "HWIO", "NHWC")
            kernel = weights[name].astype(low)
            x = lax.conv_general_dilated(
                x.astype(low), kernel, (2, 2), "SAME", dimension_numbers=layout
            )
            x = jax.nn.relu(x)
        logits = dot(x.mean((1, 2)), weights["c"], dtype).astype(np.float32)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))

    labels = np.arange(batch, dtype=np.int32) % 16
    weights = {"a": weight(3, 3, 3, 32), "b": weight(3, 3, 32, 64), "c": weight(64, 16)}
    return weights, (normal(batch, 32, 32, 3), labels), loss


def transformer(width: int, heads: int, layers: int, length: int, batch: int, vocabulary: int):
    """Return weights, a batch and the loss of a causal transformer, a scan over its layers."""

    def normalize(x):
        x = x - x.mean(-1, keepdims=True)
        return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)

    def loss(weights, ids, targets, dtype):
        low = jnp.bfloat16 if dtype == FP8 else dtype

        def layer(x, w):
            y = normalize(x)
            q, k, v = (dot(y, w[name], dtype).reshape(*x.shape[:2], heads, -1) for name in "qkv")
            q, k, v = (part.astype(low) for part in (q, k, v))
            mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
            x = x + dot(mixed, w["o"], dtype).astype(x.dtype)
            hidden = jax.nn.gelu(dot(normalize(x), w["u"], dtype))
            return x + dot(hidden, w["d"], dtype).astype(x.dtype), None

        layered = {name: w for name, w in weights.items() if name != "e"}
        x, _ = lax.scan(layer, weights["e"].astype(low)[ids], layered)
        logits = dot(normalize(x), weights["e"].T, dtype).astype(np.float32)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1)
        return -jnp.mean(picked)

    shapes = dict.fromkeys("qkvo", (layers, width, width))
    shapes |= {"u": (layers, width, 4 * width), "d": (layers, 4 * width, width)}
    weights = {n: normal(*s) / np.float32(np.sqrt(s[1])) for n, s in shapes.items()}
    weights["e"] = weight(vocabulary, width)
    ids = np.random.RandomState(0).randint(0, vocabulary, (batch, length + 1)).astype(np.int32)
    return weights, (ids[:, :-1].copy(), ids[:, 1:].copy()), loss


def models(big: bool):
    """Return weights, a batch and the loss of each model, by name."""
    if big:
        return {
            "perceptron": perceptron(1024, 256),
            "convolutional": convolutional(128),
            "transformer": transformer(512, 8, 4, 256, 8, 4096),
        }
    return {
        "perceptron": perceptron(64, 16),
        "convolutional": convolutional(8),
        "transformer": transformer(64, 8, 2, 32, 2, 128),
    }


DTYPES = {"f32": np.float32, "bf16": jnp.bfloat16, "fp8": FP8}


def training_step(loss, dtype):
    """Return a jitted step of gradient descent, which donates the weights."""

    def step(weights, *batch):
        value, gradients = jax.value_and_grad(loss)(weights, *batch, dtype)
        return jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradients), value

    return jax.jit(step, donate_argnums=0)

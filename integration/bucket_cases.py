"""Functions of arrays with a padded dimension, which buckets must not change.

Each takes an array ``x`` of shape (n, 4); those of the second table an array and integers.
"""

from typing import Any

import ricci
import ricci.numpy as jnp
from ricci import lax


def _layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def _attention(x):
    weights = ricci.nn.softmax(x @ x.T / 2.0)
    return weights @ x


def _causal_attention(x):
    scores = jnp.where(jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool)), x @ x.T, -jnp.inf)
    return ricci.nn.softmax(scores) @ x


def _rnn(x):
    def step(h, a):
        h = jnp.tanh(0.5 * h + a)
        return h, h

    return lax.scan(step, jnp.zeros(4), x)


def _rnn_backwards(x):
    return lax.scan(lambda h, a: (jnp.tanh(h + a), h), jnp.zeros(4), x, reverse=True)


def _cross_entropy(x):
    labels = jnp.arange(x.shape[0]) % 4
    picked = jnp.take_along_axis(ricci.nn.log_softmax(x), labels[:, None], axis=1)
    return -picked.mean()


def _positions(x):
    angle = jnp.arange(x.shape[0])[:, None] / 10.0 ** jnp.arange(4)
    return x + jnp.sin(angle)


def _heads(x):
    q = x.reshape(x.shape[0], 2, 2)
    return jnp.einsum("qhd,khd->hqk", q, q).reshape(2, -1)


def _conv(x, stride=1, padding: Any = "SAME"):
    kernel = jnp.linspace(-1.0, 1.0, 24).reshape(2, 4, 3)
    return lax.conv_general_dilated(x.T[None], kernel, (stride,), padding)


def _max_pool(x, stride=2, padding="SAME"):
    return lax.reduce_window(x, -jnp.inf, lax.max, (2, 1), (stride, 1), padding)


def _newton(x):
    def halve(a):
        return lax.while_loop(lambda c: jnp.abs(c).sum() > 1.0, lambda c: c / 2, a)

    return ricci.vmap(halve)(x)


def _loss(x):
    w = jnp.linspace(-1.0, 1.0, 16).reshape(4, 4)
    return ((jnp.tanh(x @ w) - x) ** 2).mean()


def _weights_gradient(x):
    return ricci.value_and_grad(lambda w: ((jnp.tanh(x @ w) - x) ** 2).mean())(jnp.ones((4, 4)))


def _gaussian_process(x):
    """The log marginal likelihood."""
    distance = ((x[:, None] - x[None]) ** 2).sum(-1)
    factor = jnp.linalg.cholesky(jnp.exp(-distance) + 0.1 * jnp.eye(x.shape[0]))
    target = jnp.sin(x[:, 0])
    z = lax.linalg.triangular_solve(factor, target[:, None], left_side=True, lower=True)
    return (z**2).sum() / 2 + jnp.log(jnp.diagonal(factor)).sum()


def _gradient_of(f):
    return ricci.grad(lambda x: sum(jnp.sum(jnp.sin(leaf)) for leaf in ricci.tree.leaves(f(x))))


FUNCTIONS = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(0),
    "deviation": lambda x: x.std(0),
    "product": lambda x: x.prod(0),
    "extremes": lambda x: (x.max(0), x.min(0), x.argmax(0), x.argmin(0)),
    "any and all": lambda x: ((x > 0).any(0), (x > -9).all(0)),
    "norm": lambda x: jnp.linalg.norm(x),
    "logsumexp": lambda x: ricci.nn.logsumexp(x, 0),
    "softmax": lambda x: ricci.nn.softmax(x, 0),
    "layer norm": _layer_norm,
    "batch norm": lambda x: (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5),
    "median": lambda x: jnp.median(x, 0),
    "sort": lambda x: jnp.sort(x, 0),
    "argsort": lambda x: jnp.argsort(x, 0),
    "lexsort": lambda x: jnp.lexsort((x[:, 0], jnp.round(x[:, 1]))),
    "greatest": lambda x: lax.top_k(x.T, 1),
    "cumulative": lambda x: (jnp.cumsum(x, 0), lax.cummax(x, 0), lax.cumprod(x, 0)),
    "cumulative backwards": lambda x: (
        lax.cumsum(x, 0, reverse=True),
        lax.cummin(x, 0, reverse=True),
        lax.cumlogsumexp(x, 0, reverse=True),
    ),
    "products": lambda x: (x @ x.T, x.T @ x),
    "outer": lambda x: jnp.outer(x[:, 0], x[:, 1]),
    "attention": _attention,
    "causal attention": _causal_attention,
    "heads": _heads,
    "recurrent": _rnn,
    "recurrent backwards": _rnn_backwards,
    "loop over elements": lambda x: lax.fori_loop(
        0, x.shape[0], lambda i, c: c * 0.5 + x[i], jnp.zeros(4)
    ),
    "map": lambda x: lax.map(lambda a: a / a.sum(), x),
    "while": _newton,
    "branches": lambda x: lax.cond(x.sum() > 0, lambda x: x[::-1], lambda x: 2 * x, x),
    "checkpoint": lambda x: ricci.checkpoint(_loss)(x),
    "cross entropy": _cross_entropy,
    "positional encoding": _positions,
    "ramp": lambda x: x[:, 0] * jnp.linspace(1.0, 2.0, x.shape[0]),
    "convolution": _conv,
    "convolution with strides": lambda x: _conv(x, 2),
    "valid convolution": lambda x: _conv(x, 2, ((3, 2),)),
    "pooling": _max_pool,
    "average pooling": lambda x: lax.reduce_window(x, 0.0, lax.add, (3, 1), (1, 1), "SAME"),
    "reverse": lambda x: x[::-1],
    "slices": lambda x: (x[1:], x[:-1], x[-1:], x[-1], x[0], x[::2]),
    "shift": lambda x: jnp.concatenate([jnp.zeros((1, 4)), x[:-1]]),
    "join": lambda x: jnp.concatenate([x, x[:1], x]),
    "stack": lambda x: jnp.stack([x, -x], 1),
    "pad": lambda x: jnp.pad(x, ((2, 1), (0, 0)), constant_values=3.0),
    "roll": lambda x: jnp.roll(x, 1, 0),
    "repeat": lambda x: jnp.repeat(x, 2, 0),
    "tile": lambda x: jnp.tile(x, (2, 1)),
    "flatten": lambda x: x.reshape(-1),
    "flatten the transposed": lambda x: x.T.reshape(-1),
    "regroup": lambda x: x.T.reshape(2, -1),
    "differences": lambda x: jnp.diff(x, axis=0),
    "fetch": lambda x: x[jnp.arange(x.shape[0])[::-1]],
    "fetch outside": lambda x: (
        jnp.take(x, jnp.array([0, 7, -1]), axis=0),
        jnp.take(x, jnp.array([0, 7]), axis=0, mode="clip"),
        x[jnp.array([0, 5])],
    ),
    "slice at a value": lambda x: lax.dynamic_slice(x, (100, 0), (1, 4)),
    "write": lambda x: x.at[jnp.arange(x.shape[0]) - 1].set(1.0),
    "write a slice": lambda x: x.at[1:].set(2 * x[:-1]),
    "add to a slice": lambda x: x.at[1:].add(2 * x[:-1]),
    "write at a value": lambda x: lax.dynamic_update_slice(x, jnp.ones((1, 4)), (100, 0)),
    "segments": lambda x: ricci.ops.segment_sum(x, jnp.arange(x.shape[0]) % 3, 3),
    "segment maxima": lambda x: ricci.ops.segment_max(x, jnp.arange(x.shape[0]) % 3, 3),
    "histogram": lambda x: jnp.histogram(x[:, 0], bins=4),
    "search": lambda x: jnp.searchsorted(jnp.sort(x[:, 0]), x[:, 1]),
    "first three": lambda x: jnp.nonzero(x[:, 0] > 0, size=3),
    "unique": lambda x: jnp.unique(jnp.round(x), size=3),
    "solve": lambda x: jnp.linalg.solve(x.T @ x + jnp.eye(4), jnp.ones(4)),
    "Gaussian process": _gaussian_process,
    "system": lambda x: jnp.linalg.solve(x @ x.T + jnp.eye(x.shape[0]), x),
    "determinant": lambda x: jnp.linalg.slogdet(x @ x.T + jnp.eye(x.shape[0])),
    "noise": lambda x: x + ricci.random.normal(ricci.random.key(0), x.shape),
    "Hessian": ricci.hessian(lambda x: (x[:, 0] ** 3).sum()),
    "training step": _weights_gradient,
    "sorted weights": ricci.grad(
        lambda x: (jnp.sort(x, 0) * jnp.arange(x.shape[0])[:, None]).sum()
    ),
}

# Functions whose gradient, a program of other operations, is compared as well.
GRADIENTS = {
    name: _gradient_of(FUNCTIONS[name])
    for name in (
        "deviation",
        "extremes",
        "logsumexp",
        "layer norm",
        "causal attention",
        "recurrent",
        "checkpoint",
        "cross entropy",
        "convolution with strides",
        "pooling",
        "slices",
        "join",
        "flatten the transposed",
        "fetch",
        "Gaussian process",
        "system",
        "write a slice",
        "segments",
    )
}

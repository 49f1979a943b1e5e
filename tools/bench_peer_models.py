"""Models and scientific programs among the work of `bench_peers.py`."""

from typing import Any

import numpy as np
from bench_peer_workloads import normal, row


def torch_gradient(torch: Any, loss: Any, parameters: list[Any]) -> list[Any]:
    """The gradients of a loss, of fresh copies of the parameters."""
    leaves = [p.detach().requires_grad_() for p in parameters]
    return list(torch.autograd.grad(loss(*leaves), leaves))


# A perceptron: 3 layers of 512, 128 examples

PERCEPTRON = normal((128, 512), *[(512, 512)] * 3)


def perceptron_loss(xp: Any, x: Any, *weights: Any) -> Any:
    for w in weights:
        x = xp.tanh(x @ w * 0.04)
    return (x**2).mean()


row("perceptron 3×512, 128 examples, gradient", PERCEPTRON, None,
    lambda torch, x, *ws: torch_gradient(torch, lambda *w: perceptron_loss(torch, x, *w), [*ws]),
    api=lambda api, x, *ws: api.grad(
        lambda ws: perceptron_loss(api.numpy, x, *ws))(ws))  # fmt: skip

# A convolutional network on 32 images of 3×32×32

NETWORK = normal((32, 3, 32, 32), (32, 3, 3, 3), (64, 32, 3, 3), (64, 64, 3, 3), (1024, 10))


def network_torch(torch: Any, x: Any, *weights: Any) -> Any:
    *filters, last = weights
    for w in filters:
        x = torch.nn.functional.conv2d(x, w * 0.1, padding=1).relu()
        x = torch.nn.functional.max_pool2d(x, 2)
    return ((x.flatten(1) @ last) ** 2).mean()


def network_api(api: Any, x: Any, *weights: Any) -> Any:
    *filters, last = weights
    for w in filters:
        x = api.nn.relu(api.lax.conv_general_dilated(x, w * 0.1, (1, 1), "SAME"))
        window = (1, 1, 2, 2)
        x = api.lax.reduce_window(x, -np.inf, api.lax.max, window, window, "VALID")
    return ((x.reshape(len(x), -1) @ last) ** 2).mean()


row("convolutional network, 32 images, gradient", NETWORK, None,
    lambda torch, x, *ws: torch_gradient(torch, lambda *w: network_torch(torch, x, *w), [*ws]),
    api=lambda api, x, *ws: api.grad(lambda ws: network_api(api, x, *ws))(ws))  # fmt: skip

# A transformer's block: 8 sequences of 128, 256 wide, 8 heads

BLOCK = normal((8, 128, 256), (256, 768), (256, 256), (256, 1024), (1024, 256))


def block_torch(torch: Any, x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
    functional = torch.nn.functional
    h = functional.layer_norm(x, (256,))
    q, k, v = (t.view(8, 128, 8, 32).transpose(1, 2) for t in (h @ qkv * 0.06).split(256, -1))
    mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + mixed.transpose(1, 2).reshape(8, 128, 256) @ out * 0.06
    h = functional.gelu(functional.layer_norm(x, (256,)) @ up * 0.06, approximate="tanh")
    return x + h @ down * 0.03


def block_api(api: Any, x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
    jnp = api.numpy

    def normalized(x: Any) -> Any:
        return api.nn.standardize(x, axis=-1)

    q, k, v = (t.reshape(8, 128, 8, 32) for t in jnp.split(normalized(x) @ qkv * 0.06, 3, -1))
    mixed = api.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + mixed.reshape(8, 128, 256) @ out * 0.06
    return x + api.nn.gelu(normalized(x) @ up * 0.06) @ down * 0.03


row("transformer block, 8×128×256", BLOCK, None, block_torch, api=block_api)
row("transformer block, 8×128×256, gradient", BLOCK, None,
    lambda torch, x, *ws: torch_gradient(
        torch, lambda *w: (block_torch(torch, x, *w) ** 2).mean(), [*ws]),
    api=lambda api, x, *ws: api.grad(
        lambda ws: (block_api(api, x, *ws) ** 2).mean())(ws))  # fmt: skip

# Science

ATTRACTION = normal((512, 3))


def accelerations(xp: Any, x: Any) -> Any:
    distance = x[:, None] - x[None]
    return -(distance / ((distance**2).sum(-1, **_kept(xp)) + 0.01) ** 1.5).sum(1)


def _kept(xp: Any) -> dict[str, bool]:
    return {"keepdim" if xp.__name__ == "torch" else "keepdims": True}


row("accelerations of 512 bodies", ATTRACTION, accelerations, accelerations)

FILTER = normal((500, 2), (4, 4), (2, 4))


def kalman_step(xp: Any, state: Any, y: Any, a: Any, c: Any) -> Any:
    mean, cov = state
    mean, cov = a @ mean, a @ cov @ a.T + xp.eye(4, dtype=a.dtype)
    gain = xp.linalg.solve(c @ cov @ c.T + xp.eye(2, dtype=a.dtype), c @ cov).T
    return mean + gain @ (y - c @ mean), cov - gain @ c @ cov


def kalman_loop(xp: Any, ys: Any, a: Any, c: Any) -> Any:
    state = (xp.zeros(4, dtype=a.dtype), xp.eye(4, dtype=a.dtype))
    for y in ys:
        state = kalman_step(xp, state, y, a * 0.3, c)
    return state


def kalman_api(api: Any, ys: Any, a: Any, c: Any) -> Any:
    jnp = api.numpy
    start = (jnp.zeros(4, a.dtype), jnp.eye(4, dtype=a.dtype))
    return api.lax.scan(lambda s, y: (kalman_step(jnp, s, y, a * 0.3, c), None), start, ys)[0]


row("Kalman filter, 500 steps of 4 by 2", FILTER, kalman_loop, kalman_loop, api=kalman_api)

POINTS = normal((300, 3), (300,))


def gaussian_process(xp: Any, scale: Any, x: Any, y: Any) -> Any:
    distance = ((x[:, None] - x[None]) ** 2).sum(-1)
    cov = xp.exp(-distance / scale) + 0.1 * xp.eye(len(x), dtype=x.dtype)
    factor = xp.linalg.cholesky(cov)
    return y @ xp.linalg.solve(cov, y) / 2 + xp.log(xp.diagonal(factor)).sum()


row("likelihood of a Gaussian process, 300 points, gradient", POINTS, None,
    lambda torch, x, y: torch_gradient(
        torch, lambda s: gaussian_process(torch, s, x, y), [torch.tensor(1.0)]),
    api=lambda api, x, y: api.grad(
        lambda s: gaussian_process(api.numpy, s, x, y))(np.float32(1.0)))  # fmt: skip

REGRESSION = normal((1000, 16), (16,), (16,))


def logistic_loss(xp: Any, w: Any, x: Any) -> Any:
    return xp.logaddexp(x @ w, 0 * x[:, 0]).sum() + (w**2).sum() / 2


def leapfrog(gradient: Any, w: Any, p: Any) -> Any:
    for _ in range(10):
        p = p - 0.01 * gradient(w)
        w = w + 0.02 * p
        p = p - 0.01 * gradient(w)
    return w, p


row("Hamiltonian Monte Carlo, 10 steps, 1000×16", REGRESSION, None,
    lambda torch, x, w, p: leapfrog(
        lambda w: torch_gradient(torch, lambda w: logistic_loss(torch, w, x), [w])[0], w, p),
    api=lambda api, x, w, p: leapfrog(
        api.grad(lambda w: logistic_loss(api.numpy, w, x)), w, p))  # fmt: skip

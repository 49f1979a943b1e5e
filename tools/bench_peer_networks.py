"""Steps of training larger networks among the work of `bench_peers.py`: a U-Net and a GPT."""

from typing import Any

import numpy as np
from bench_peer_models import torch_gradient
from bench_peer_workloads import normal, row

# A U-Net of two levels on 8 images of 3×32×32, one step of gradient descent

UNET = normal(
    (8, 3, 32, 32),
    (8, 3, 32, 32),
    *[(16, 3, 3, 3), (32, 16, 3, 3), (64, 32, 3, 3)],  # down
    *[(32, 96, 3, 3), (16, 48, 3, 3), (3, 16, 1, 1)],  # up, joined to the skip connections
)


def unet_torch(torch: Any, x: Any, *filters: Any) -> Any:
    functional = torch.nn.functional
    first, second, bottom, *up, last = filters
    a = functional.conv2d(x, first * 0.2, padding=1).relu()
    b = functional.conv2d(functional.max_pool2d(a, 2), second * 0.1, padding=1).relu()
    y = functional.conv2d(functional.max_pool2d(b, 2), bottom * 0.1, padding=1).relu()
    for passed, w in zip((b, a), up, strict=True):
        y = torch.cat([functional.interpolate(y, scale_factor=2), passed], 1)
        y = functional.conv2d(y, w * 0.05, padding=1).relu()
    return functional.conv2d(y, last)


def unet_api(api: Any, x: Any, *filters: Any) -> Any:
    jnp, lax, relu = api.numpy, api.lax, api.nn.relu
    first, second, bottom, *up, last = filters

    def convolved(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1, 1), "SAME")

    def pooled(x: Any) -> Any:
        window = (1, 1, 2, 2)
        return lax.reduce_window(x, -np.inf, lax.max, window, window, "VALID")

    a = relu(convolved(x, first * 0.2))
    b = relu(convolved(pooled(a), second * 0.1))
    y = relu(convolved(pooled(b), bottom * 0.1))
    for passed, w in zip((b, a), up, strict=True):
        y = jnp.concatenate([jnp.repeat(jnp.repeat(y, 2, 2), 2, 3), passed], 1)
        y = relu(convolved(y, w * 0.05))
    return convolved(y, last)


def descended(weights: Any, gradients: Any) -> list[Any]:
    return [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)]


row("U-Net of 2 levels, 8 images of 32², step", UNET, None,
    lambda torch, x, y, *ws: descended(ws, torch_gradient(
        torch, lambda *w: ((unet_torch(torch, x, *w) - y) ** 2).mean(), [*ws])),
    api=lambda api, x, y, *ws: descended(ws, api.grad(
        lambda ws: ((unet_api(api, x, *ws) - y) ** 2).mean())(ws)))  # fmt: skip

# A GPT: 2 layers of 128, 4 heads, 4 sequences of 64, a vocabulary of 512, one step

LAYERS, WIDTH, HEADS, BATCH, LENGTH, WORDS = 2, 128, 4, 4, 64, 512
GPT_WEIGHTS = [(WORDS, WIDTH), (LENGTH, WIDTH)]
for _ in range(LAYERS):
    GPT_WEIGHTS += [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]


def gpt_inputs(random: np.random.Generator) -> list[Any]:
    words = random.integers(0, WORDS, (BATCH, LENGTH + 1)).astype("int32")
    return [words, *(w * np.float32(0.05) for w in normal(*GPT_WEIGHTS)(random))]


def gpt_torch(torch: Any, words: Any, table: Any, positions: Any, *layers: Any) -> Any:
    functional = torch.nn.functional
    x = table[words[:, :-1].long()] + positions
    for i in range(LAYERS):
        qkv, out, up, down = layers[4 * i : 4 * i + 4]
        parts = (functional.layer_norm(x, (WIDTH,)) @ qkv).split(WIDTH, -1)
        q, k, v = (t.reshape(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for t in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH) @ out
        hidden = functional.layer_norm(x, (WIDTH,)) @ up
        x = x + functional.gelu(hidden, approximate="tanh") @ down
    logits = functional.layer_norm(x, (WIDTH,)) @ table.T
    return functional.cross_entropy(logits.reshape(-1, WORDS), words[:, 1:].reshape(-1).long())


def gpt_api(api: Any, words: Any, table: Any, positions: Any, *layers: Any) -> Any:
    jnp, nn = api.numpy, api.nn
    x = table[words[:, :-1]] + positions
    for i in range(LAYERS):
        qkv, out, up, down = layers[4 * i : 4 * i + 4]
        parts = jnp.split(nn.standardize(x, axis=-1) @ qkv, 3, -1)
        q, k, v = (t.reshape(BATCH, LENGTH, HEADS, -1) for t in parts)
        mixed = nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + mixed.reshape(BATCH, LENGTH, WIDTH) @ out
        x = x + nn.gelu(nn.standardize(x, axis=-1) @ up) @ down
    logits = nn.log_softmax(nn.standardize(x, axis=-1) @ table.T)
    return -jnp.take_along_axis(logits, words[:, 1:, None], -1).mean()


row("GPT of 2 layers, 4×64 words, step", gpt_inputs, None,
    lambda torch, words, *ws: descended(ws, torch_gradient(
        torch, lambda *w: gpt_torch(torch, words, *w), [*ws])),
    api=lambda api, words, *ws: descended(ws, api.grad(
        lambda ws: gpt_api(api, words, *ws))(ws)))  # fmt: skip

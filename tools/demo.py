"""Train a small convolutional network on handwritten digits, through every layer of Ricci.

The 1,797 images of scikit-learn's digits (8 × 8 pixels, 10 classes) are split into training and
held-out sets. Each step runs on eight virtual CPU devices at once, each with an eighth of the
batch; gradients are averaged with ``pmean``.
"""

# The demo's own requirements are not in the environment that types are checked in.
# pyright: reportMissingImports=false, reportMissingModuleSource=false

import os

os.environ.setdefault("RICCI_NUM_CPU_DEVICES", "8")

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from tqdm import trange

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, make_jaxpr, pmap, value_and_grad, vmap

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path(tempfile.gettempdir()) / "ricci-demo.png"

Params = dict[str, Any]


class Adam(NamedTuple):
    """The state of the Adam optimizer (Kingma & Ba 2015): parameters and running moments."""

    params: Params
    mean: Params
    square: Params
    step: Any


def init_params(key: Any) -> Params:
    """Weights of two 3 × 3 convolutions and a dense layer, scaled as by He et al. 2015."""
    keys = ricci.random.split(key, 3)
    he = ricci.nn.initializers.he_normal()
    return {
        "conv1": he(keys[0], (3, 3, 1, 16)),
        "conv2": he(keys[1], (3, 3, 16, 32)),
        "dense": he(keys[2], (4 * 4 * 32, 10)),
        "bias": jnp.zeros(10),
    }


def predict(params: Params, images: Any) -> Any:
    """Log-probabilities, (batch, 10), of images, (batch, 8, 8)."""
    conv = partial(
        ricci.lax.conv_general_dilated, padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    x = images[..., None]
    x = ricci.nn.relu(conv(x, params["conv1"], (1, 1)))
    x = ricci.nn.relu(conv(x, params["conv2"], (2, 2)))
    logits = x.reshape(x.shape[0], -1) @ params["dense"] + params["bias"]
    return ricci.nn.log_softmax(logits)


def loss(params: Params, images: Any, labels: Any) -> Any:
    """The mean cross-entropy of a batch."""
    picked = predict(params, images) * ricci.nn.one_hot(labels, 10)
    return -jnp.mean(jnp.sum(picked, axis=1))


def update(state: Adam, gradient: Params, rate: float = 3e-3) -> Adam:
    """One step of Adam."""
    step = state.step + 1.0
    tree_map = ricci.tree.map
    mean = tree_map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, gradient)
    square = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, state.square, gradient)
    scale = rate * jnp.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step)
    params = tree_map(
        lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), state.params, mean, square
    )
    return Adam(params, mean, square, step)


def start(key: Any) -> Adam:
    """The optimizer's state before training."""
    params = init_params(key)
    zeros = ricci.tree.map(jnp.zeros_like, params)
    return Adam(params, zeros, zeros, jnp.float32(0))


@jit
def step_on_one(state: Adam, images: Any, labels: Any) -> tuple[Adam, Any]:
    """A training step on one device."""
    value, gradient = jit(value_and_grad(loss))(state.params, images, labels)
    return update(state, gradient), value


@partial(pmap, axis_name="devices", in_axes=(None, 0, 0), out_axes=None)
def step_on_all(state: Adam, images: Any, labels: Any) -> tuple[Adam, Any]:
    """The same step, each device having a part of the batch."""
    value, gradient = jit(value_and_grad(loss))(state.params, images, labels)
    value, gradient = ricci.lax.pmean((value, gradient), "devices")
    return update(state, gradient), value


@jit
def gradient_norms(params: Params, images: Any, labels: Any) -> Any:
    """The norm of each example's own gradient."""
    one = lambda image, label: grad(loss)(params, image[None], label[None])
    gradients = vmap(one)(images, labels)
    squares = [
        jnp.sum(g.reshape(g.shape[0], -1) ** 2, axis=1) for g in ricci.tree.leaves(gradients)
    ]
    return jnp.sqrt(sum(squares))


def split(array: np.ndarray, count: int) -> np.ndarray:
    """A batch as one part for each device."""
    return array.reshape(count, -1, *array.shape[1:])


def batches(images: np.ndarray, labels: np.ndarray, size: int, seed: int):
    """Shuffled batches of one epoch, without end."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(images))
        for begin in range(0, len(order) - size + 1, size):
            chosen = order[begin : begin + size]
            yield images[chosen], labels[chosen]


def largest_difference(a: Params, b: Params) -> float:
    """The largest difference between two sets of parameters, relative to the largest value."""
    pairs = zip(ricci.tree.leaves(a), ricci.tree.leaves(b), strict=True)
    return max(float(jnp.max(jnp.abs(x - y)) / jnp.max(jnp.abs(y))) for x, y in pairs)


def draw(path: Path, losses: list[float], images: np.ndarray, labels, predicted) -> None:
    """The loss curve, and a grid of predictions with mistakes in red, as PNG or SVG."""
    figure = plt.figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(losses)
    axes.set(xlabel="step", ylabel="loss", title="Training on eight devices")
    right.suptitle("What it takes held-out images for")
    for cell, image, label, guess in zip(
        right.subplots(4, 6).flat, images, labels, predicted, strict=False
    ):
        cell.imshow(image, cmap="gray_r")
        cell.set_title(str(guess), color="black" if guess == label else "red", fontsize=10)
        cell.axis("off")
    # An SVG keeps its text as text, and is the same file for the same picture.
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ricci"}):
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> int:
    """Train, check, report."""
    parser = argparse.ArgumentParser(description="Train on handwritten digits with Ricci.")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--output", type=Path, default=PICTURE, help=".png or .svg")
    options = parser.parse_args()
    began = time.perf_counter()

    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(images))
    train, held_out = order[:1437], order[1437:]
    devices = ricci.device_count()
    print(f"Ricci {ricci.__version__} on {devices} {ricci.default_backend()} devices")

    state = start(ricci.random.PRNGKey(0))
    example = (state.params, images[:2], labels[:2])
    feed = batches(images[train], labels[train], 16 * devices, seed=1)
    alone, losses, difference = state, [], float("inf")
    for i in trange(options.steps, desc="training"):
        x, y = next(feed)
        state, value = step_on_all(state, split(x, devices), split(y, devices))
        losses.append(float(value))
        if i < 5:
            alone, _ = step_on_one(alone, x, y)
            difference = largest_difference(state.params, alone.params)
    predicted = np.asarray(jnp.argmax(jit(predict)(state.params, images[held_out]), axis=1))
    accuracy = float(np.mean(predicted == labels[held_out]))
    print(f"Accuracy on {len(held_out)} held-out images: {accuracy:.1%}")
    draw(options.output, losses, images[held_out], labels[held_out], predicted)
    print(f"Wrote the loss curve and predictions to {options.output.resolve()}")
    print(f"After 5 steps, {devices} devices and one device differ by {difference:.1e}")
    assert difference < 1e-4, "the devices disagree"

    norms = gradient_norms(state.params, images[held_out][:64], labels[held_out][:64])
    print(
        f"Gradient norms of 64 examples: median {np.median(norms):.1e}, largest {norms.max():.1e}"
    )
    print("\nThe loss of two images, as a jaxpr:\n")
    print(make_jaxpr(loss)(*example))
    print("\nAnd the first lines of its StableHLO:\n")
    print("\n".join(jit(loss).lower(*example).as_text().splitlines()[:12]), "\n  ...\n")
    print(f"Took {time.perf_counter() - began:.0f} s")
    assert accuracy >= 0.96, "the network has not learnt"
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

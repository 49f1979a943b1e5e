"""A multilayer perceptron on digits in Flax NNX, with dropout, trained by optax's AdamW."""

import optax
from flax import nnx

import jax.numpy as jnp

STEPS = 150
QUALITY = {"accuracy": 0.95}


class Perceptron(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.inner = nnx.Linear(64, 96, rngs=rngs)
        self.norm = nnx.BatchNorm(96, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.outer = nnx.Linear(96, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.norm(self.inner(x)))
        return self.outer(self.dropout(x))


def loss_of(model, images, labels):
    logits = model(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@nnx.jit
def step(model, optimizer, metrics, images, labels):
    loss, gradient = nnx.value_and_grad(loss_of)(model, images, labels)
    metrics.update(values=loss)
    optimizer.update(model, gradient)
    return loss


def train(data):
    images = jnp.asarray(data["images"].reshape(-1, 64))
    labels = jnp.asarray(data["labels"])
    model = Perceptron(nnx.Rngs(0, dropout=1))
    optimizer = nnx.Optimizer(model, optax.adamw(5e-3), wrt=nnx.Param)
    metrics = nnx.metrics.Average()
    for index in range(STEPS):
        rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
        yield step(model, optimizer, metrics, images[rows], labels[rows])
    model.eval()
    predicted = model(images[1408:]).argmax(1)
    return {"accuracy": (predicted == labels[1408:]).mean(), "mean_loss": metrics.compute()}

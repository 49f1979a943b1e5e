"""The oracle's side of the pipe: answers requests with what real JAX makes of them.

Run by the oracle's own interpreter and never imported. A message is eight bytes of length, then a
pickle; the first message sent says which versions answer.
"""

import os
import pickle
import struct
import sys

import jax  # pyright: ignore[reportMissingImports]
import jax.numpy  # pyright: ignore[reportMissingImports]
import jaxlib  # pyright: ignore[reportMissingImports]
import numpy
from _evaluation import evaluate  # pyright: ignore[reportMissingImports]

NAMESPACE = {
    "jax": jax,
    "jnp": jax.numpy,
    "lax": jax.lax,
    "np": numpy,
    "random": jax.random,
}


def receive(stream):
    header = stream.read(8)
    if len(header) < 8:
        return None
    return pickle.loads(stream.read(struct.unpack("<Q", header)[0]))


def send(stream, message):
    payload = pickle.dumps(message, protocol=5)
    stream.write(struct.pack("<Q", len(payload)))
    stream.write(payload)
    stream.flush()


def serve():
    # Text that prints must not end up between two messages: stdout becomes stderr.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    versions = {
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "numpy": numpy.__version__,
    }
    send(replies, {"versions": versions, "devices": jax.device_count()})
    while (requests := receive(sys.stdin.buffer)) is not None:
        send(replies, [evaluate(NAMESPACE, **request) for request in requests])


if __name__ == "__main__":
    serve()

"""Mistakes with the namespaces. Type checkers must report each marked line, and no other."""

import ricci.numpy as jnp
from ricci import Array, Ref, export, lax, nn, random
from ricci.experimental.sparse import BCOO
from ricci.numpy import fft, linalg


def draws(key: Array) -> None:
    random.normal(key, "3")  # mistake
    random.normal(key, shap=(3,))  # mistake
    random.split("key")  # mistake
    random.choice(key)  # mistake
    random.normal(key, (3,), dtype=jnp.float32)


def arrays(x: Array) -> None:
    jnp.sum(x, axes=0)  # mistake
    jnp.concatenate(x, x, x, x)  # mistake
    jnp.zeros("a")  # mistake
    jnp.where(x > 0, x, "a")  # mistake
    jnp.linalg.solv(x, x)  # mistake
    linalg.norm(x, axis="rows")  # mistake
    fft.rfft(x, size=3)  # mistake
    jnp.einsum("ij,jk->ik", x, x)


def loops(x: Array) -> None:
    lax.scan(x, x)  # mistake
    lax.fori_loop(0, 3, x, x)  # mistake
    lax.while_loop(lambda s: s < 3, x)  # mistake
    lax.psum(x)  # mistake


def networks(x: Array) -> str:
    nn.relu(x, 0.1, 0.2)  # mistake
    nn.softmax("a")  # mistake
    return nn.gelu(x)  # mistake


def files(x: Array, data: bytearray) -> None:
    export.deserialize(data).call_(x)  # mistake
    export.export(3)  # mistake
    export.deserialize(data).call(x)


def others(ref: Ref, graph: BCOO, x: Array) -> None:
    ref.set(x)  # mistake
    graph.to_dense()  # mistake
    BCOO((x, x))  # mistake
    ref[...] = x
    graph.todense()

"""The words that a user searches for stand in the messages: those that JAX's messages have."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

ONES = np.ones(2, np.float32)
WIDE = np.ones((2, 3), np.float32)
BIG = np.ones((2, 9), np.float32)
ROWS = np.zeros((2, 1), np.int32)
READ = lax.GatherDimensionNumbers((7,), (0,), (0,))
WRITE = lax.ScatterDimensionNumbers((1,), (0,), (0,))

WORDS = [
    (lambda: ricci.grad(lambda x: x)(ONES), ["scalar-output", "(2,)"]),
    (lambda: ricci.grad(lambda x: (x, x))(1.0), ["scalar-output"]),
    (lambda: ricci.grad(lambda weights: weights)(1), ["integer", "weights", "int32", "allow_int"]),
    (lambda: ricci.grad(lambda x: x.astype(int))(1.0), ["real-valued", "integer", "vjp", "int32"]),
    (lambda: ricci.grad(lambda x: x * 1j)(1.0), ["real-valued", "holomorphic", "complex64"]),
    (lambda: ricci.grad(lambda x: x, 3)(1.0), ["argnums", "3"]),
    (lambda: ricci.grad(lambda x: x, "a"), ["argnums", "integer"]),
    (lambda: ricci.grad(3), ["callable", "grad"]),
    (lambda: ricci.vmap(3), ["callable", "vmap"]),
    (lambda: ricci.jit(lambda x: 1 if x > 0 else 2)(1.0), ["tracer", "concrete", "bool[]"]),
    (lambda: ricci.jit(lambda x: float(x))(1.0), ["tracer", "concrete", "shape", "float"]),
    (lambda: ricci.jit(lambda x: np.sin(x))(1.0), ["tracer", "concrete", "NumPy"]),
    (lambda: ricci.jit(lambda x: [1, 2][x])(1), ["tracer", "concrete", "integer"]),
    (lambda: ricci.jit(lambda x: x[x > 0])(ONES), ["mask", "concrete", "bool[2]"]),
    (lambda: jnp.ones(2) + jnp.ones(3), ["incompatible shapes", "broadcasting", "(2,)", "(3,)"]),
    (lambda: jnp.sum(ONES, axis=3), ["sum", "axis 3", "out of bounds"]),
    (lambda: jnp.size(ONES, 3), ["size", "axis 3", "out of bounds"]),
    (lambda: jnp.expand_dims(ONES, 5), ["axis 5", "out of bounds"]),
    (lambda: lax.concatenate([ONES, ONES], 2), ["dimension=2", "out of bounds", "(2,)"]),
    (lambda: lax.cummax(ONES, 2), ["axis=2", "out of bounds", "(2,)"]),
    (lambda: lax.argmax(ONES, 2, np.int32), ["axis 2", "out of bounds", "(2,)"]),
    (lambda: lax.squeeze(ONES, (5,)), ["axis 5", "out of bounds", "dimension 1"]),
    (lambda: jnp.sum(ONES, axis=3), ["axis 3", "out of bounds", "dimension 1"]),
    (lambda: jnp.packbits(ONES > 0, axis=3), ["axis 3", "out of bounds", "dimension 1"]),
    (lambda: lax.add(ONES, WIDE), ["different numbers of dimensions", "float32[2,3]"]),
    (lambda: lax.concatenate([ONES, WIDE], 0), ["different numbers of dimensions", "(2, 3)"]),
    (lambda: lax.stack([ONES, WIDE], 0), ["different numbers of dimensions", "(2, 3)"]),
    (lambda: lax.reduce_sum(WIDE, (5,)), ["axes=(5,)", "out of bounds", "dimensions"]),
    (lambda: lax.reduce_or(WIDE > 0, (0, 0)), ["axes=(0, 0)", "dimension", "twice"]),
    (lambda: lax.index_in_dim(ONES, 5), ["index 5", "out of bounds", "axis 0", "size 2"]),
    (lambda: lax.empty((-1,), np.float32), ["(-1,)", "dimension", "negative"]),
    (lambda: ricci.random.bits(ricci.random.key(0), (-1,)), ["(-1,)", "dimension", "negative"]),
    (lambda: lax.associative_scan(lax.add, (ONES, WIDE[:1])), ["dimension", "(2,)", "(1, 3)"]),
    (lambda: lax.fft(WIDE + 0j, "fft", (2,)), ["fft_lengths", "dimensions", "shape (2,)"]),
    (lambda: lax.linalg.lu(ONES), ["two dimensions", "shape", "(2,)"]),
    (lambda: lax.linalg.eig(WIDE), ["square", "shape", "(2, 3)"]),
    (lambda: lax.linalg.eigh(WIDE), ["square", "shape", "(2, 3)"]),
    (lambda: lax.linalg.cholesky(WIDE), ["square", "shape", "(2, 3)"]),
    (lambda: lax.linalg.triangular_solve(WIDE, WIDE), ["square", "shape", "(2, 3)"]),
    (lambda: lax.linalg.symmetric_product(ONES, WIDE), ["a_matrix", "shape", "(2,)"]),
    (lambda: lax.cond(ONES, lambda: 1, lambda: 2), ["predicate", "scalar", "shape (2,)"]),
    (lambda: lax.fori_loop(0, 2, lambda i, c: (c, c), 1.0), ["carry", "pytree structure"]),
    (lambda: ricci.vmap(lambda x: x)(1.0), ["in_axes", "shape", "rank"]),
    (lambda: ricci.vmap(lambda x: x, out_axes=5)(ONES), ["out_axes=5", "dimension"]),
    (lambda: lax.gather(WIDE, ROWS, READ, (1, 3)), ["offset_dims", "7", "out of bounds"]),
    (lambda: lax.scatter_add(WIDE, ROWS, BIG, WRITE), ["size 9", "out of bounds", "dimension 1"]),
    (lambda: jnp.ones((2, 3))[0, 0, 0], ["too many indices", "3", "(2, 3)"]),
    (lambda: jnp.ones((2, 3)).at[0, 0, 0].set(1.0), ["too many indices", "3", "(2, 3)"]),
    (lambda: jnp.max(ONES[:0]), ["max", "no identity", "(0,)"]),
    (lambda: jnp.argmin(ONES[:0]), ["argmin", "empty", "(0,)"]),
    (lambda: jnp.cross(ONES, BIG), ["cross", "dimension", "size 3", "(2,)", "(2, 9)"]),
    (lambda: ricci.make_jaxpr(3), ["function", "callable"]),
    (lambda: ricci.eval_shape(3), ["function", "callable"]),
]


@pytest.mark.parametrize(("mistake", "words"), WORDS, ids=range(len(WORDS)))
def test_the_words_that_are_searched_for(mistake, words):
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        mistake()
    message = str(caught.value)
    assert [word for word in words if word not in message] == []

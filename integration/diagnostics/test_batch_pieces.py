"""Losses whose batch runs in pieces: which ones do, with the values of the whole batch."""

import math

import numpy as np
import pytest

pytest.importorskip("ricci_parallel", reason="the light tests run where it is not installed")

import ricci
import ricci.numpy as jnp
from ricci import lax, nn
from ricci_autodiff import rewrite_differentiated
from ricci_lax import Differentiated
from ricci_lax.recomputation import BatchPieces, NotInPiecesError, PiecedLoss, Recomputation

N, D = 6, 4


def attention(w, x, y):
    q, k, v = (x[:, None] * part for part in w)
    weights = nn.softmax(jnp.einsum("nqd,nkd->nqk", q, k))
    return jnp.mean((weights @ v) ** 2)


def recurrent(w, x, y):
    h = jnp.zeros((N, D))
    h, outs = lax.scan(lambda h, u: (jnp.tanh(h @ w + u * x), jnp.sum(h, 1)), h, jnp.arange(3.0))
    return jnp.sum(h) + jnp.mean(outs)


def accumulated(w, x, y):
    total, _ = lax.scan(lambda t, u: (t + jnp.sum((x @ u) ** 2), None), 0.0, w[None])
    return total


def convolved(w, x, y):
    image = x.reshape(N, 1, 2, 2)
    return jnp.sum(lax.conv(image, w.reshape(4, 1, 2, 2), (1, 1), "SAME") ** 2)


def cross_entropy(w, x, y):
    logits = nn.log_softmax(nn.relu(x @ w))
    return -jnp.mean(jnp.take_along_axis(logits, y[:, None], 1))


@ricci.custom_jvp
def scaled(h):
    return jnp.sin(h) * 2.0


@scaled.defjvp
def scaled_jvp(primals, tangents):
    (h,), (t,) = primals, tangents
    return scaled(h), t * jnp.cos(h) * (2.0 + 0.0 * jnp.arange(N)[:, None])


SUMS = {
    "a sum": lambda w, x, y: jnp.sum(jnp.tanh(x @ w)),
    "a mean, with decay of weights": lambda w, x, y: jnp.mean((x @ w) ** 2) + 0.1 * jnp.sum(w**2),
    "decay first, subtracted": lambda w, x, y: 1.0 - (jnp.sum(w**2) - jnp.mean((x @ w) ** 2)),
    "the product of two batches": lambda w, x, y: jnp.sum((x.T @ jnp.sin(x @ w)) * w),
    "one batch as rows, the other transposed": lambda w, x, y: jnp.sum((w @ x.T).T * x),
    "rows of a table": lambda w, x, y: jnp.sum(w[y] * x),
    "constants for each example": lambda w, x, y: jnp.sum((x @ w) * jnp.arange(N)[:, None]),
    "random numbers for each example": lambda w, x, y: jnp.sum(
        (x @ w) * ricci.random.normal(ricci.random.key(0), (N, D))
    ),
    "cross entropy": cross_entropy,
    "attention": attention,
    "a recurrent network": recurrent,
    "sums in a loop": accumulated,
    "a convolution": convolved,
    "a checkpoint": lambda w, x, y: jnp.sum(ricci.checkpoint(lambda x: jnp.sin(x @ w))(x)),
    "a jitted part": lambda w, x, y: jnp.sum(ricci.jit(lambda x: jnp.sin(x @ w))(x)),
    "a mapped function with a derivative rule": lambda w, x, y: jnp.sum(
        ricci.vmap(lambda row: nn.relu(row @ w))(x)
    ),
    "joined and padded columns": lambda w, x, y: jnp.sum(
        jnp.pad(jnp.concatenate([x, x @ w, jnp.ones((N, 1))], 1), ((0, 0), (1, 0)))[:, 2:] ** 2
    ),
}
# The operation that the message names.
OTHERS = {
    "normalized over the batch": (lambda w, x, y: jnp.sum(nn.standardize(x @ w, 0) ** 4), "square"),
    "the largest of all": (lambda w, x, y: jnp.max(x @ w), "reduce_max"),
    "a square of the sum": (lambda w, x, y: jnp.sum(x @ w) ** 2, "integer_pow"),
    "a softmax over the batch": (lambda w, x, y: jnp.sum(nn.softmax(x @ w, 0) * x), "reduce_max"),
    "neighbours": (lambda w, x, y: jnp.sum((x @ w)[1:] * x[:-1]), "slice"),
    "sorted": (lambda w, x, y: jnp.sum(jnp.sort(x @ w, 0) * w[0]), "sort"),
    "a running sum": (lambda w, x, y: jnp.sum(jnp.cumsum(x @ w, 0) ** 2), "cumsum"),
    "a loop over the batch": (
        lambda w, x, y: lax.scan(lambda c, u: (jnp.sin(c + u @ w), None), jnp.zeros(D), x)[0].sum(),
        "scan",
    ),
    "all pairs": (lambda w, x, y: jnp.sum(jnp.tanh(x @ w @ x.T)), "dot_general"),
    "axes that are joined": (lambda w, x, y: jnp.sum(jnp.sin((x @ w).T.reshape(-1))), "reshape"),
    "a rule with a constant for each example": (lambda w, x, y: jnp.sum(scaled(x @ w)), "mul"),
    "no batch in it": (lambda w, x, y: jnp.sum(w**2), "the result is not a sum"),
}


def arrays(dtype=np.float32):
    rng = np.random.default_rng(0)
    w, x = (jnp.asarray(rng.normal(size=(n, D)), dtype) for n in (D, N))
    return w, x, jnp.asarray(rng.integers(0, D, N))


def in_pieces(loss, count, args):
    seen = Differentiated()
    with rewrite_differentiated(seen.look):
        ricci.make_jaxpr(ricci.grad(loss))(*args)
    return PiecedLoss(seen.jaxprs[0], len(seen.nonzeros[0]), N, count)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SUMS)
def test_the_values_of_pieces_add_up_to_those_of_the_batch(name):
    loss = {**SUMS, "attention": lambda w, x, y: attention([w[0], w[1], w[2]], x, y)}[name]
    args = arrays()
    in_pieces(loss, 3, args)
    expected, gradient = ricci.value_and_grad(loss)(*args)
    with rewrite_differentiated(BatchPieces(N, 3)):
        value, summed = ricci.jit(ricci.value_and_grad(loss))(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-4)
    np.testing.assert_allclose(summed, gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["attention", "a recurrent network", "a checkpoint"])
def test_pieces_may_recompute_their_residuals(name):
    loss, args = SUMS[name], arrays()
    if name == "attention":
        loss = lambda w, x, y: attention([w[0], w[1], w[2]], x, y)
    recomputation = Recomputation(2, 2, math.inf, scans=name == "a recurrent network")
    expected, gradient = ricci.value_and_grad(loss)(*args)
    with rewrite_differentiated(BatchPieces(N, 3, recomputation)):
        step = ricci.jit(ricci.value_and_grad(loss))
        text = str(ricci.make_jaxpr(step)(*args))
        value, summed = step(*args)
    assert "remat" in text or "checkpoint" in text
    np.testing.assert_allclose(value, expected, rtol=1e-4)
    np.testing.assert_allclose(summed, gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_a_sum_over_the_examples_is_refused_and_left_as_it_is(name):
    loss, operation = OTHERS[name]
    args = arrays()
    with pytest.raises(NotInPiecesError, match=operation):
        in_pieces(loss, 2, args)
    expected = str(ricci.make_jaxpr(ricci.value_and_grad(loss))(*args))
    with rewrite_differentiated(BatchPieces(N, 2)):
        assert str(ricci.make_jaxpr(ricci.value_and_grad(loss))(*args)) == expected


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16, np.float64])
def test_gradients_are_added_in_a_wide_type_and_have_that_of_the_parameters(dtype):
    with ricci.enable_x64(True):
        args = arrays(dtype)
        with rewrite_differentiated(BatchPieces(N, 6)):
            value, summed = ricci.value_and_grad(SUMS["a sum"])(*args)
        exact = ricci.grad(SUMS["a sum"])(*(a.astype(np.float64) for a in args[:2]), args[2])
    assert value.dtype == summed.dtype == dtype
    scale = float(jnp.max(jnp.abs(exact)))
    np.testing.assert_allclose(summed, exact, atol=8 * float(jnp.finfo(dtype).eps) * scale)


def test_gradients_in_pieces_may_be_mapped_and_differentiated():
    w, x, y = arrays()
    loss = SUMS["a mean, with decay of weights"]
    mapped = ricci.vmap(ricci.grad(loss), (0, None, None))
    hessian = ricci.jacrev(ricci.grad(loss))
    stack = jnp.stack([w, -w])
    expected = mapped(stack, x, y), hessian(w, x, y)
    with rewrite_differentiated(BatchPieces(N, 2)):
        results = ricci.jit(mapped)(stack, x, y), ricci.jit(hessian)(w, x, y)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-5)


def test_fit_memory_runs_a_batch_in_pieces_where_recomputation_is_not_enough():
    w, x = jnp.eye(8), jnp.ones((64, 256, 8))

    def loss(w, x):
        for _ in range(4):
            x = jnp.sin(x @ w) * jnp.cos(x)
        return jnp.mean(x)

    step = ricci.value_and_grad(loss)
    peak = ricci.memory_plan(step)(w, x).peak_bytes
    fitted = ricci.fit_memory(step, int(x.nbytes + 0.2 * (peak - x.nbytes)))
    fit = fitted.plan(w, x)
    assert fit.pieces is not None and fit.pieces.size == 64
    assert fit.peak_bytes <= fit.limit
    assert "the 64 examples of the batch run in" in str(fit)
    for result, value in zip(fitted(w, x), step(w, x), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-6)
